internal import Gateway
internal import Nearby

/// Events of a gateway.
extension Event {
  static func serving(_ host: HostID, at addresses: [String], _ web: GatewayAddresses) -> Event {
    Event(
      "serving", .result,
      [
        .text("id", host), .list("addresses", addresses), .list("urls", web.urls),
        .text("fingerprint", web.fingerprint),
      ]
    ) { paint in
      let whose = web.hasOwnAuthority ? "authority, whose certificate is at /v1/gateway/authority" : "certificate"
      let others = web.urls.map {
        "\($0) from another\($0.hasPrefix("http:") ? ", not encrypted" : "")"
      }
      return (web.local.map { ["open \(paint(.strong, $0)) in a browser of this machine"] } ?? [])
        + others.map { paint(.faint, "  or \($0)") }
        + [paint(.faint, "SHA-256 \(web.fingerprint) of its \(whose)")]
    }
  }

  /// A pairing code, with a QR code where the terminal has room for it.
  static func pairingCode(_ ticket: PairingTicket, on terminal: Terminal) -> Event {
    Event(
      "pairingCode", .result,
      [
        .text("code", ticket.code), .text("role", ticket.role),
        ticket.scopes.isEmpty ? nil : .list("scopes", ticket.scopes), .number("seconds", ticket.seconds),
        ticket.url.map { .text("url", $0) }, ticket.localURL.map { .text("localURL", $0) },
      ]
    ) { paint in
      let time = Quantity.time(.seconds(ticket.seconds))
      var lines = ["pairing code \(paint(.strong, ticket.code)), for one \(ticket.role) within \(time)"]
      if !ticket.scopes.isEmpty { lines.append("  for \(ticket.scopes.joined(separator: ", ")) only") }
      if let url = ticket.localURL { lines.append("  open \(paint(.strong, url)) in a browser of this machine") }
      guard let url = ticket.url else { return lines }
      lines.append(paint(.faint, "  or open \(url)"))
      if let pattern = QRCode(url), terminal.canShow(columns: pattern.columns) { lines += pattern.lines(paint) }
      return lines
    }
  }

  static func draining(_ count: Int, within time: Duration) -> Event {
    Event("draining", .news, [.number("underWay", count), .number("seconds", Int(time.components.seconds))]) { _ in
      ["waiting up to \(Quantity.time(time)) for \(count) under way; the same once more ends at once"]
    }
  }

  /// A hint for readers of a log, which does not have the code that grants an operator access.
  static let codeElsewhere = Event("codeElsewhere", .news) { _ in
    ["'vicinity pair' shows a pairing code, on a terminal of this machine"]
  }
}
