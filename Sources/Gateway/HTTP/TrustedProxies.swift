internal import Reactor
internal import Web

/// Proxies whose forwarding headers are believed; those of all others are ignored.
///
/// Invariant: in a chain of proxies the client is the last address that is not a trusted proxy's, so that no untrusted
/// sender has supplied it.
struct TrustedProxies {
  /// Headers in which proxies name their clients.
  static let headers = [
    "Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port", "X-Real-IP", "Via",
  ]
  /// The limit on proxies in a chain.
  private static let hopsMax = 32

  private let ranges: [AddressRange]

  init(_ texts: [String]) throws(Problem) {
    ranges = try texts.map { (text) throws(Problem) in
      guard let range = AddressRange(text) else {
        throw Problem(
          .invalidParameter, "\(QuotedText.of(text)) is no address and no range such as 10.0.0.0/8: see --trusted-proxy"
        )
      }
      return range
    }
  }

  func contains(_ address: SocketAddress) -> Bool { ranges.contains { $0.contains(address) } }

  /// The head as it came to the first trusted proxy.
  func read(_ head: Head) throws(WebFault) -> Head {
    guard contains(head.client) else { return head }
    let forwarded = Self.list(head, "Forwarded")
    let others = ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host"]
    if forwarded.isEmpty, others.allSatisfy({ head.headers[$0] == nil }) { return head }
    guard forwarded.isEmpty || others.allSatisfy({ head.headers[$0] == nil }) else {
      // A proxy that sets one kind forwards the other as a client has sent it.
      throw WebFault(
        400,
        "A trusted proxy sent both Forwarded and X-Forwarded headers: have it remove the kind that it does not set.")
    }
    let hops = try forwarded.isEmpty ? Self.others(head) : forwarded.map { (text) throws(WebFault) in try Hop(text) }
    guard hops.count <= Self.hopsMax else { throw WebFault(400, "The request came by too many proxies.") }
    guard let place = hops.lastIndex(where: { !contains($0.client) }) ?? hops.indices.first else { return head }
    let hop = hops[place]
    return try Head(
      head, from: hop.client, isSecure: try hop.isSecure ?? head.isSecure, Self.headers(of: head, host: hop.host))
  }

  private static func headers(of head: Head, host: String?) -> Headers {
    var headers = Headers()
    for field in head.headers.fields where !Self.headers.contains(where: { $0.lowercased() == field.name.lowercased() })
    {
      let isHost = host != nil && field.name.lowercased() == "host"
      headers.append(field.name, isHost ? host ?? "" : field.value)
    }
    return headers
  }

  private static func list(_ head: Head, _ name: String) -> [String] {
    head.headers.all(name).flatMap { $0.split(separator: ",") }.map { Self.trimmed($0) }.filter { !$0.isEmpty }
  }

  private static func trimmed(_ text: Substring) -> String {
    String(text.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
  }

  private static func others(_ head: Head) throws(WebFault) -> [Hop] {
    let clients = list(head, "X-Forwarded-For")
    let schemes = list(head, "X-Forwarded-Proto")
    let host = list(head, "X-Forwarded-Host").last
    guard !clients.isEmpty else {
      throw WebFault(400, "A trusted proxy does not say for whom it asks: have it set X-Forwarded-For.")
    }
    // If each proxy has added its own scheme, they belong together; otherwise the scheme is the nearest proxy's.
    return try clients.enumerated().map { (place, client) throws(WebFault) in
      try Hop(client, schemes.count == clients.count ? schemes[place] : schemes.last, host)
    }
  }

  /// One proxy's description of its client.
  private struct Hop {
    let client: SocketAddress
    let scheme: String?
    let host: String?

    init(_ client: String, _ scheme: String?, _ host: String?) throws(WebFault) {
      guard let address = Self.address(client) else {
        throw WebFault(400, "A trusted proxy names a client that is no address: have it set X-Forwarded-For to one.")
      }
      self.client = address
      self.scheme = scheme?.lowercased()
      self.host = host
    }

    /// An element of `Forwarded` (RFC 7239 §4), such as `for="[2001:db8::17]:4711";proto=https;host=box.example`.
    init(_ element: String) throws(WebFault) {
      var parts: [String: String] = [:]
      for pair in element.split(separator: ";") {
        let sides = pair.split(separator: "=", maxSplits: 1)
        guard sides.count == 2 else { throw WebFault(400, "A trusted proxy's Forwarded header is malformed.") }
        let isQuoted = sides[1].count >= 2 && sides[1].first == "\"" && sides[1].last == "\""
        let name = TrustedProxies.trimmed(sides[0]).lowercased()
        guard parts[name] == nil else {
          throw WebFault(400, "A trusted proxy's Forwarded header says '\(name)' twice.")
        }
        parts[name] = isQuoted ? String(sides[1].dropFirst().dropLast()) : TrustedProxies.trimmed(sides[1])
      }
      try self.init(parts["for"] ?? "", parts["proto"], parts["host"])
    }

    /// Nil where no scheme is given.
    var isSecure: Bool? {
      get throws(WebFault) {
        switch scheme {
        case nil: nil
        case "https", "wss": true
        case "http", "ws": false
        default: throw WebFault(400, "A trusted proxy names a scheme that is neither http nor https.")
        }
      }
    }

    /// Parses an address with or without a port.
    private static func address(_ text: String) -> SocketAddress? {
      guard text.utf8.count <= 64 else { return nil }
      return (try? SocketAddress(textOfPlace: text))?.with(port: 0)
    }
  }
}
