internal import Media
internal import Notation

/// The opening handshake of a WebSocket: requirements for the request (RFC 6455 §4.2.1).
extension Head {
  /// Nil for a valid request.
  var upgradeFault: WebFault? {
    if !isHTTP11 { return WebFault(400, "The WebSocket handshake needs HTTP/1.1, and this request is HTTP/1.0.") }
    if hasBody { return WebFault(400, "The WebSocket handshake must not have content: send a message after it.") }
    if !headers.lists("upgrade", in: "Connection") {
      return WebFault(400, "The WebSocket handshake needs the header field 'Connection: Upgrade'.")
    }
    if headers.all("Sec-WebSocket-Version") != ["13"] {
      return WebFault(426, "The WebSocket version is not supported: send 'Sec-WebSocket-Version: 13'.")
    }
    guard headers.count("Sec-WebSocket-Key") == 1, let key = headers["Sec-WebSocket-Key"], Self.isKey(key) else {
      return WebFault(400, "The WebSocket handshake needs one Sec-WebSocket-Key: 16 random bytes in Base64.")
    }
    return nil
  }

  /// The subprotocols that the client offers, in its order of preference.
  package var subprotocols: [String] {
    headers.all("Sec-WebSocket-Protocol").flatMap { $0.split(separator: ",").map { String($0).trimmed } }
  }

  /// The value of `Sec-WebSocket-Accept`, which proves that the key was read (RFC 6455 §4.2.2).
  var acceptedKey: String {
    let text = (headers["Sec-WebSocket-Key"] ?? "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    return Base64.text(SHA1.digest(Array(text.utf8)))
  }

  /// 16 bytes are 22 digits of Base64 and two signs of padding.
  private static func isKey(_ text: String) -> Bool {
    let digits = text.utf8.dropLast(2)
    return text.utf8.count == 24 && text.hasSuffix("==")
      && digits.allSatisfy { $0.isTokenByte && !"!#$%&'*-.^_`|~".utf8.contains($0) || $0 == UInt8(ascii: "/") }
  }
}
