/// The header fields of a message in their order; names are case-insensitive.
package struct Headers: Sendable {
  package struct Field: Hashable, Sendable {
    package let name: String
    package let value: String
  }

  package private(set) var fields: [Field] = []

  package init() {}

  /// The value of the first field of that name.
  package subscript(_ name: String) -> String? {
    fields.first { isSame($0.name, name) }?.value
  }

  package func all(_ name: String) -> [String] {
    fields.filter { isSame($0.name, name) }.map(\.value)
  }

  package func count(_ name: String) -> Int {
    fields.count { isSame($0.name, name) }
  }

  /// Reserves room for this many more fields.
  package mutating func reserve(_ count: Int) { fields.reserveCapacity(fields.count + count) }

  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Whether a field that is a comma-separated list contains this word, case-insensitively.
  func lists(_ word: String, in name: String) -> Bool {
    all(name).contains { value in
      value.split(separator: ",").contains { isSame(String($0).trimmed, word) }
    }
  }
}

/// Whether two ASCII texts are equal, case-insensitively.
func isSame(_ one: String, _ other: String) -> Bool {
  // Most differ in length, or are equal letter by letter.
  if one.utf8.count != other.utf8.count { return false }
  return one == other || zip(one.utf8, other.utf8).allSatisfy { $0.lowercased == $1.lowercased }
}

extension UInt8 {
  /// The lowercase form of an ASCII letter; any other byte as it is.
  var lowercased: UInt8 { (0x41...0x5a).contains(self) ? self | 0x20 : self }

  /// A byte of a token (RFC 9110 §5.6.2).
  package var isTokenByte: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(self)
    }
  }

  /// A byte of a field value (RFC 9110 §5.5).
  var isValueByte: Bool { self >= 0x20 && self != 0x7f || self == 0x09 }
}

extension String {
  /// The text without spaces and tabs at both ends.
  var trimmed: String {
    func isSpace(_ byte: UInt8?) -> Bool { byte == 0x20 || byte == 0x09 }
    if !isSpace(utf8.first), !isSpace(utf8.last) { return self }
    var rest = Substring(self)
    while isSpace(rest.utf8.first) { rest.removeFirst() }
    while isSpace(rest.utf8.last) { rest.removeLast() }
    return String(rest)
  }
}
