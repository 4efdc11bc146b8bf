public import Wire

/// A report of `vicinity-bluetooth` to its host, in one packet; a connected socket goes with `accepted` and `connected`.
public enum BluetoothReport: Hashable, Sendable {
  /// The state of the adapters, at first and after each change.
  case state(BluetoothState)
  /// A device that an inquiry has found, its class (CoD, of 24 bits), and the adapters that have found it, at least one.
  case seen(BluetoothAddress, deviceClass: UInt32, at: [BluetoothAddress])
  /// The inquiry has ended.
  case inquired(succeeded: Bool)
  /// The hosts of a device; nil where it has not answered.
  case searched(BluetoothAddress, from: BluetoothAddress, [HostID]?)
  /// A device has connected with an adapter.
  case accepted(BluetoothAddress, at: BluetoothAddress)
  case connected(ticket: UInt64)
  /// Why there is no connection: an error number of the system.
  case failed(ticket: UInt64, code: Int32)
  /// Somebody is to say whether a device may be paired.
  case pairingAsked(PairingQuestion)
  /// The question has ended, for whatever reason.
  case pairingEnded(id: UInt32, PairingQuestion.End)

  /// More hosts than one device has.
  public static let hostsMax = 16
  public static let bytesMax = 512

  public var hasDescriptor: Bool {
    switch self {
    case .accepted, .connected: true
    case .state, .seen, .inquired, .searched, .failed, .pairingAsked, .pairingEnded: false
    }
  }

  public var bytes: [UInt8] {
    var packet: PacketWriter
    switch self {
    case .state(let state):
      packet = PacketWriter(1)
      packet.put(state.fault?.rawValue ?? 0)
      packet.put(UInt8(state.addresses.count))
      for address in state.addresses { packet.put(address) }
    case .seen(let device, let deviceClass, let adapters):
      packet = PacketWriter(2)
      packet.put(device)
      packet.put(UInt64(deviceClass), bytes: 3)
      packet.put(UInt8(adapters.count))
      for adapter in adapters { packet.put(adapter) }
    case .inquired(let succeeded):
      packet = PacketWriter(3)
      packet.put(succeeded ? 1 : 0)
    case .searched(let device, let adapter, let hosts):
      packet = PacketWriter(4)
      packet.put(device)
      packet.put(adapter)
      packet.put(hosts == nil ? 0 : 1)
      packet.put(UInt8(hosts?.count ?? 0))
      for host in hosts ?? [] { packet.put(host) }
    case .accepted(let device, let adapter):
      packet = PacketWriter(5)
      packet.put(device)
      packet.put(adapter)
    case .connected(let ticket):
      packet = PacketWriter(6)
      packet.put(ticket, bytes: 8)
    case .failed(let ticket, let code):
      packet = PacketWriter(7)
      packet.put(ticket, bytes: 8)
      packet.put(UInt64(UInt32(bitPattern: code)), bytes: 4)
    case .pairingAsked(let question):
      packet = PacketWriter(8)
      packet.put(question)
    case .pairingEnded(let id, let end):
      packet = PacketWriter(9)
      packet.put(UInt64(id), bytes: 4)
      packet.put(end.rawValue)
    }
    return packet.bytes
  }

  /// Nil for anything but the bytes of a report.
  public init?(_ bytes: [UInt8]) {
    var packet = PacketReader(bytes)
    guard bytes.count <= Self.bytesMax, let report = Self.read(&packet), packet.isAtEnd else { return nil }
    self = report
  }

  private static func read(_ packet: inout PacketReader) -> BluetoothReport? {
    switch packet.byte() {
    case 1:
      guard let fault = packet.byte(), fault == 0 || BluetoothState.Fault(rawValue: fault) != nil,
        let addresses = packet.list(atMost: BluetoothState.adaptersMax, { $0.address() })
      else { return nil }
      return .state(BluetoothState(addresses: addresses, fault: .init(rawValue: fault)))
    case 2:
      guard let device = packet.address(), let deviceClass = packet.number(bytes: 3),
        let adapters = packet.list(atMost: BluetoothState.adaptersMax, { $0.address() }), !adapters.isEmpty
      else { return nil }
      return .seen(device, deviceClass: UInt32(deviceClass), at: adapters)
    case 3: return packet.flag().map { .inquired(succeeded: $0) }
    case 4:
      guard let device = packet.address(), let adapter = packet.address(), let hasAnswered = packet.flag(),
        let hosts = packet.list(atMost: hasAnswered ? hostsMax : 0, { $0.host() })
      else { return nil }
      return .searched(device, from: adapter, hasAnswered ? hosts : nil)
    case 5:
      guard let device = packet.address(), let adapter = packet.address() else { return nil }
      return .accepted(device, at: adapter)
    case 6: return packet.number(bytes: 8).map { .connected(ticket: $0) }
    case 7:
      guard let ticket = packet.number(bytes: 8), let code = packet.number(bytes: 4) else { return nil }
      return .failed(ticket: ticket, code: Int32(bitPattern: UInt32(code)))
    case 8: return packet.pairingQuestion().map { .pairingAsked($0) }
    case 9:
      guard let id = packet.number(bytes: 4), let end = packet.byte().flatMap(PairingQuestion.End.init) else {
        return nil
      }
      return .pairingEnded(id: UInt32(id), end)
    default: return nil
    }
  }
}

/// The adapters that a process uses.
public struct BluetoothState: Hashable, Sendable {
  /// An obstacle, in the order in which they are worth mending.
  public enum Fault: UInt8, Sendable, CaseIterable {
    /// The kernel gives no Bluetooth socket: none is built in, or the process is in another network namespace.
    case noSockets = 1
    case noAdapter
    /// It is blocked by rfkill.
    case isBlocked
    case isDown
    /// Neither bluetoothd's D-Bus nor its socket takes the host's record: others do not find it.
    case isNotAnnounced
    /// Other devices do not find the adapter by an inquiry.
    case isNotDiscoverable
  }

  public static let adaptersMax = 16
  /// Those that work.
  public var addresses: [BluetoothAddress]
  public var fault: Fault?

  public init(addresses: [BluetoothAddress] = [], fault: Fault? = nil) {
    self.addresses = addresses
    self.fault = fault
  }
}
