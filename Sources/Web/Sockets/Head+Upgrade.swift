/// What a request must say to go on as a WebSocket (RFC 6455 §4.2.1).
extension Head {
  /// Nil where all is well.
  var upgradeFault: WebFault? {
    if hasBody { return WebFault(400, "A request for a WebSocket has no body: send the first message instead.") }
    if !headers.lists("upgrade", in: "Connection") {
      return WebFault(400, "A request for a WebSocket says 'Connection: Upgrade' too.")
    }
    if headers.all("Sec-WebSocket-Version") != ["13"] {
      return WebFault(426, "WebSockets are spoken in version 13 here: say 'Sec-WebSocket-Version: 13'.")
    }
    guard headers.count("Sec-WebSocket-Key") == 1, let key = headers["Sec-WebSocket-Key"], Self.isKey(key) else {
      return WebFault(400, "A request for a WebSocket needs one Sec-WebSocket-Key: 16 random bytes in Base64.")
    }
    return nil
  }

  /// The subprotocols that the client offers, the one that it wants most first.
  package var subprotocols: [String] {
    headers.all("Sec-WebSocket-Protocol").flatMap { $0.split(separator: ",").map { String($0).trimmed } }
  }

  /// The request as libwebsockets takes it.
  var canonicalUpgrade: [UInt8] {
    Array(
      """
      GET / HTTP/1.1\r
      Host: here\r
      Upgrade: websocket\r
      Connection: Upgrade\r
      Sec-WebSocket-Key: \(headers["Sec-WebSocket-Key"] ?? "")\r
      Sec-WebSocket-Version: 13\r
      \r

      """.utf8)
  }

  /// 16 bytes are 22 digits and two signs that stand for nothing.
  private static func isKey(_ text: String) -> Bool {
    let digits = text.utf8.dropLast(2)
    return text.utf8.count == 24 && text.hasSuffix("==")
      && digits.allSatisfy { $0.isTokenByte && !"!#$%&'*-.^_`|~".utf8.contains($0) || $0 == UInt8(ascii: "/") }
  }
}
