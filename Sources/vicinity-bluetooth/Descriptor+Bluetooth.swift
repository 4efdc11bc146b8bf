internal import BluetoothProtocol
internal import CBluetooth
internal import Glibc
internal import Reactor

/// Bluetooth sockets. None of them ever blocks: kernels of the 6.1 series stop an adapter while a program waits in `recv`.
extension Descriptor {
  /// A socket that listens for RFCOMM at an adapter, at a channel that the kernel chooses.
  static func listeningForRFCOMM(at adapter: BluetoothAddress) throws(SystemError) -> Descriptor {
    let socket = try rfcomm()
    var address = sockaddr_rc()
    address.rc_family = sa_family_t(AF_BLUETOOTH)
    address.rc_bdaddr = adapter.bdaddr
    try socket.bind(address)
    try check("listen for RFCOMM", listen(socket.number, 8))
    return socket
  }

  func channel() throws(SystemError) -> UInt8 { try ownAddress().rc_channel }

  /// The adapter at this end.
  func adapter() throws(SystemError) -> BluetoothAddress { BluetoothAddress(try ownAddress().rc_bdaddr) }

  private func ownAddress() throws(SystemError) -> sockaddr_rc {
    var address = sockaddr_rc()
    var length = socklen_t(MemoryLayout<sockaddr_rc>.size)
    try Self.check("getsockname", Self.withSockaddr(&address) { getsockname(number, $0, &length) })
    return address
  }

  /// The device at the other end.
  func device() throws(SystemError) -> BluetoothAddress {
    var address = sockaddr_rc()
    var length = socklen_t(MemoryLayout<sockaddr_rc>.size)
    try Self.check("getpeername", Self.withSockaddr(&address) { getpeername(number, $0, &length) })
    return BluetoothAddress(address.rc_bdaddr)
  }

  /// A socket that is connected or on its way: when it is writable, `connectionError` says which.
  static func connectingRFCOMM(
    to device: BluetoothAddress, channel: UInt8, from adapter: BluetoothAddress
  ) throws(SystemError) -> Descriptor {
    let socket = try rfcomm()
    var address = sockaddr_rc()
    address.rc_family = sa_family_t(AF_BLUETOOTH)
    address.rc_bdaddr = adapter.bdaddr
    try socket.bind(address)
    address.rc_bdaddr = device.bdaddr
    address.rc_channel = channel
    try socket.connect(address)
    return socket
  }

  /// The same for the service discovery of a device, over L2CAP.
  static func connectingSDP(to device: BluetoothAddress, from adapter: BluetoothAddress) throws(SystemError)
    -> Descriptor
  {
    let socket = try bluetooth(CInt(SOCK_SEQPACKET.rawValue), BTPROTO_L2CAP)
    var address = sockaddr_l2()
    address.l2_family = sa_family_t(AF_BLUETOOTH)
    address.l2_bdaddr = adapter.bdaddr
    try socket.bind(address)
    address.l2_bdaddr = device.bdaddr
    address.l2_psm = UInt16(SDP_PSM).littleEndian
    try socket.connect(address)
    return socket
  }

  /// Whether this process may have any.
  static var canBeBluetooth: Bool { (try? rfcomm()) != nil }

  private static func rfcomm() throws(SystemError) -> Descriptor {
    try bluetooth(CInt(SOCK_STREAM.rawValue), BTPROTO_RFCOMM)
  }

  private static func bluetooth(_ type: CInt, _ kind: CInt) throws(SystemError) -> Descriptor {
    let number = socket(AF_BLUETOOTH, type | CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), kind)
    try check("open a Bluetooth socket", number)
    return Descriptor(owning: number)
  }

  private func bind(_ address: some BitwiseCopyable) throws(SystemError) {
    var address = address
    let size = socklen_t(MemoryLayout.size(ofValue: address))
    try Self.check("bind", Self.withSockaddr(&address) { Glibc.bind(number, $0, size) })
  }

  private func connect(_ address: some BitwiseCopyable) throws(SystemError) {
    var address = address
    let size = socklen_t(MemoryLayout.size(ofValue: address))
    let result = Self.withSockaddr(&address) { Glibc.connect(number, $0, size) }
    if result < 0, errno == EINPROGRESS || errno == EAGAIN { return }
    try Self.check("connect", result)
  }

  private static func check(_ operation: String, _ result: CInt) throws(SystemError) {
    if result < 0 { throw SystemError(operation, code: errno) }
  }

  private static func withSockaddr<Address: BitwiseCopyable, Result>(
    _ address: inout Address, _ body: (UnsafeMutablePointer<sockaddr>) -> Result
  ) -> Result {
    withUnsafeMutablePointer(to: &address) {
      // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
    }
  }
}
