internal import BluetoothProtocol

/// The D-Bus object of a device, which bluetoothd has for each adapter: such as `/org/bluez/hci0/dev_00_AA_01_00_00_42`.
struct DeviceObject: Hashable {
  /// Its name in the kernel.
  let adapter: String
  let device: BluetoothAddress

  /// Nil for any other path.
  init?(_ path: String) {
    let words = path.split(separator: "/", omittingEmptySubsequences: false)
    guard words.count == 5, words.prefix(3) == ["", "org", "bluez"], words[4].hasPrefix("dev_") else { return nil }
    let digits = words[4].dropFirst(4).split(separator: "_", omittingEmptySubsequences: false)
    guard digits.count == 6, digits.allSatisfy({ $0.utf8.count == 2 }),
      let device = BluetoothAddress(text: digits.joined().lowercased())
    else { return nil }
    adapter = String(words[3])
    self.device = device
  }
}
