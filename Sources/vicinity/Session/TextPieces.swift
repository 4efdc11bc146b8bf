/// A splitter for bytes in pieces; it splits them again at boundaries of text.
struct TextPieces {
  private var kept: [UInt8] = []
  /// A longer line is shown in parts.
  private static let lineBytesMax = 4 << 10

  /// The bytes before an incomplete character; pieces that are no text pass unchanged.
  mutating func characters(_ piece: [UInt8]) -> [[UInt8]] {
    kept += piece
    let whole = kept.count - Self.unfinished(kept)
    if whole == 0 { return [] }
    defer { kept.removeFirst(whole) }
    return [Array(kept.prefix(whole))]
  }

  /// The complete lines in printable form.
  mutating func lines(_ piece: [UInt8]) -> [String] {
    kept += piece
    var lines: [String] = []
    while true {
      let head = kept.prefix(Self.lineBytesMax)
      if let end = head.firstIndex(of: UInt8(ascii: "\n")) {
        lines += Self.shown(Array(kept[..<end]))
        kept.removeFirst(end + 1)
      } else if kept.count >= Self.lineBytesMax {
        let whole = head.count - Self.unfinished(Array(head))
        lines += Self.shown(Array(kept.prefix(whole)))
        kept.removeFirst(whole)
      } else {
        return lines
      }
    }
  }

  mutating func rest() -> [UInt8] {
    defer { kept = [] }
    return kept
  }

  static func shown(_ bytes: [UInt8]) -> [String] {
    [PlainText.line(String(decoding: bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes[...], as: UTF8.self))]
  }

  /// The number of bytes at the end that begin a character and do not complete it.
  private static func unfinished(_ bytes: [UInt8]) -> Int {
    for back in 1...3 where back <= bytes.count {
      let byte = bytes[bytes.count - back]
      if byte & 0xC0 == 0x80 { continue }
      let length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1
      return length > back ? back : 0
    }
    return 0
  }
}
