/// The IPv4 addresses of the devices that this machine has talked with lately, as the kernel shows them below `/proc`.
struct NeighbourTable {
  /// By hardware address.
  private let addresses: [String: String]

  init(_ interface: String) { self.init(SystemFile.text(of: "/proc/net/arp") ?? "", interface) }

  init(_ text: String, _ interface: String) {
    var addresses: [String: String] = [:]
    // Address, type of hardware, flags, hardware address, mask, interface; behind a line of titles.
    for line in text.split(separator: "\n").dropFirst() {
      let words = line.split(separator: " ")
      // A device that has not answered has no flags.
      guard words.count == 6, words[5] == interface, words[2] != "0x0" else { continue }
      addresses[String(words[3])] = String(words[0])
    }
    self.addresses = addresses
  }

  subscript(hardware: String) -> String? { addresses[hardware] }
}
