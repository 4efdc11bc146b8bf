import BluetoothProtocol
import BluetoothServer
import Glibc
import Reactor
import TestKit

/// The system's Bluetooth, played with local sockets. It belongs to its test's loop.
final class FakeSystem: BluetoothSystem {
  /// The end of a device.
  final class Socket {
    let descriptor: Descriptor
    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
  }

  private let folder = TemporaryFolder()
  private(set) var searched: [Socket] = []
  private(set) var connected: [Socket] = []
  /// The adapters from which it has searched and connected, for each time.
  private(set) var searchers: [BluetoothAddress] = []
  private(set) var connecters: [BluetoothAddress] = []
  /// The address at which it has listened, for each time.
  private(set) var listens: [BluetoothAddress] = []
  private(set) var registrations = 0
  /// How often somebody has looked at the adapters.
  private(set) var looks = 0
  private var accepted: UInt64 = 0x100

  var canHaveSockets = true
  var present: [Adapter] = [FakeSystem.adapter(0)]
  /// The answer of bluetoothd's own socket; nil for none at all.
  var registers: Bool? = false
  var inquired: [InquiredDevice]? = []
  /// The result of the inquiry of one adapter, by its number, in place of that.
  var inquiredOnly: [CInt: [InquiredDevice]?] = [:]
  /// Adapters whose inquiry does not end until `endInquiries` is called.
  var endless: Set<CInt> = []
  private(set) var inquiries: [CInt] = []
  /// Inquiries that were stopped, which ends them with no result if `isStoppable`.
  private(set) var stopped: [CInt] = []
  var isStoppable = false
  private var unended: [(adapter: CInt, end: (Bool) -> Void)] = []
  /// The adapter with which devices connect.
  var accepting = BluetoothAddress(0xA)
  /// Adapters out of reach of every device.
  var unreachable: Set<BluetoothAddress> = []
  /// The answer of a device to its search; nil for nothing at all.
  var answer: ((BluetoothAddress) -> [UInt8]?)?

  var adapters: [Adapter] {
    looks += 1
    return present
  }

  static func adapter(
    _ number: CInt, address: UInt64 = 0xA, isUp: Bool = true, isDiscoverable: Bool = true, isBlocked: Bool = false
  ) -> Adapter {
    Adapter(
      number, name: "hci\(number)", address: BluetoothAddress(address), isUp: isUp, isDiscoverable: isDiscoverable,
      isBlocked: isBlocked)
  }

  /// A device connects.
  func arrive() throws -> Descriptor { try .connected(toFolder: folder.path, named: "rfcomm", patience: 5) }

  func listeningForRFCOMM(at adapter: BluetoothAddress) throws(SystemError) -> Descriptor {
    guard canHaveSockets else { throw SystemError("socket", code: EAFNOSUPPORT) }
    listens.append(adapter)
    return try .listening(inFolder: folder.path, named: "rfcomm")
  }

  func channel(of socket: borrowing Descriptor) throws(SystemError) -> UInt8 { 22 }

  func device(of socket: borrowing Descriptor) throws(SystemError) -> BluetoothAddress {
    accepted += 1
    return BluetoothAddress(accepted)
  }

  func adapter(of socket: borrowing Descriptor) throws(SystemError) -> BluetoothAddress { accepting }

  func connectingRFCOMM(
    to device: BluetoothAddress, channel: UInt8, from adapter: BluetoothAddress
  ) throws(SystemError) -> Descriptor {
    connecters.append(adapter)
    let pair = try Descriptor.pair()
    connected.append(Socket(try pair.theirs.duplicate()))
    return try pair.ours.duplicate()
  }

  func connectingSDP(to device: BluetoothAddress, from adapter: BluetoothAddress) throws(SystemError) -> Descriptor {
    searchers.append(adapter)
    if unreachable.contains(adapter) { throw SystemError("connect", code: EHOSTDOWN) }
    let pair = try Descriptor.packetPair()
    if let answer = answer?(device) { try pair.theirs.sendPacket(answer) }
    searched.append(Socket(try pair.theirs.duplicate()))
    return try pair.ours.duplicate()
  }

  func inquire(on adapter: CInt, units: UInt8, done: @escaping @Sendable ([InquiredDevice]?) -> Void) {
    inquiries.append(adapter)
    let found: [InquiredDevice]? = inquiredOnly[adapter] ?? inquired
    guard endless.contains(adapter) else { return done(found) }
    unended.append((adapter, { done($0 ? found : nil) }))
  }

  func endInquiries() {
    let ends = unended
    unended = []
    for (_, end) in ends { end(true) }
  }

  func stopInquiry(on adapter: CInt) {
    stopped.append(adapter)
    guard isStoppable, let place = unended.firstIndex(where: { $0.adapter == adapter }) else { return }
    unended.remove(at: place).end(false)
  }

  func register(_ record: HostRecord, done: @escaping @Sendable (Bool) -> Void) {
    registrations += 1
    if let registers { done(registers) }
  }
}
