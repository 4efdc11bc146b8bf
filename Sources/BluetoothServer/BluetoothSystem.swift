public import BluetoothProtocol
public import Reactor

/// The adapters, sockets and calls of the system and of BlueZ's library, which tests play.
///
/// Its calls return at once, on the service's loop; their closures are called there too. No socket blocks.
public protocol BluetoothSystem: AnyObject {
  /// Whether this process may have Bluetooth sockets.
  var canHaveSockets: Bool { get }
  var adapters: [Adapter] { get }

  /// A socket that listens for RFCOMM at an adapter, at a channel that the kernel chooses.
  func listeningForRFCOMM(at adapter: BluetoothAddress) throws(SystemError) -> Descriptor
  func channel(of socket: borrowing Descriptor) throws(SystemError) -> UInt8
  /// The device at the other end.
  func device(of socket: borrowing Descriptor) throws(SystemError) -> BluetoothAddress
  /// The adapter at this end.
  func adapter(of socket: borrowing Descriptor) throws(SystemError) -> BluetoothAddress
  /// A socket that is connected or on its way: when it is writable, `connectionError` says which.
  func connectingRFCOMM(
    to device: BluetoothAddress, channel: UInt8, from adapter: BluetoothAddress
  ) throws(SystemError) -> Descriptor
  /// The same for the service discovery of a device, over L2CAP.
  func connectingSDP(to device: BluetoothAddress, from adapter: BluetoothAddress) throws(SystemError) -> Descriptor

  /// Inquires on an adapter, by its number; nil where it could not. It may never be done, if the adapter goes away.
  func inquire(on adapter: CInt, units: UInt8, done: @escaping @Sendable ([InquiredDevice]?) -> Void)
  /// Ends an inquiry that does not end by itself, if it can: then that is done.
  func stopInquiry(on adapter: CInt)
  /// Registers the record for as long as the process lives, at the socket that bluetoothd has with `--compat`.
  func register(_ record: HostRecord, done: @escaping @Sendable (Bool) -> Void)
}

/// An adapter, as the kernel shows it.
public struct Adapter: Hashable, Sendable {
  public let number: CInt
  public let name: String
  public let address: BluetoothAddress
  public let isUp: Bool
  public let isDiscoverable: Bool
  public let isBlocked: Bool

  public init(
    _ number: CInt, name: String, address: BluetoothAddress, isUp: Bool, isDiscoverable: Bool, isBlocked: Bool
  ) {
    self.number = number
    self.name = name
    self.address = address
    self.isUp = isUp
    self.isDiscoverable = isDiscoverable
    self.isBlocked = isBlocked
  }
}

public struct InquiredDevice: Hashable, Sendable {
  public let address: BluetoothAddress
  public let deviceClass: UInt32

  public init(_ address: BluetoothAddress, deviceClass: UInt32) {
    self.address = address
    self.deviceClass = deviceClass
  }
}

extension BluetoothAddress {
  /// Whichever adapter the kernel takes.
  public static let any = BluetoothAddress(0)
}
