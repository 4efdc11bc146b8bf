internal import BluetoothProtocol
internal import BluetoothServer
internal import Reactor

/// The kernel's sockets, and BlueZ's library with a thread for those of its calls that wait.
final class LibrarySystem: BluetoothSystem {
  private let inquirer: Inquirer

  init(on reactor: Reactor) throws(SystemError) { inquirer = try Inquirer(reportingOn: reactor) }

  var canHaveSockets: Bool { Descriptor.canBeBluetooth }
  var adapters: [Adapter] { Adapter.all }

  func listeningForRFCOMM(at adapter: BluetoothAddress) throws(SystemError) -> Descriptor {
    try .listeningForRFCOMM(at: adapter)
  }

  func channel(of socket: borrowing Descriptor) throws(SystemError) -> UInt8 { try socket.channel() }

  func device(of socket: borrowing Descriptor) throws(SystemError) -> BluetoothAddress { try socket.device() }

  func connectingRFCOMM(
    to device: BluetoothAddress, channel: UInt8, from adapter: BluetoothAddress
  ) throws(SystemError) -> Descriptor {
    try .connectingRFCOMM(to: device, channel: channel, from: adapter)
  }

  func connectingSDP(to device: BluetoothAddress, from adapter: BluetoothAddress) throws(SystemError) -> Descriptor {
    try .connectingSDP(to: device, from: adapter)
  }

  func inquire(on adapters: [CInt], units: UInt8, done: @escaping @Sendable ([InquiredDevice]?) -> Void) {
    inquirer.inquire(on: adapters, units: units, done: done)
  }

  func register(_ record: HostRecord, done: @escaping @Sendable (Bool) -> Void) {
    inquirer.register(record, done: done)
  }
}
