/// A value of RFC 8259, with its members in the order in which they were given.
public enum JSON: Sendable, Hashable {
  case null
  case bool(Bool)
  case integer(Int64)
  case real(Double)
  case text(String)
  case list([JSON])
  case object([Member])

  public struct Member: Sendable, Hashable {
    public var name: String
    public var value: JSON

    @inlinable
    public init(_ name: String, _ value: JSON) {
      self.name = name
      self.value = value
    }
  }

  public subscript(name: String) -> JSON? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  public var text: String? {
    if case .text(let text) = self { text } else { nil }
  }

  public var integer: Int64? {
    if case .integer(let integer) = self { integer } else { nil }
  }

  public var list: [JSON]? {
    if case .list(let list) = self { list } else { nil }
  }

  public var members: [Member]? {
    if case .object(let members) = self { members } else { nil }
  }

  /// Clamped to the range of a 64-bit integer.
  public static func number(_ value: some BinaryInteger) -> JSON { .integer(Int64(clamping: value)) }

  /// The kind of the value, for an error message.
  public var kind: String {
    switch self {
    case .null: "null"
    case .bool: "true or false"
    case .integer, .real: "a number"
    case .text: "a string"
    case .list: "a list"
    case .object: "an object"
    }
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByNilLiteral
{
  public init(stringLiteral value: String) { self = .text(value) }
  public init(dictionaryLiteral elements: (String, JSON)...) { self = .object(elements.map { Member($0.0, $0.1) }) }
  public init(arrayLiteral elements: JSON...) { self = .list(elements) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(nilLiteral: ()) { self = .null }
}
