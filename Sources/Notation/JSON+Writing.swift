extension JSON {
  /// On one line. Control characters are escaped, so that a terminal can show it.
  public var line: String { String(decoding: bytes, as: UTF8.self) }

  /// The same as bytes.
  public var bytes: [UInt8] {
    var output: [UInt8] = []
    write(to: &output)
    return output
  }

  /// A list of values that are encoded already.
  public static func list(ofWritten values: some Sequence<[UInt8]>) -> [UInt8] {
    var list = [UInt8(ascii: "[")]
    for value in values {
      if list.count > 1 { list.append(UInt8(ascii: ",")) }
      list += value
    }
    list.append(UInt8(ascii: "]"))
    return list
  }

  public func write(to output: inout [UInt8]) {
    switch self {
    case .null: output.append(contentsOf: "null".utf8)
    case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
    case .integer(let value): Self.write(Int(value), to: &output)
    case .real(let value): output.append(contentsOf: (value.isFinite ? "\(value)" : "null").utf8)
    case .text(let value): Self.write(value, to: &output)
    case .list(let values):
      output.append(UInt8(ascii: "["))
      for (place, value) in values.enumerated() {
        if place > 0 { output.append(UInt8(ascii: ",")) }
        value.write(to: &output)
      }
      output.append(UInt8(ascii: "]"))
    case .object(let members):
      output.append(UInt8(ascii: "{"))
      for (place, member) in members.enumerated() {
        if place > 0 { output.append(UInt8(ascii: ",")) }
        Self.write(member.name, to: &output)
        output.append(UInt8(ascii: ":"))
        member.value.write(to: &output)
      }
      output.append(UInt8(ascii: "}"))
    }
  }

  public static func write(_ integer: Int, to output: inout [UInt8]) {
    // A short text is no allocation.
    output.append(contentsOf: String(integer).utf8)
  }

  /// A text with its quotes.
  public static func write(_ text: String, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    // The buffer does not leave the closure: safe.
    let isPlain =
      unsafe text.utf8.withContiguousStorageIfAvailable { unsafe Self.isPlain($0) } ?? Self.isPlain(text.utf8)
    if isPlain {
      output.append(contentsOf: text.utf8)
    } else {
      for scalar in text.unicodeScalars { write(scalar, to: &output) }
    }
    output.append(UInt8(ascii: "\""))
  }

  /// Whether all of it is ASCII without escapes.
  @inlinable
  public static func isPlain(_ bytes: some Sequence<UInt8>) -> Bool {
    // Without an early exit, so that many bytes are tested at once.
    var others: UInt8 = 0
    for byte in bytes {
      others |= byte &- 0x20 > 0x5e ? 1 : 0
      others |= byte == UInt8(ascii: "\"") ? 1 : 0
      others |= byte == UInt8(ascii: "\\") ? 1 : 0
    }
    return others == 0
  }

  private static func write(_ scalar: Unicode.Scalar, to output: inout [UInt8]) {
    switch scalar {
    case "\"": output.append(contentsOf: "\\\"".utf8)
    case "\\": output.append(contentsOf: "\\\\".utf8)
    case "\n": output.append(contentsOf: "\\n".utf8)
    case "\r": output.append(contentsOf: "\\r".utf8)
    case "\t": output.append(contentsOf: "\\t".utf8)
    default:
      if isQuiet(scalar) { return output.append(contentsOf: String(scalar).utf8) }
      for unit in String(scalar).utf16 {
        output.append(contentsOf: "\\u".utf8)
        for shift in stride(from: 12, through: 0, by: -4) { output.append(hexDigits[Int(unit >> UInt16(shift)) & 15]) }
      }
    }
  }

  private static let hexDigits = Array("0123456789abcdef".utf8)

  private static func isQuiet(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: false
    default: !scalar.properties.isNoncharacterCodePoint
    }
  }
}
