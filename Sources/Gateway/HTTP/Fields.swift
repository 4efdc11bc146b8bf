internal import Notation

/// The members of an object that a client sent: each is read once; one that was not read is refused by its name.
struct Fields {
  private let members: [JSON.Member]
  /// The names that were asked for, also those that the object does not have.
  private var readNames: [String] = []
  /// The object's path in the body, for error texts.
  private let place: String

  init(_ json: JSON, at place: String = "") throws(Problem) {
    guard let members = json.members else {
      let what = place.isEmpty ? "the body" : "'\(place)'"
      throw Problem(
        .invalidParameter, "\(what) is \(json.kind) and must be an object", field: place.isEmpty ? nil : place)
    }
    self.members = members
    self.place = place
    // Allocated once: most objects have so many at most.
    readNames.reserveCapacity(8)
  }

  func path(of name: String) -> String { place.isEmpty ? name : "\(place).\(name)" }

  func wrong(_ name: String, _ sentence: String, rule: String? = nil, limit: Int? = nil) -> Problem {
    Problem(.invalidParameter, "'\(path(of: name))' \(sentence)", field: path(of: name), rule: rule, limit: limit)
  }

  /// Nil where the member is missing; null is a value, and most fields refuse it.
  mutating func value(_ name: String) -> JSON? {
    readNames.append(name)
    return members.first { $0.name == name }?.value
  }

  mutating func text(_ name: String, max: Int = Fields.textBytesMax) throws(Problem) -> String? {
    guard let value = value(name) else { return nil }
    guard let text = value.text else { throw wrong(name, "is \(value.kind) and must be a string") }
    guard text.utf8.count <= max else {
      throw wrong(name, "has \(text.utf8.count) bytes and may have \(max)", rule: "length", limit: max)
    }
    return text
  }

  /// A text or null: nil where the member is missing, and nil within where it is null.
  mutating func textOrNull(_ name: String) throws(Problem) -> String?? {
    guard let value = value(name) else { return nil }
    return value == .null ? .some(nil) : try text(name)
  }

  mutating func needText(_ name: String, max: Int = Fields.textBytesMax) throws(Problem) -> String {
    guard let text = try text(name, max: max) else { throw missing(name) }
    return text
  }

  mutating func bool(_ name: String) throws(Problem) -> Bool? {
    guard let value = value(name) else { return nil }
    guard case .bool(let bool) = value else { throw wrong(name, "is \(value.kind) and must be true or false") }
    return bool
  }

  mutating func integer(_ name: String, in range: ClosedRange<Int64>) throws(Problem) -> Int64? {
    guard let value = value(name) else { return nil }
    guard let integer = value.wholeNumber else { throw wrong(name, "is \(value.kind) and must be a whole number") }
    guard range.contains(integer) else {
      throw wrong(name, "is \(integer) and must be from \(range.lowerBound) to \(range.upperBound)", rule: "range")
    }
    return integer
  }

  /// A number of seconds, whole or not.
  mutating func seconds(_ name: String, max: Double) throws(Problem) -> Duration? {
    guard let value = value(name) else { return nil }
    let seconds: Double
    switch value {
    case .integer(let integer): seconds = Double(integer)
    case .real(let real): seconds = real
    default: throw wrong(name, "is \(value.kind) and must be a number of seconds")
    }
    guard abs(seconds) <= max else {
      throw wrong(name, "may be \(Int(max)) seconds at most", rule: "range", limit: Int(max))
    }
    return .milliseconds(Int64(seconds * 1_000))
  }

  /// One of several words.
  mutating func word<Word: RawRepresentable & CaseIterable>(
    _ name: String, of type: Word.Type = Word.self
  ) throws(Problem) -> Word? where Word.RawValue == String {
    guard let text = try text(name) else { return nil }
    guard let word = Word(rawValue: text) else {
      let words = Word.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
      throw wrong(name, "is \(QuotedText.of(text)) and must be one of \(words)", rule: "oneOf")
    }
    return word
  }

  mutating func texts(_ name: String, max count: Int) throws(Problem) -> [String]? {
    guard let value = value(name) else { return nil }
    guard let list = value.list else { throw wrong(name, "is \(value.kind) and must be a list of strings") }
    guard list.count <= count else {
      throw wrong(name, "has \(list.count) entries and may have \(count)", rule: "count", limit: count)
    }
    var texts: [String] = []
    for value in list {
      guard let text = value.text else { throw wrong(name, "holds \(value.kind) and must hold strings") }
      texts.append(text)
    }
    return texts
  }

  /// An object of strings.
  mutating func dictionary(_ name: String, max count: Int) throws(Problem) -> [String: String]? {
    guard let value = value(name) else { return nil }
    guard let members = value.members else { throw wrong(name, "is \(value.kind) and must be an object of strings") }
    guard members.count <= count else {
      throw wrong(name, "has \(members.count) entries and may have \(count)", rule: "count", limit: count)
    }
    var texts: [String: String] = [:]
    for member in members {
      guard let text = member.value.text else { throw wrong(name, "holds \(member.value.kind) and must hold strings") }
      texts[member.name] = text
    }
    return texts
  }

  mutating func object(_ name: String) throws(Problem) -> Fields? {
    guard let value = value(name) else { return nil }
    return try Fields(value, at: path(of: name))
  }

  /// Bytes: text as it is, or base64 beside `"encoding": "base64"`.
  mutating func bytes(_ name: String, encodedBy encoding: String, max: Int) throws(Problem) -> [UInt8]? {
    let form = try word(encoding, of: Encoding.self) ?? .text
    guard let text = try text(name, max: 4 * max) else { return nil }
    var bytes = Array(text.utf8)
    if form == .base64 {
      guard let decoded = Base64.bytes(text) else { throw wrong(name, "is not base64 with padding", rule: "base64") }
      bytes = decoded
    }
    try needLength(of: bytes, in: name, max: max)
    return bytes
  }

  /// Bytes that are always base64, whether the request says that or not.
  mutating func needBase64(_ name: String, encodedBy encoding: String, max: Int) throws(Problem) -> [UInt8] {
    _ = try word(encoding, of: Base64Only.self)
    guard let bytes = Base64.bytes(try needText(name, max: 4 * max)) else {
      throw wrong(name, "is not base64 with padding", rule: "base64")
    }
    try needLength(of: bytes, in: name, max: max)
    return bytes
  }

  private func needLength(of bytes: [UInt8], in name: String, max: Int) throws(Problem) {
    guard bytes.count <= max else {
      throw wrong(name, "has \(bytes.count) bytes and may have \(max)", rule: "length", limit: max)
    }
  }

  enum Encoding: String, CaseIterable { case text, base64 }
  private enum Base64Only: String, CaseIterable { case base64 }

  func missing(_ name: String) -> Problem { wrong(name, "is missing", rule: "required") }

  /// Refuses all other members; it is called last.
  func end() throws(Problem) {
    if let stranger = members.first(where: { !readNames.contains($0.name) }) {
      let known = Set(readNames).sorted().map { "'\($0)'" }.joined(separator: ", ")
      throw Problem(
        .invalidParameter, "unknown field \(QuotedText.of(path(of: stranger.name))); known fields: \(known)",
        field: path(of: stranger.name), rule: "known")
    }
  }

  static let textBytesMax = 4_096
}

extension JSON {
  /// `2` and `2.0` are one number.
  fileprivate var wholeNumber: Int64? {
    if case .real(let real) = self { Int64(exactly: real) } else { integer }
  }
}
