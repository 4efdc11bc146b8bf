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

  func connectingRFCOMM(
    to device: BluetoothAddress, channel: UInt8, from adapter: BluetoothAddress
  ) throws(SystemError) -> Descriptor {
    let pair = try Descriptor.pair()
    connected.append(Socket(try pair.theirs.duplicate()))
    return try pair.ours.duplicate()
  }

  func connectingSDP(to device: BluetoothAddress, from adapter: BluetoothAddress) throws(SystemError) -> Descriptor {
    let pair = try Descriptor.packetPair()
    if let answer = answer?(device) { try pair.theirs.sendPacket(answer) }
    searched.append(Socket(try pair.theirs.duplicate()))
    return try pair.ours.duplicate()
  }

  func inquire(on adapters: [CInt], units: UInt8, done: @escaping @Sendable ([InquiredDevice]?) -> Void) {
    done(inquired)
  }

  func register(_ record: HostRecord, done: @escaping @Sendable (Bool) -> Void) {
    registrations += 1
    if let registers { done(registers) }
  }
}
