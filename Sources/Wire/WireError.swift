/// Bytes from a peer, or a value from a caller, that break a rule of docs/protocol.md.
public struct WireError: Error, Hashable, Sendable {
  public let rule: Rule

  @inlinable
  public init(_ rule: Rule) { self.rule = rule }

  /// The rule that was broken, and the value that broke it.
  public enum Rule: Hashable, Sendable {
    case truncated
    case trailingBytes(count: Int)
    case varintTooLong
    case varintNotMinimal
    case numberOverLimit(field: String, value: UInt64, max: UInt64)
    case numberUnderLimit(field: String, value: UInt64, min: UInt64)
    case lengthOverLimit(field: String, value: UInt64, max: Int)
    case lengthUnderLimit(field: String, value: Int, min: Int)
    case wrongLength(field: String, value: Int, expected: Int)
    case unknownType(UInt8)
    case unknownFlags(field: String, value: UInt8)
    case unknownValue(field: String, value: UInt8)
    case unsupportedVersion(UInt8)
    case connectionDataVersion(UInt8)
    case notAscending(field: String)
    case invalidUTF8(field: String)

    case identifierNotBase32(String)
    case serviceTypeEmpty
    case serviceTypeTooLong(bytes: Int)
    case serviceTypeCharacter(byte: UInt8)
    case serviceTypeWithoutLetter
    case serviceTypeHyphen
    case displayNameEmpty
    case displayNameTooLong(bytes: Int)
    case displayNameBlank
    case discoveryPairsOverLimit(count: Int)
    case discoveryKeyEmpty
    case discoveryKeyCharacter(key: String, byte: UInt8)
    case discoveryPairTooLong(key: String, bytes: Int)
    case discoveryInfoTooLong(bytes: Int)
    case contentTypeTooLong(bytes: Int)
    case contentTypeCharacter(byte: UInt8)
    case contentTypeForm
  }
}

extension WireError: CustomStringConvertible {
  /// The fault, the limit, and what to do.
  public var description: String {
    switch rule {
    case .truncated:
      "The frame's body ends inside a field; send every field of the frame."
    case .trailingBytes(let count):
      "The frame's body has \(count) bytes after its last field; send none."
    case .varintTooLong:
      "A varint does not fit 64 bits; it may have at most \(Limits.varintBytesMax) bytes."
    case .varintNotMinimal:
      "A varint is longer than its number needs; use the shortest form."
    case .numberOverLimit(let field, let value, let max):
      "\(field) is \(value), over its maximum of \(max); send a smaller number."
    case .numberUnderLimit(let field, let value, let min):
      "\(field) is \(value), under its minimum of \(min); send a larger number."
    case .lengthOverLimit(let field, let value, let max):
      "\(field) has a length of \(value), over its maximum of \(max); shorten it."
    case .lengthUnderLimit(let field, let value, let min):
      "\(field) has a length of \(value), under its minimum of \(min); fill it."
    case .wrongLength(let field, let value, let expected):
      "\(field) has \(value) bytes; it must have exactly \(expected)."
    case .unknownType(let type):
      "Frame type \(type) is not known; send only the types of protocol version \(Hello.version)."
    case .unknownFlags(let field, let value):
      "\(field) has unknown flags set in \(value); leave them 0."
    case .unknownValue(let field, let value):
      "\(field) is \(value), which has no meaning; use one of the named values."
    case .unsupportedVersion(let version):
      "Protocol version \(version) is not supported; speak version \(Hello.version)."
    case .connectionDataVersion(let version):
      "Connection data of version \(version) are not known here; both programs need to know version \(ConnectionData.version)."
    case .notAscending(let field):
      "\(field) is not in strictly ascending order; sort it and name nothing twice."
    case .invalidUTF8(let field):
      "\(field) is not valid UTF-8; send well-formed text."
    case .identifierNotBase32(let text):
      "“\(text)” is not an identifier: it must be \(ID128.textLength) characters of a–z and 2–7, as it was shown."
    case .serviceTypeEmpty:
      "The service type is empty; it needs 1 to \(Limits.serviceTypeBytesMax) characters."
    case .serviceTypeTooLong(let bytes):
      "The service type has \(bytes) bytes; at most \(Limits.serviceTypeBytesMax) are allowed, so shorten it."
    case .serviceTypeCharacter(let byte):
      "The service type holds \(Self.shown(byte)); only a–z, 0–9 and hyphen are allowed."
    case .serviceTypeWithoutLetter:
      "The service type has no letter; it needs at least one of a–z."
    case .serviceTypeHyphen:
      "The service type has a hyphen at an end or beside another; put each between letters or digits."
    case .displayNameEmpty:
      "The display name is empty; it needs 1 to \(Limits.displayNameBytesMax) bytes of UTF-8."
    case .displayNameTooLong(let bytes):
      "The display name has \(bytes) bytes of UTF-8; at most \(Limits.displayNameBytesMax) are allowed, so shorten it."
    case .displayNameBlank:
      "The display name holds nothing that can be seen; give it a letter, a digit or a sign at least."
    case .discoveryPairsOverLimit(let count):
      "The discovery info has \(count) pairs; at most \(Limits.discoveryPairsMax) are allowed."
    case .discoveryKeyEmpty:
      "A discovery info key is empty; name every value."
    case .discoveryKeyCharacter(let key, let byte):
      "The discovery info key “\(key)” holds \(Self.shown(byte)); only printable ASCII without “=” is allowed."
    case .discoveryPairTooLong(let key, let bytes):
      "The discovery info “\(key)=…” has \(bytes) bytes; at most \(Limits.discoveryPairBytesMax) are allowed, so shorten its value."
    case .discoveryInfoTooLong(let bytes):
      "The discovery info has \(bytes) bytes in all; at most \(Limits.discoveryInfoBytesMax) are allowed, so say less."
    case .contentTypeTooLong(let bytes):
      "The content type has \(bytes) bytes; at most \(Limits.contentTypeBytesMax) are allowed, so leave parameters out."
    case .contentTypeCharacter(let byte):
      "The content type holds \(Self.shown(byte)); only printable ASCII is allowed."
    case .contentTypeForm:
      "The content type is none; name a type and a subtype, such as text/plain or image/png."
    }
  }

  private static func shown(_ byte: UInt8) -> String {
    (0x21...0x7E).contains(byte) ? "“\(Character(UnicodeScalar(byte)))”" : byte == 0x20 ? "a space" : "the byte \(byte)"
  }
}
