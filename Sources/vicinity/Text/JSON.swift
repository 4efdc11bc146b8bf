/// A value of RFC 8259, with its members in the order in which they were given.
///
/// All that a terminal might obey is written as an escape, so that a line can be looked at as it is.
enum JSON: Sendable, Equatable {
  case null
  case bool(Bool)
  case number(UInt64)
  case text(String)
  case list([JSON])
  case object([Member])

  struct Member: Sendable, Equatable {
    let name: String
    let value: JSON
  }

  var line: String {
    var text = ""
    write(into: &text)
    return text
  }

  private func write(into text: inout String) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .number(let value): text += String(value)
    case .text(let value): Self.write(value, into: &text)
    case .list(let values):
      text += "["
      for (place, value) in values.enumerated() {
        if place > 0 { text += "," }
        value.write(into: &text)
      }
      text += "]"
    case .object(let members):
      text += "{"
      for (place, member) in members.enumerated() {
        if place > 0 { text += "," }
        Self.write(member.name, into: &text)
        text += ":"
        member.value.write(into: &text)
      }
      text += "}"
    }
  }

  private static func write(_ value: String, into text: inout String) {
    text += "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      default: text += isQuiet(scalar) ? String(scalar) : escape(scalar)
      }
    }
    text += "\""
  }

  private static func isQuiet(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: false
    default: true
    }
  }

  private static func escape(_ scalar: Unicode.Scalar) -> String {
    String(scalar).utf16.map { unit in
      let digits = String(unit, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }.joined()
  }
}

extension JSON {
  /// Bytes of a peer: under one name as text where they are UTF-8, else under another in base64.
  static func bytes(_ bytes: [UInt8], as name: String) -> Member {
    if let text = PlainText.text(of: bytes) { return Member(name: name, value: .text(text)) }
    return Member(name: "base64", value: .text(Base64.text(bytes)))
  }
}
