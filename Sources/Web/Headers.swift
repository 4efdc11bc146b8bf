/// The header fields of a message in their order; names are the same whatever their case.
package struct Headers: Sendable {
  package struct Field: Sendable {
    package let name: String
    package let value: String
  }

  package private(set) var fields: [Field] = []

  package init() {}

  /// The value of the first field of that name.
  package subscript(_ name: String) -> String? {
    fields.first { Self.isSame($0.name, name) }?.value
  }

  package func all(_ name: String) -> [String] {
    fields.filter { Self.isSame($0.name, name) }.map(\.value)
  }

  package mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  private static func isSame(_ one: String, _ other: String) -> Bool {
    one.utf8.count == other.utf8.count && zip(one.utf8, other.utf8).allSatisfy { $0.lowercased == $1.lowercased }
  }
}

extension UInt8 {
  /// Of an ASCII letter; any other byte as it is.
  var lowercased: UInt8 { (0x41...0x5a).contains(self) ? self | 0x20 : self }
}
