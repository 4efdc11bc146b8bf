internal import BluetoothProtocol
internal import BluetoothServer
internal import Reactor

/// The kernel's sockets, and BlueZ's library with threads for those of its calls that wait.
final class LibrarySystem: BluetoothSystem {
  private let reactor: Reactor
  private let registrar: WaitingThread
  /// One for each adapter that has inquired, by its number, of which the library knows sixteen: one may wait for long.
  private var inquirers: [CInt: WaitingThread] = [:]

  init(on reactor: Reactor) throws(SystemError) {
    self.reactor = reactor
    registrar = try WaitingThread(reportingOn: reactor)
  }

  var canHaveSockets: Bool { Descriptor.canBeBluetooth }
  var adapters: [Adapter] { Adapter.all }

  func listeningForRFCOMM(at adapter: BluetoothAddress) throws(SystemError) -> Descriptor {
    try .listeningForRFCOMM(at: adapter)
  }

  func channel(of socket: borrowing Descriptor) throws(SystemError) -> UInt8 { try socket.channel() }

  func device(of socket: borrowing Descriptor) throws(SystemError) -> BluetoothAddress { try socket.device() }

  func adapter(of socket: borrowing Descriptor) throws(SystemError) -> BluetoothAddress { try socket.adapter() }

  func connectingRFCOMM(
    to device: BluetoothAddress, channel: UInt8, from adapter: BluetoothAddress
  ) throws(SystemError) -> Descriptor {
    try .connectingRFCOMM(to: device, channel: channel, from: adapter)
  }

  func connectingSDP(to device: BluetoothAddress, from adapter: BluetoothAddress) throws(SystemError) -> Descriptor {
    try .connectingSDP(to: device, from: adapter)
  }

  func inquire(on adapter: CInt, units: UInt8, done: @escaping @Sendable ([InquiredDevice]?) -> Void) {
    guard let inquirer = inquirers[adapter] ?? (try? WaitingThread(reportingOn: reactor)) else {
      return reactor.soon { done(nil) }
    }
    inquirers[adapter] = inquirer
    inquirer.inquire(on: adapter, units: units, done: done)
  }

  func stopInquiry(on adapter: CInt) { inquirers[adapter]?.interrupt() }

  func register(_ record: HostRecord, done: @escaping @Sendable (Bool) -> Void) {
    registrar.register(record, done: done)
  }
}
