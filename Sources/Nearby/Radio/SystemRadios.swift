/// The Wi-Fi radios of this machine, as the kernel shows them below `/sys`.
struct SystemRadios {
  enum Block { case software, hardware }

  /// More than a machine has.
  private static let radiosMax = 32

  private let folder: String

  init(_ root: String = "/sys") { folder = "\(root)/class/net" }

  /// The interfaces of radios, in order; those that wpa_supplicant has made for groups are left out.
  var names: [String] {
    let all = SystemFile.names(in: folder).filter {
      !$0.hasPrefix("p2p-") && SystemFile.exists("\(folder)/\($0)/phy80211")
    }
    return Array(all.sorted().prefix(Self.radiosMax))
  }

  /// The radio's name in the kernel, which all of its interfaces have in common.
  func device(of interface: String) -> String? { line("\(interface)/phy80211/name") }

  /// Whether the interface has a carrier: it is connected, or in a network.
  func isUp(_ interface: String) -> Bool { line("\(interface)/operstate") == "up" }

  func block(of interface: String) -> Block? {
    let switches = SystemFile.names(in: "\(folder)/\(interface)/phy80211").filter { $0.hasPrefix("rfkill") }
    func isSet(_ name: String) -> Bool { switches.contains { line("\(interface)/phy80211/\($0)/\(name)") == "1" } }
    return isSet("hard") ? .hardware : isSet("soft") ? .software : nil
  }

  private func line(_ path: String) -> String? {
    SystemFile.text(of: "\(folder)/\(path)")?.split(separator: "\n").first.map(String.init)
  }
}
