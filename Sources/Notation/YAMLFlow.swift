/// A value on one line of YAML: a text, or a list or map in brackets.
struct YAMLFlow {
  private(set) var rest: ArraySlice<UInt8>
  private let line: Int
  private var depth = 0

  init(_ text: ArraySlice<UInt8>, line: Int) {
    rest = text
    self.line = line
  }

  mutating func whole() throws(NotationError) -> JSON {
    let value = try value()
    let after = rest.trimmedAtStart
    // A comment begins behind a space.
    if after.isEmpty || after.first == UInt8(ascii: "#") && after.startIndex > rest.startIndex { return value }
    throw error("there is more behind the value: put a text with ': ' or ' #' into quotes")
  }

  /// A name and its colon; nil where there is none.
  mutating func key() throws(NotationError) -> String? {
    let name: String
    if let first = rest.first, Self.isQuote(first) {
      name = try quoted()
    } else {
      name = String(decoding: plainText(), as: UTF8.self)
      if name.isEmpty { return nil }
    }
    guard rest.first == UInt8(ascii: ":"), rest.count == 1 || rest[rest.startIndex + 1] == .space else { return nil }
    rest = rest.dropFirst()
    return name
  }

  private func error(_ what: String) -> NotationError { NotationError(what: what, place: line, unit: .line) }

  private mutating func take(_ character: Character) -> Bool {
    guard rest.first == character.asciiValue else { return false }
    rest = rest.dropFirst()
    return true
  }

  private mutating func value() throws(NotationError) -> JSON {
    switch rest.first {
    case UInt8(ascii: "["): return try list()
    case UInt8(ascii: "{"): return try map()
    case UInt8(ascii: "\""), UInt8(ascii: "'"): return .text(try quoted())
    case let first? where Self.isMark(first):
      throw error("no text begins with '\(Character(Unicode.Scalar(first)))': put it into quotes")
    default: return try plain()
    }
  }

  private mutating func list() throws(NotationError) -> JSON {
    try deeper()
    rest = rest.dropFirst().trimmedAtStart
    var values: [JSON] = []
    while !take("]") {
      values.append(try value())
      try separate(before: "]")
    }
    depth -= 1
    return .list(values)
  }

  private mutating func map() throws(NotationError) -> JSON {
    try deeper()
    rest = rest.dropFirst().trimmedAtStart
    var members: [JSON.Member] = []
    while !take("}") {
      guard let name = try key() else { throw error("a name with ':' should be within '{' and '}'") }
      if members.contains(where: { $0.name == name }) { throw error("the name '\(name)' is there twice") }
      rest = rest.trimmedAtStart
      members.append(JSON.Member(name, try value()))
      try separate(before: "}")
    }
    depth -= 1
    return .object(members)
  }

  private mutating func deeper() throws(NotationError) {
    depth += 1
    if depth > JSON.depthMax { throw error("it is nested deeper than \(JSON.depthMax) levels") }
  }

  private mutating func separate(before end: Character) throws(NotationError) {
    rest = rest.trimmedAtStart
    if rest.isEmpty { throw error("'\(end)' is missing: a list or map in brackets ends on its line") }
    if rest.first == end.asciiValue { return }
    guard take(",") else { throw error("a comma or '\(end)' should be here") }
    rest = rest.trimmedAtStart
    if rest.first == end.asciiValue { throw error("there is nothing behind the last comma") }
  }

  // MARK: Texts

  private mutating func quoted() throws(NotationError) -> String {
    let quote = rest.removeFirst()
    var taken: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == quote {
        guard quote == UInt8(ascii: "'"), take("'") else { return try text(taken, quote) }
      } else if byte == UInt8(ascii: "\\"), quote == UInt8(ascii: "\""), let escaped = rest.popFirst() {
        taken += [byte, escaped]
        continue
      }
      taken.append(byte)
    }
    throw error("the text in quotes does not end on its line")
  }

  /// The escapes are those of JSON.
  private func text(_ bytes: [UInt8], _ quote: UInt8) throws(NotationError) -> String {
    if quote == UInt8(ascii: "'") { return String(decoding: bytes, as: UTF8.self) }
    guard case .text(let text)? = try? JSON(parsing: [quote] + bytes + [quote]) else {
      throw error("the text in quotes has an escape that nobody knows")
    }
    return text
  }

  /// Up to a colon or comment, and within brackets up to a separator.
  private mutating func plainText() -> ArraySlice<UInt8> {
    if let first = rest.first, Self.isMark(first) { return [] }
    var end = rest.startIndex
    while end < rest.endIndex {
      let (byte, next) = (rest[end], end + 1 < rest.endIndex ? rest[end + 1] : nil)
      if byte == UInt8(ascii: ":"), next == nil || next == .space || depth > 0 && next.map(Self.isFlowMark) == true {
        break
      }
      if byte == .space, next == UInt8(ascii: "#") { break }
      if depth > 0, Self.isFlowMark(byte) { break }
      end += 1
    }
    let text = rest[..<end].trimmedAtEnd
    rest = rest[text.endIndex...]
    return text
  }

  /// A byte with a special meaning at the beginning of a text.
  private static func isMark(_ byte: UInt8) -> Bool { "&*!%@`|>,[]{}#".utf8.contains(byte) }
  private static func isQuote(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") }

  private static func isFlowMark(_ byte: UInt8) -> Bool { ",[]{}".utf8.contains(byte) }

  private mutating func plain() throws(NotationError) -> JSON {
    let bytes = plainText()
    let text = String(decoding: bytes, as: UTF8.self)
    switch text {
    case "null": return .null
    case "true": return .bool(true)
    case "false": return .bool(false)
    case "": throw error("a value is missing")
    default: break
    }
    if let number = try? JSON(parsing: Array(bytes)), number.kind == "a number" { return number }
    if Self.isDoubtful(text) { throw error("'\(text)' is not the same to all readers: put it into quotes") }
    return .text(text)
  }

  /// A word that some version of YAML reads as a number, a boolean or null.
  private static func isDoubtful(_ text: String) -> Bool {
    if ["~", "null", "true", "false", "yes", "no", "on", "off", "y", "n"].contains(text.lowercased()) { return true }
    var digits = text[...]
    if let sign = digits.first, sign == "+" || sign == "-" || sign == "." { digits = digits.dropFirst() }
    guard let first = digits.first, first.isASCII, first.isNumber || digits.lowercased() == "inf" else { return false }
    return digits.allSatisfy { $0.isHexDigit || "_:.xoXO".contains($0) } && digits.count(where: { $0 == "." }) < 2
  }
}
