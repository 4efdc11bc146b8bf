/// An error in a text, with its place.
public struct NotationError: Error, Hashable, Sendable, CustomStringConvertible {
  public let what: String
  /// The number of bytes before it.
  public let place: Int

  public var description: String { "\(what), at byte \(place)" }
}

extension JSON {
  /// Deeper than anybody writes, and not so deep that the stack overflows.
  public static let depthMax = 64

  /// Accepts RFC 8259 and no more: UTF-8, one value, no name twice in an object.
  public init(parsing bytes: [UInt8]) throws(NotationError) {
    var reader = JSONReader(bytes: bytes)
    self = try reader.whole()
  }

  public init(parsing text: String) throws(NotationError) {
    try self.init(parsing: Array(text.utf8))
  }
}

private struct JSONReader {
  let bytes: [UInt8]
  var place = 0
  var depth = 0

  init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  mutating func whole() throws(NotationError) -> JSON {
    let value = try value()
    skipSpace()
    if place < bytes.count { throw error("there is more after the value") }
    return value
  }

  private func error(_ what: String) -> NotationError { NotationError(what: what, place: place) }

  private var next: UInt8? { place < bytes.count ? bytes[place] : nil }

  private mutating func skipSpace() {
    while let next, next == 0x20 || next == 0x0a || next == 0x0d || next == 0x09 { place += 1 }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    place += 1
    return true
  }

  private mutating func value() throws(NotationError) -> JSON {
    skipSpace()
    guard let next else { throw error("the text ends where a value should be") }
    switch next {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return try list()
    case UInt8(ascii: "\""): return .text(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    default: throw error("no value begins like this")
    }
  }

  private mutating func word(_ word: String, _ value: JSON) throws(NotationError) -> JSON {
    guard bytes[place...].starts(with: word.utf8) else { throw error("no value begins like this") }
    place += word.utf8.count
    return value
  }

  private mutating func object() throws(NotationError) -> JSON {
    try deeper()
    place += 1
    var members: [JSON.Member] = []
    var names = Names()
    skipSpace()
    if take("}") { return shallower(.object([])) }
    members.reserveCapacity(Self.fewMembers)
    while true {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw error("a name in quotes should be here") }
      let name = try string()
      if !names.insert(name, into: members) { throw error("the name '\(name)' is there twice") }
      skipSpace()
      if !take(":") { throw error("a colon should be here") }
      members.append(JSON.Member(name, try value()))
      skipSpace()
      if take("}") { return shallower(.object(members)) }
      if !take(",") { throw error("a comma or the end of the object should be here") }
    }
  }

  /// Room for the members of most objects, so that it is allocated once.
  private static let fewMembers = 4

  private mutating func list() throws(NotationError) -> JSON {
    try deeper()
    place += 1
    var values: [JSON] = []
    skipSpace()
    if take("]") { return shallower(.list([])) }
    while true {
      values.append(try value())
      skipSpace()
      if take("]") { return shallower(.list(values)) }
      if !take(",") { throw error("a comma or the end of the list should be here") }
    }
  }

  private mutating func deeper() throws(NotationError) {
    depth += 1
    if depth > JSON.depthMax { throw error("it is nested deeper than \(JSON.depthMax) levels") }
  }

  private mutating func shallower(_ value: JSON) -> JSON {
    depth -= 1
    return value
  }

  private mutating func number() throws(NotationError) -> JSON {
    let start = place
    var isWhole = true
    _ = take("-")
    if !take("0") { try digits() }
    if take(".") {
      isWhole = false
      try digits()
    }
    if take("e") || take("E") {
      isWhole = false
      if !take("+") { _ = take("-") }
      try digits()
    }
    let text = String(decoding: bytes[start..<place], as: UTF8.self)
    if isWhole, let integer = Int64(text) { return .integer(integer) }
    guard let real = Double(text), real.isFinite else { throw error("the number \(text) is too large") }
    return .real(real)
  }

  private mutating func digits() throws(NotationError) {
    let start = place
    while let next, next >= UInt8(ascii: "0"), next <= UInt8(ascii: "9") { place += 1 }
    if place == start { throw error("a digit should be here") }
  }

  private mutating func string() throws(NotationError) -> String {
    place += 1
    let start = place
    skipPlain()
    // Most strings have no escapes, and are copied as they are.
    if take("\"") { return try text(bytes[start..<place - 1]) }
    var taken = Array(bytes[start..<place])
    while true {
      guard let next else { throw error("the text ends within a string") }
      if next < 0x20 { throw error("a control character in a string must be escaped") }
      place += 1
      switch next {
      case UInt8(ascii: "\""): return try text(taken)
      case UInt8(ascii: "\\"): taken.append(contentsOf: String(try escape()).utf8)
      default: taken.append(next)
      }
    }
  }

  /// Moves to the first byte that ends a string, or has a meaning of its own in it.
  private mutating func skipPlain() {
    var end = place
    while end < bytes.count {
      let byte = bytes[end]
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
      end += 1
    }
    place = end
  }

  private func text(_ taken: some Collection<UInt8>) throws(NotationError) -> String {
    guard let text = String(validating: taken, as: UTF8.self) else { throw error("the string is not UTF-8") }
    return text
  }

  private mutating func escape() throws(NotationError) -> Unicode.Scalar {
    guard let next else { throw error("the text ends within an escape") }
    place += 1
    switch next {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{c}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try unicode()
    default: throw error("no escape looks like this")
    }
  }

  private mutating func unicode() throws(NotationError) -> Unicode.Scalar {
    let unit = try hex()
    if let scalar = Unicode.Scalar(unit) { return scalar }
    guard unit < 0xdc00, take("\\"), take("u") else { throw error("half of a surrogate pair stands alone") }
    let low = try hex()
    guard low >= 0xdc00, low < 0xe000,
      let scalar = Unicode.Scalar(0x10000 + (unit - 0xd800) << 10 + (low - 0xdc00))
    else { throw error("half of a surrogate pair stands alone") }
    return scalar
  }

  private mutating func hex() throws(NotationError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let next, let digit = Character(Unicode.Scalar(next)).hexDigitValue, next < 0x80 else {
        throw error("four hexadecimal digits should be here")
      }
      value = value << 4 | UInt32(digit)
      place += 1
    }
    return value
  }
}

/// The names of an object's members: few are searched linearly, many are hashed.
private struct Names {
  private static let fewMax = 8
  private var many: Set<String> = []

  /// Whether it is a new name.
  mutating func insert(_ name: String, into members: [JSON.Member]) -> Bool {
    if members.count < Self.fewMax { return !members.contains { $0.name == name } }
    if many.isEmpty { many = Set(members.map(\.name)) }
    return many.insert(name).inserted
  }
}
