public import Wire

/// A command of a host to its process of `vicinity-bluetooth`, in one packet of the socket between them.
public enum BluetoothCommand: Hashable, Sendable {
  /// The first: the host to announce, and the adapter to use, by its name in the kernel; all of them without one.
  case serve(HostID, adapter: String?)
  /// Looks for devices that are near, for so many times 1.28 s, up to `unitsMax`.
  case inquire(units: UInt8)
  /// Asks a device which hosts it has, from one of the adapters.
  case search(BluetoothAddress, from: BluetoothAddress)
  /// Connects with a host of a device, from one of the adapters.
  case connect(ticket: UInt64, BluetoothAddress, HostID, from: BluetoothAddress)
  case cancel(ticket: UInt64)
  /// Answers a question about pairing; an answer to one that has ended is ignored.
  case answerPairing(id: UInt32, isAccepted: Bool)

  public static let unitsMax: UInt8 = 8
  /// As long as the name of a network interface may be.
  public static let adapterBytesMax = 15
  /// The longest packet.
  public static let bytesMax = 64

  public var bytes: [UInt8] {
    switch self {
    case .serve(let host, let adapter):
      var packet = PacketWriter(1)
      packet.put(host)
      packet.put(adapter ?? "")
      return packet.bytes
    case .inquire(let units):
      return [2, units]
    case .search(let device, let adapter):
      var packet = PacketWriter(3)
      packet.put(device)
      packet.put(adapter)
      return packet.bytes
    case .connect(let ticket, let device, let host, let adapter):
      var packet = PacketWriter(4)
      packet.put(ticket, bytes: 8)
      packet.put(device)
      packet.put(host)
      packet.put(adapter)
      return packet.bytes
    case .cancel(let ticket):
      var packet = PacketWriter(5)
      packet.put(ticket, bytes: 8)
      return packet.bytes
    case .answerPairing(let id, let isAccepted):
      var packet = PacketWriter(6)
      packet.put(UInt64(id), bytes: 4)
      packet.put(isAccepted ? 1 : 0)
      return packet.bytes
    }
  }

  /// Nil for anything but the bytes of a command.
  public init?(_ bytes: [UInt8]) {
    var packet = PacketReader(bytes)
    guard bytes.count <= Self.bytesMax, let command = Self.read(&packet), packet.isAtEnd else { return nil }
    self = command
  }

  private static func read(_ packet: inout PacketReader) -> BluetoothCommand? {
    switch packet.byte() {
    case 1:
      guard let host = packet.host(), let adapter = packet.text(), isAdapter(adapter) else { return nil }
      return .serve(host, adapter: adapter.isEmpty ? nil : adapter)
    case 2: return packet.byte().flatMap { (1...unitsMax).contains($0) ? .inquire(units: $0) : nil }
    case 3:
      guard let device = packet.address(), let adapter = packet.address() else { return nil }
      return .search(device, from: adapter)
    case 4:
      guard let ticket = packet.number(bytes: 8), let device = packet.address(), let host = packet.host(),
        let adapter = packet.address()
      else { return nil }
      return .connect(ticket: ticket, device, host, from: adapter)
    case 5: return packet.number(bytes: 8).map { .cancel(ticket: $0) }
    case 6:
      guard let id = packet.number(bytes: 4), let isAccepted = packet.flag() else { return nil }
      return .answerPairing(id: UInt32(id), isAccepted: isAccepted)
    default: return nil
    }
  }

  /// Whether it may be the name of an adapter, which is empty for all.
  public static func isAdapter(_ name: String) -> Bool {
    name.utf8.count <= adapterBytesMax
      && name.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (48...57).contains($0) }
  }
}
