package import Reactor

/// The head of a request: everything before its body.
///
/// It is shared by all holders: the request, its handler, and the connection, which compares it with the next head.
package final class Head: Sendable {
  package let method: Method
  /// The request target as it was sent, with its query.
  package let target: String
  /// The segments of the target's path, each decoded once: none for `/`, an empty one for each slash that follows
  /// another or ends the path. None is `.` or `..`, and none has a zero byte.
  package let path: [String]
  /// The part of the path that the client sees before `path`, without a slash at its end; the handler sets it.
  package let base: String
  /// Query items in their order, decoded; names may repeat.
  package let query: [QueryItem]
  package let headers: Headers
  /// The client: the other end of the connection, or the client that a trusted proxy names.
  package let client: SocketAddress
  /// Whether it came over TLS.
  package let isSecure: Bool
  /// Nil without a `Content-Length`.
  let contentLength: Int?
  /// Whether a body of unknown length follows (chunked coding).
  let isOfOpenLength: Bool
  /// Whether a body follows.
  let hasBody: Bool
  let isHTTP11: Bool
  /// Whether it asks for an upgrade to a WebSocket.
  let wantsWebSocket: Bool

  /// The value of the first query item of that name.
  package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }

  /// Validates a head strictly: an ambiguous head, or a likely mistake, is refused, and the connection ends.
  convenience init(_ raw: RawHead, from origin: Origin) throws(WebFault) {
    let method = try Self.method(raw.method)
    try Self.checkTarget(raw.target)
    guard raw.version == "HTTP/1.1" || raw.version == "HTTP/1.0" else {
      throw WebFault(505, "The HTTP version is not supported: send HTTP/1.1 or HTTP/1.0.")
    }
    try Self.checkFields(raw.headers)
    try Self.checkHost(raw.headers, isNeeded: raw.version == "HTTP/1.1")
    try Self.checkPlace(raw.target, raw.headers)
    guard raw.headers.count("Origin") <= 1 else {
      throw WebFault(400, "The request has several Origin header fields: send one.")
    }
    try Self.checkFraming(raw.headers, version: raw.version)
    try self.init(method, raw.target, raw.headers, isHTTP11: raw.version == "HTTP/1.1", from: origin)
  }

  /// A request whose version and headers are, byte for byte, those of an earlier one of the same connection.
  convenience init(_ method: String, _ target: String, like other: Head) throws(WebFault) {
    let method = try Self.method(method)
    try Self.checkTarget(target)
    try Self.checkPlace(target, other.headers)
    let origin = Origin(client: other.client, isSecure: other.isSecure)
    try self.init(method, target, other.headers, isHTTP11: other.isHTTP11, from: origin)
  }

  /// The same head with this path, below a base.
  package init(_ other: Head, path: [String], below base: String) {
    (method, target, query, headers) = (other.method, other.target, other.query, other.headers)
    (self.path, self.base) = (path, base)
    (client, isSecure, isHTTP11) = (other.client, other.isSecure, other.isHTTP11)
    (contentLength, isOfOpenLength, hasBody) = (other.contentLength, other.isOfOpenLength, other.hasBody)
    wantsWebSocket = other.wantsWebSocket
  }

  /// The same head as it came to a proxy: from this client, over this scheme, and with these headers.
  package convenience init(
    _ other: Head, from client: SocketAddress, isSecure: Bool, _ headers: Headers
  ) throws(WebFault) {
    try Self.checkHost(headers, isNeeded: other.isHTTP11)
    let origin = Origin(client: client, isSecure: isSecure)
    try self.init(other.method, other.target, headers, isHTTP11: other.isHTTP11, from: origin)
  }

  private init(
    _ method: Method, _ target: String, _ headers: Headers, isHTTP11: Bool, from origin: Origin
  ) throws(WebFault) {
    let parts = try RequestTarget(target, method)
    self.method = method
    self.target = target
    self.headers = headers
    path = parts.path
    base = ""
    query = parts.query
    client = origin.client
    isSecure = origin.isSecure
    contentLength = headers["Content-Length"].flatMap(Int.init)
    isOfOpenLength = headers.count("Transfer-Encoding") > 0
    hasBody = isOfOpenLength || contentLength ?? 0 > 0
    self.isHTTP11 = isHTTP11
    wantsWebSocket = method == .get && headers.lists("websocket", in: "Upgrade")
  }
}

package struct QueryItem: Hashable, Sendable {
  package let name: String
  /// Empty without an `=`.
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

package enum Method: Hashable, Sendable {
  case get, head, post, put, patch, delete, options
  /// Another method, as it was sent.
  case other(String)

  package init(_ text: String) {
    self =
      switch text {
      case "GET": .get
      case "HEAD": .head
      case "POST": .post
      case "PUT": .put
      case "PATCH": .patch
      case "DELETE": .delete
      case "OPTIONS": .options
      default: .other(text)
      }
  }
}

/// A request's head before it is validated.
struct RawHead {
  var method = ""
  var target = ""
  /// Such as `HTTP/1.1`.
  var version = ""
  var headers = Headers()
}

/// The origin of a request.
struct Origin {
  let client: SocketAddress
  let isSecure: Bool
}

extension Head {
  private static func method(_ text: String) throws(WebFault) -> Method {
    guard !text.isEmpty, text.utf8.allSatisfy(\.isTokenByte) else {
      throw WebFault(400, "The method is not a token: send one such as GET.")
    }
    return Method(text)
  }

  private static func checkTarget(_ text: String) throws(WebFault) {
    guard !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw WebFault(
        400, "The request target has a byte that must be percent-encoded: send % and two hexadecimal digits.")
    }
  }

  static func checkFields(_ headers: Headers) throws(WebFault) {
    for field in headers.fields {
      guard !field.name.isEmpty, field.name.utf8.allSatisfy(\.isTokenByte) else {
        throw WebFault(400, "A field name is not a token: it has no space, and the colon follows it directly.")
      }
      guard field.value.utf8.allSatisfy(\.isValueByte) else {
        throw WebFault(400, "The value of the field \(field.name) has a control character: leave it out.")
      }
    }
  }

  private static func checkHost(_ headers: Headers, isNeeded: Bool) throws(WebFault) {
    let hosts = headers.all("Host")
    guard hosts.count <= 1 else { throw WebFault(400, "The request has several Host header fields: send one.") }
    guard let host = hosts.first else {
      if isNeeded { throw WebFault(400, "The request has no Host header field, which HTTP/1.1 requires.") }
      return
    }
    // RFC 3986 §3.2.2: a name, an IPv4 address, or an IPv6 address in brackets; then perhaps a port.
    let isHost = host.utf8.allSatisfy { byte in
      byte.isTokenByte && byte != UInt8(ascii: "#") && byte != UInt8(ascii: "^") && byte != UInt8(ascii: "|")
        || "[]:;=,()".utf8.contains(byte)
    }
    guard isHost, !host.isEmpty else {
      throw WebFault(400, "The Host header field is invalid: send a name or an address, and a port.")
    }
  }

  /// The host in an absolute target must be the one in the Host header (RFC 9112 §3.2.2).
  private static func checkPlace(_ target: String, _ headers: Headers) throws(WebFault) {
    guard let (authority, port) = RequestTarget.authority(of: target) else { return }
    func bare(_ text: String) -> String { text.hasSuffix(port) ? String(text.dropLast(port.utf8.count)) : text }
    guard let host = headers["Host"], !authority.isEmpty, isSame(bare(authority), bare(host)) else {
      throw WebFault(
        400, "The request target and the Host header field name different hosts: send a path (origin-form).")
    }
  }

  private static func checkFraming(_ headers: Headers, version: String) throws(WebFault) {
    let lengths = headers.all("Content-Length")
    let encodings = headers.all("Transfer-Encoding")
    guard lengths.isEmpty || encodings.isEmpty else {
      throw WebFault(400, "The request has both Content-Length and Transfer-Encoding: send one of them.")
    }
    guard lengths.count <= 1 else {
      throw WebFault(400, "The request has several Content-Length header fields: send one.")
    }
    if let length = lengths.first {
      let isNumber = !length.isEmpty && length.utf8.allSatisfy { (0x30...0x39).contains($0) }
      guard isNumber, Int(length) != nil else {
        throw WebFault(400, "The Content-Length is invalid: send decimal digits alone.")
      }
    }
    guard encodings.isEmpty || encodings.count == 1 && isSame(encodings[0], "chunked") && version == "HTTP/1.1" else {
      throw WebFault(501, "The Transfer-Encoding is not supported: send 'chunked' once, in HTTP/1.1.")
    }
  }
}
