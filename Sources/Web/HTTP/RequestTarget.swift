/// A parsed request target: each segment and each part of the query is decoded once, after the whole was split, so that
/// an encoded slash is no separator.
package struct RequestTarget {
  package let path: [String]
  package let query: [QueryItem]

  package init(_ text: String, _ method: Method) throws(WebFault) {
    if text == "*", method == .options {
      (path, query) = ([], [])
      return
    }
    let (pathText, queryText) = try Self.part(text)
    path = try Self.segments(pathText)
    query = try queryText.map { text throws(WebFault) in try Self.items(text) } ?? []
  }

  /// The path and the query of a target that begins with a slash or with `http://` and a host (RFC 9112 §3.2).
  private static func part(_ text: String) throws(WebFault) -> (path: Substring, query: Substring?) {
    var rest = text[...]
    if rest.utf8.first != UInt8(ascii: "/") {
      guard let scheme = scheme(of: text) else {
        throw WebFault(400, "The request target is neither a path nor a URL: begin it with a slash.")
      }
      rest = rest.dropFirst(scheme.utf8.count)
      rest = rest[(rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex)...]
    }
    if rest.utf8.contains(UInt8(ascii: "#")) {
      throw WebFault(
        400, "The request target has a fragment, which is for the client alone: leave out # and the rest.")
    }
    guard let mark = rest.utf8.firstIndex(of: UInt8(ascii: "?")) else { return (rest, nil) }
    return (rest[..<mark], rest[rest.utf8.index(after: mark)...])
  }

  private static func scheme(of text: String) -> String? {
    ["http://", "https://"].first { isSame(String(text.prefix($0.utf8.count)), $0) }
  }

  /// The host and port of an absolute target, and its scheme's default port; nil for a path.
  static func authority(of text: String) -> (authority: String, defaultPort: String)? {
    if text.utf8.first == UInt8(ascii: "/") { return nil }
    guard let scheme = scheme(of: text) else { return nil }
    let authority = text.dropFirst(scheme.utf8.count).prefix { !"/?#".contains($0) }
    return (String(authority), scheme == "http://" ? ":80" : ":443")
  }

  private static func segments(_ path: Substring) throws(WebFault) -> [String] {
    if path.isEmpty || path == "/" { return [] }
    var segments: [String] = []
    segments.reserveCapacity(8)
    var rest = path.utf8.dropFirst()
    var isMore = true
    while isMore {
      let end = rest.firstIndex(of: UInt8(ascii: "/"))
      let segment = try decoded(Substring(rest[..<(end ?? rest.endIndex)]), plusIsSpace: false)
      isMore = end != nil
      if let end { rest = rest[rest.index(after: end)...] }
      if segment == "." || segment == ".." {
        throw WebFault(400, "The path has a dot segment: send the path without it.")
      }
      segments.append(segment)
    }
    return segments
  }

  private static func items(_ query: Substring) throws(WebFault) -> [QueryItem] {
    var items: [QueryItem] = []
    for part in query.split(separator: "&") {
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = sides.count == 2 ? try decoded(sides[1], plusIsSpace: true) : ""
      items.append(QueryItem(try decoded(sides[0], plusIsSpace: true), value))
    }
    return items
  }

  private static func decoded(_ text: Substring, plusIsSpace: Bool) throws(WebFault) -> String {
    let plus = UInt8(ascii: "+")
    if !text.utf8.contains(where: { $0 == UInt8(ascii: "%") || plusIsSpace && $0 == plus }) { return String(text) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit else {
          throw WebFault(400, "The request target has a % without two hexadecimal digits: send %25 for %.")
        }
        bytes.append(high << 4 | low)
      case plus where plusIsSpace: bytes.append(0x20)
      default: bytes.append(byte)
      }
    }
    if bytes.contains(0) {
      throw WebFault(400, "The request target has a NUL byte (%00): leave it out.")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw WebFault(400, "The request target is not UTF-8 once decoded: percent-encode the UTF-8 of each character.")
    }
    return text
  }
}

extension UInt8 {
  var hexDigit: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

extension Substring.UTF8View {
  fileprivate mutating func popFirst() -> UInt8? {
    guard let first else { return nil }
    removeFirst()
    return first
  }
}
