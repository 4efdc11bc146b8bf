internal import Nearby

/// A gateway.
extension Event {
  static func serving(_ host: HostID, at addresses: [String]) -> Event {
    Event("serving", .result, [.text("id", host), .list("addresses", addresses)]) { paint in
      let pages = addresses.map { "http://\($0)" }
      return ["open \(paint(.strong, pages.first ?? "the gateway")) in a browser"]
        + pages.dropFirst().map { paint(.faint, "  or \($0)") }
    }
  }

  static func pairingCode(_ code: String) -> Event {
    Event("pairingCode", .result, [.text("code", code)]) { paint in
      ["pairing code \(paint(.strong, code)), for one operator within ten minutes"]
    }
  }
}
