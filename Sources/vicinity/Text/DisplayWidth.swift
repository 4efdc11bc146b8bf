/// The display width of text in columns of a terminal.
enum DisplayWidth {
  static func of(_ text: some StringProtocol) -> Int { text.reduce(0) { $0 + of($1) } }

  static func of(_ character: Character) -> Int {
    var width = 0
    for scalar in character.unicodeScalars {
      // The variation selector that requests the emoji form.
      if scalar == "\u{FE0F}" { width = 2 }
      width = max(width, of(scalar))
    }
    return width
  }

  private static func of(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    if scalar.value < 0x1100 { return 1 }
    return scalar.properties.isEmojiPresentation || wide.contains { $0.contains(scalar.value) } ? 2 : 1
  }

  /// East Asian Wide and Fullwidth, in blocks.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x17000...0x18CFF, 0x1B000...0x1B2FF,
    0x20000...0x3FFFD,
  ]
}

extension StringProtocol {
  /// The text truncated to so many columns, with an ellipsis for the rest.
  func fitted(to columns: Int) -> String {
    if DisplayWidth.of(self) <= columns { return String(self) }
    guard columns > 0 else { return "" }
    var (width, kept) = (0, "")
    for character in self {
      let more = DisplayWidth.of(character)
      if width + more > columns - 1 { break }
      width += more
      kept.append(character)
    }
    return kept + "…"
  }

  /// The text padded with spaces to so many columns.
  func padded(to columns: Int) -> String {
    self + String(repeating: " ", count: Swift.max(0, columns - DisplayWidth.of(self)))
  }

  /// The text wrapped at spaces to lines of so many columns at most; a single longer word is broken anywhere.
  func wrapped(to columns: Int, indent: Int = 0) -> [String] {
    let room = Swift.max(8, columns - indent)
    var lines = [""]
    for word in split(separator: " ") {
      var word = String(word)
      let last = lines[lines.count - 1]
      if !last.isEmpty {
        if DisplayWidth.of(last) + 1 + DisplayWidth.of(word) <= room {
          lines[lines.count - 1] += " " + word
          continue
        }
        lines.append("")
      }
      while DisplayWidth.of(word) > room {
        var width = 0
        let head = word.prefix {
          width += DisplayWidth.of($0)
          return width <= room
        }
        lines[lines.count - 1] = String(head)
        lines.append("")
        word = String(word[head.endIndex...])
      }
      lines[lines.count - 1] = word
    }
    let margin = String(repeating: " ", count: indent)
    return lines.enumerated().map { $0 == 0 || $1.isEmpty ? $1 : margin + $1 }
  }
}
