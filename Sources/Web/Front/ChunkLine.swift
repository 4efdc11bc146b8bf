/// The line before a chunk of a body: its size, and extensions, which are ignored (RFC 9112 §7.1).
///
/// Parsing is strict: a line with a space, an empty or unquoted extension, or a bare line feed at its end is refused.
enum ChunkLine {
  /// The size in a line without its line end.
  static func size(_ line: Slice<UnsafeRawBufferPointer>) throws(WebFault) -> Int {
    let digits = line.prefix { $0.hexDigit != nil }
    guard !digits.isEmpty, digits.count <= 16 else { throw fault }
    var size: UInt64 = 0
    for digit in digits { size = size << 4 | UInt64(digit.hexDigit ?? 0) }
    guard size <= UInt64(Int.max) else { throw fault }
    var rest = line[digits.endIndex...]
    while !rest.isEmpty {
      guard rest.removeFirst() == UInt8(ascii: ";"), dropToken(&rest) else { throw fault }
      guard rest.first == UInt8(ascii: "=") else { continue }
      rest.removeFirst()
      guard rest.first == UInt8(ascii: "\"") ? dropQuoted(&rest) : dropToken(&rest) else { throw fault }
    }
    return Int(size)
  }

  private static func dropToken(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Bool {
    let token = rest.prefix(while: \.isTokenByte)
    rest = rest[token.endIndex...]
    return !token.isEmpty
  }

  private static func dropQuoted(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Bool {
    rest.removeFirst()
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return true }
      if !byte.isValueByte { return false }
      if byte == UInt8(ascii: "\\"), rest.popFirst()?.isValueByte != true { return false }
    }
    return false
  }

  static let fault = WebFault(
    400, "The chunk size is invalid: send hexadecimal digits alone, without a chunk extension.")
}
