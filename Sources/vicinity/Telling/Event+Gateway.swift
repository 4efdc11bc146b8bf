internal import Gateway
internal import Nearby

/// A gateway.
extension Event {
  static func serving(_ host: HostID, at addresses: [String], _ web: WebPlace) -> Event {
    Event(
      "serving", .result,
      [
        .text("id", host), .list("addresses", addresses), .list("urls", web.urls),
        .text("fingerprint", web.fingerprint),
      ]
    ) { paint in
      let whose = web.hasOwnAuthority ? "authority, whose certificate is at /v1/gateway/authority" : "certificate"
      let port = addresses.first.map { $0.suffix(from: $0.lastIndex(of: ":") ?? $0.endIndex) } ?? ""
      return ["open \(paint(.strong, "http://localhost\(port)")) in a browser of this machine"]
        + web.urls.map {
          paint(.faint, "  or \($0) from another\($0.hasPrefix("http:") ? ", where others can read along" : "")")
        } + [paint(.faint, "SHA-256 \(web.fingerprint) of its \(whose)")]
    }
  }

  static func pairingCode(_ code: String) -> Event {
    Event("pairingCode", .result, [.text("code", code)]) { paint in
      ["pairing code \(paint(.strong, code)), for one operator within ten minutes"]
    }
  }
}
