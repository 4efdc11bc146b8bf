internal import Nearby

/// A gateway.
extension Event {
  static func serving(_ host: HostID, at addresses: [String]) -> Event {
    Event("serving", .result, [.text("id", host), .list("addresses", addresses)]) { paint in
      // No browser takes an address of one link.
      let pages = addresses.filter { !$0.contains("%") }.map { "http://\($0)" }
      let port = addresses.first.map { $0.suffix(from: $0.lastIndex(of: ":") ?? $0.endIndex) } ?? ""
      return ["open \(paint(.strong, "http://localhost\(port)")) in a browser"]
        + pages.map { paint(.faint, "  or \($0)") }
    }
  }

  static func pairingCode(_ code: String) -> Event {
    Event("pairingCode", .result, [.text("code", code)]) { paint in
      ["pairing code \(paint(.strong, code)), for one operator within ten minutes"]
    }
  }
}
