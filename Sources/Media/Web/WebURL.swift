/// A parsed URL of the web. All parts are visible ASCII and can go into a request as they are.
public struct WebURL: Hashable, Sendable, CustomStringConvertible {
  public enum Scheme: String, Hashable, Sendable {
    case http, https
  }

  /// The length that servers commonly accept.
  public static let bytesMax = 4_096

  public let scheme: Scheme
  /// A name in lower case or an IPv4 address; an IPv6 address without its brackets.
  public let host: String
  public let port: UInt16
  /// Beginning with a slash; empty parts and dots as given.
  public let path: String
  /// Without its question mark; nil where there is none.
  public let query: String?

  public init(_ text: String) throws(WebError) {
    guard text.utf8.count <= Self.bytesMax else {
      throw .invalidURL("it has \(text.utf8.count) bytes, and at most \(Self.bytesMax) are taken")
    }
    let (scheme, rest) = Self.scheme(of: text)
    guard let scheme else { throw .invalidURL("it does not begin with http:// or https://") }
    guard let scheme = Scheme(rawValue: scheme) else { throw .unsupported(scheme: scheme) }
    guard rest.hasPrefix("//") else { throw .invalidURL("“//” is missing behind “\(scheme.rawValue):”") }
    try self.init(scheme, authorityAndBeyond: rest.dropFirst(2))
  }

  private init(_ scheme: Scheme, authorityAndBeyond text: Substring) throws(WebError) {
    let authority = text.prefix { !"/?#".contains($0) }
    let (path, query) = try Self.target(text[authority.endIndex...])
    try self.init(scheme, authority: authority, path: path.isEmpty ? "/" : path, query: query)
  }

  private init(_ scheme: Scheme, authority: Substring, path: String, query: String?) throws(WebError) {
    if authority.contains("@") { throw .invalidURL("it holds a user name or a password, which are not sent anywhere") }
    self.scheme = scheme
    self.path = path
    self.query = query
    let end: Substring.Index
    if authority.hasPrefix("[") {
      guard let bracket = authority.firstIndex(of: "]") else { throw .invalidURL("“]” is missing behind the address") }
      host = authority[..<bracket].dropFirst().lowercased()
      end = authority.index(after: bracket)
      guard host.contains(":"), host.utf8.allSatisfy({ $0.isHexadecimal || $0 == 0x3A || $0 == 0x2E }) else {
        throw .invalidURL("what stands in brackets is not an IPv6 address")
      }
    } else {
      end = authority.firstIndex(of: ":") ?? authority.endIndex
      host = authority[..<end].lowercased()
      guard !host.isEmpty, host.utf8.count <= 253 else {
        throw .invalidURL("its host has no name, or a longer one than there can be")
      }
      guard host.utf8.allSatisfy({ $0.isLetterOrDigit || $0 == 0x2D || $0 == 0x2E || $0 == 0x5F }) else {
        throw .invalidURL("its host holds a character that no host has; write other scripts in their xn-- form")
      }
    }
    let rest = authority[end...]
    if rest.isEmpty || rest == ":" {
      port = scheme == .http ? 80 : 443
    } else {
      guard rest.hasPrefix(":"), rest.dropFirst().utf8.allSatisfy(\.isDigit), let port = UInt16(rest.dropFirst()),
        port > 0
      else { throw .invalidURL("its port is not a number from 1 to 65535") }
      self.port = port
    }
  }

  /// Resolves a `Location` (RFC 3986 §5.2).
  func resolving(_ reference: String) throws(WebError) -> WebURL {
    guard reference.utf8.count <= Self.bytesMax else {
      throw .invalidURL("the server redirects to one that is too long")
    }
    if Self.scheme(of: reference).0 != nil { return try WebURL(reference) }
    if reference.hasPrefix("//") { return try WebURL(scheme, authorityAndBeyond: reference.dropFirst(2)) }
    let (given, query) = try Self.target(reference[...])
    if given.isEmpty { return WebURL(of: self, path: path, query: query ?? self.query) }
    let whole = given.hasPrefix("/") ? given : path[...(path.lastIndex(of: "/") ?? path.startIndex)] + given
    return WebURL(of: self, path: Self.withoutDots(whole), query: query)
  }

  private init(of base: WebURL, path: String, query: String?) {
    (scheme, host, port) = (base.scheme, base.host, base.port)
    (self.path, self.query) = (path, query)
  }

  public var description: String { "\(scheme.rawValue)://\(authority)\(target)" }

  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (scheme == .http ? 80 : 443) ? name : "\(name):\(port)"
  }

  var target: String { path + (query.map { "?\($0)" } ?? "") }

  // MARK: Parts

  /// In lower case; nil where there is none.
  static func scheme(of text: String) -> (String?, Substring) {
    let name = text.utf8.prefix { $0.isLetterOrDigit || $0 == 0x2B || $0 == 0x2D || $0 == 0x2E }
    guard name.first?.isLetter == true, text.utf8[name.endIndex...].first == UInt8(ascii: ":") else {
      return (nil, text[...])
    }
    return (Substring(name).lowercased(), text[name.endIndex...].dropFirst())
  }

  private static func target(_ text: Substring) throws(WebError) -> (path: String, query: String?) {
    let visible = text.prefix { $0 != "#" }
    let path = visible.prefix { $0 != "?" }
    let query = visible[path.endIndex...].dropFirst()
    return (try spelled(path), path.endIndex == visible.endIndex ? nil : try spelled(query))
  }

  /// Percent-encodes the UTF-8 of other characters; refuses those that no request may hold.
  private static func spelled(_ text: Substring) throws(WebError) -> String {
    var spelled = ""
    for byte in text.utf8 {
      switch byte {
      case 0...0x20, 0x7F: throw .invalidURL("it holds a space or a control character; write them as %20 and the like")
      case 0x80...: spelled += "%" + String(byte, radix: 16, uppercase: true)
      default: spelled.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
    return spelled
  }

  private static func withoutDots(_ path: String) -> String {
    var kept: [Substring] = []
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    for part in parts {
      if part == ".." { _ = kept.popLast() } else if part != "." { kept.append(part) }
    }
    let endsInFolder = parts.last == "." || parts.last == ".."
    return "/" + kept.joined(separator: "/") + (endsInFolder && !kept.isEmpty ? "/" : "")
  }
}

extension UInt8 {
  var isDigit: Bool { (0x30...0x39).contains(self) }
  var isLetter: Bool { (0x61...0x7A).contains(self | 0x20) }
  var isLetterOrDigit: Bool { isDigit || isLetter }
  var isHexadecimal: Bool { isDigit || (0x61...0x66).contains(self | 0x20) }
  /// A character of a field's name (RFC 9110 §5.6.2).
  var isToken: Bool { isLetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(self) }
}
