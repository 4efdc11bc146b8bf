/// An identifier of one state of a resource (RFC 9110).
enum EntityTag: Hashable, Sendable, CustomStringConvertible {
  /// The tag of a numbered item: it changes when the item does.
  case position(Position)
  case text(String)

  var description: String {
    switch self {
    case .position(let position): "\"\(position)\""
    case .text(let text): "\"\(text)\""
    }
  }

  /// The end of a compressed response's tag, within the quotes: the same state in other bytes has its own tag.
  private static let compressedMark = "-gzip"

  /// The tag of the same state, compressed.
  static func compressed(_ tag: String) -> String { "\(tag.dropLast())\(compressedMark)\"" }

  /// The two comparisons of tags (RFC 9110 §8.8.3.2): strongly, a weak tag equals none.
  enum Comparison { case strong, weak }

  /// Whether a header that lists tags, or a star for all, matches this tag, compressed or not. `If-Match` is compared
  /// strongly, and `If-None-Match` weakly.
  static func match(_ header: String?, _ tag: String, by comparison: Comparison) -> Bool {
    guard let header else { return false }
    return header.split(separator: ",").contains { part in
      let part = part.drop { $0 == " " || $0 == "\t" }
      if part.first == "*" { return true }
      let isWeak = part.hasPrefix("W/")
      if isWeak, comparison == .strong { return false }
      let strong = isWeak ? part.dropFirst(2) : part
      guard strong.hasPrefix(tag.dropLast()) else { return false }
      let rest = strong.dropFirst(tag.count - 1)
      return rest.hasPrefix("\"") || rest.hasPrefix(compressedMark + "\"")
    }
  }
}
