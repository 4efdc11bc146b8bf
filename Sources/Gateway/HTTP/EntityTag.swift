/// By which a state of a thing is known again (RFC 9110).
enum EntityTag: Hashable, Sendable, CustomStringConvertible {
  /// Of what is numbered: it changes when the thing does.
  case position(Position)
  case text(String)

  var description: String {
    switch self {
    case .position(let position): "\"\(position)\""
    case .text(let text): "\"\(text)\""
    }
  }

  /// Whether a header that lists tags, or a star for all, means this one as it is written.
  static func match(_ header: String?, _ tag: String) -> Bool {
    guard let header else { return false }
    return header.split(separator: ",").contains { part in
      let part = part.drop { $0 == " " || $0 == "\t" }
      if part.first == "*" { return true }
      let strong = part.hasPrefix("W/") ? part.dropFirst(2) : part
      return strong.prefix(tag.count) == tag
    }
  }
}
