/// A check of the links to other hosts: whether one is slow, or loses much.
package enum LinkCheck {
  /// A local network answers in a few milliseconds, and a poor Wi-Fi in some tens.
  private static let roundTripMax: Duration = .milliseconds(100)
  /// One of the two legs may be a radio.
  private static let relayedRoundTripMax: Duration = .milliseconds(250)
  private static let lossMax = 0.02
  /// A lost packet is a large part of fewer bytes.
  private static let judgedBytesMin: UInt64 = 64 << 10
  /// More findings than this have one cause.
  private static let findingsMax = 8

  /// None without a link over a network that has been measured, or through a relay: a radio is slow by nature.
  package static func findings(_ links: [HostLink]) -> [Finding] {
    let measured = links.filter { $0.roundTrip != nil && ($0.medium == "lan" || $0.relay != nil) }
    let poor = measured.compactMap(finding)
    if !poor.isEmpty || measured.isEmpty { return Array(poor.prefix(findingsMax)) }
    let longest = measured.compactMap(\.roundTrip).max() ?? .zero
    let hosts = Set(measured.map(\.host)).count
    return [
      Finding(
        .link, .good,
        "The links to \(hosts) other host\(hosts == 1 ? "" : "s") have a round trip of \(milliseconds(longest)) at most."
      )
    ]
  }

  private static func finding(_ link: HostLink) -> Finding? {
    var faults: [String] = []
    if let roundTrip = link.roundTrip, roundTrip > (link.relay == nil ? roundTripMax : relayedRoundTripMax) {
      faults.append("is slow, with a round trip of \(milliseconds(roundTrip))")
    }
    if let loss = link.loss, loss > lossMax, link.bytesSent >= judgedBytesMin {
      faults.append("loses \(Int((loss * 100).rounded())) % of its bytes")
    }
    if faults.isEmpty { return nil }
    if let relay = link.relay {
      return Finding(
        .link, .doubtful,
        "The link through the relay \(relay) to the host \(link.host) \(faults.joined(separator: " and ")).",
        cure:
          "Give both computers a medium in common, such as one network or a shared folder: the link moves there by itself."
      )
    }
    let place = link.address.map { " (\($0))" } ?? ""
    return Finding(
      .link, .doubtful,
      "The link by \(link.medium) to the host \(link.host)\(place) \(faults.joined(separator: " and ")).",
      cure: "On Wi-Fi, move closer to the access point, use its 5 GHz band, or turn power saving off "
        + "(iw dev wlan0 set power_save off); on a cable, look for errors in 'ip -s link', and try another cable or port."
    )
  }

  private static func milliseconds(_ time: Duration) -> String {
    let microseconds = Int(time / .microseconds(1))
    return microseconds < 10_000
      ? "\(microseconds / 1_000).\(microseconds / 100 % 10) ms" : "\((microseconds + 500) / 1_000) ms"
  }
}
