internal import Notation

extension JSON.Member {
  static func text(_ name: String, _ value: String) -> Self { .init(name, .text(value)) }
  static func text(_ name: String, _ value: some CustomStringConvertible) -> Self { .text(name, value.description) }
  static func number(_ name: String, _ value: some BinaryInteger) -> Self { .init(name, .number(value)) }
  static func bool(_ name: String, _ value: Bool) -> Self { .init(name, .bool(value)) }
  static func list(_ name: String, _ values: [String]) -> Self { .init(name, .list(values.map(JSON.text))) }

  /// Bytes of a peer: under one name as text where they are UTF-8, else under another in base64.
  static func bytes(_ name: String, _ bytes: [UInt8]) -> Self {
    if let text = PlainText.text(of: bytes) { return .text(name, text) }
    return .text("base64", Base64.text(bytes))
  }
}
