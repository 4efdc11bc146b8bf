internal import BluetoothProtocol
internal import BluetoothServer
internal import CBluetooth
internal import Glibc

extension Adapter {
  /// Nil where there is none of this number.
  init?(_ number: CInt) {
    var info = hci_dev_info()
    guard hci_devinfo(number, &info) >= 0 else { return nil }
    let name = withUnsafeBytes(of: info.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    self.init(
      number, name: name, address: BluetoothAddress(info.bdaddr), isUp: info.flags & 1 << UInt32(HCI_UP) != 0,
      isDiscoverable: info.flags & 1 << UInt32(HCI_ISCAN) != 0, isBlocked: Self.isBlocked(name))
  }

  /// All of this machine.
  static var all: [Adapter] { (0..<CInt(HCI_MAX_DEV)).compactMap { Adapter($0) } }

  private static func isBlocked(_ name: String) -> Bool {
    let folder = "/sys/class/bluetooth/\(name)"
    guard let stream = opendir(folder) else { return false }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      // The kernel ends the name with a zero.
      let file = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      guard file.hasPrefix("rfkill") else { continue }
      if ["soft", "hard"].contains(where: { isSet("\(folder)/\(file)/\($0)") }) { return true }
    }
    return false
  }

  private static func isSet(_ path: String) -> Bool {
    let number = open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return false }
    defer { close(number) }
    var byte: UInt8 = 0
    return read(number, &byte, 1) == 1 && byte == UInt8(ascii: "1")
  }
}

extension BluetoothAddress {
  /// The library has the lowest byte first.
  init(_ address: bdaddr_t) {
    self.init(withUnsafeBytes(of: address.b) { $0.reversed().reduce(0) { $0 << 8 | UInt64($1) } })
  }

  var bdaddr: bdaddr_t {
    var address = bdaddr_t()
    withUnsafeMutableBytes(of: &address.b) { bytes in
      for place in 0..<6 { bytes[place] = UInt8(truncatingIfNeeded: value >> UInt64(8 * place)) }
    }
    return address
  }
}
