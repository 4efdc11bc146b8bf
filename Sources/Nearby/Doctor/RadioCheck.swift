/// Checks the Wi-Fi radios: whether this machine can make a network where there is none.
package enum RadioCheck {
  /// None where the machine has no radio.
  package static func findings() async -> [Finding] {
    guard let control = try? RadioControl() else { return [] }
    let (radios, error) = await control.radios()
    return findings(radios, error)
  }

  static func findings(_ radios: [Radio], _ error: RadioError?) -> [Finding] {
    let findings = radios.map(finding)
    guard let error, !radios.isEmpty else { return findings }
    return findings + [Finding(.radio, .unknown, error.cause, cure: error.cure)]
  }

  private static func finding(_ radio: Radio) -> Finding {
    let name = radio.name
    if let network = radio.network {
      if network.isAbandoned {
        return Finding(
          .radio, .doubtful, "\(name) has the \(network.kind.rawValue) '\(network.name)', whose program is gone.",
          cure: "vicinity radio stop \(name)")
      }
      return Finding(
        .radio, .good,
        "\(name) has the \(network.kind.rawValue) '\(network.name)', in which \(network.members) others are.")
    }
    switch radio.state {
    case .blocked:
      return Finding(
        .radio, .doubtful, "The Wi-Fi radio \(name) is turned off (rfkill).",
        cure: "rfkill unblock wlan, or the machine's switch.")
    case .connected: return Finding(.radio, .good, "The Wi-Fi radio \(name) is connected.")
    case .idle, .network: break
    }
    guard let kinds = radio.kinds else {
      return Finding(.radio, .good, "The Wi-Fi radio \(name) is not in use.")
    }
    if kinds.isEmpty {
      return Finding(
        .radio, .doubtful, "The driver of \(name) makes no network without an access point.",
        cure: "docs/radios.md lists adapters that do.")
    }
    let words = kinds.map {
      $0 == .group ? "a group of Wi-Fi Direct (vicinity radio p2p start)" : "a mesh (vicinity radio mesh join)"
    }
    return Finding(.radio, .good, "\(name) can make \(words.joined(separator: " and ")).")
  }
}
