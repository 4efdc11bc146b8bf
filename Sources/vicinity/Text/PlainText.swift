/// Untrusted text, sanitized: without control sequences of a terminal, bidirectional controls, or invisible characters.
enum PlainText {
  /// The text as one line.
  static func line(_ text: String) -> String { safe(text, keepsLines: false) }

  /// A word of the input, shortened for a sentence about it.
  static func brief(_ text: String) -> String { line(text).fitted(to: 60) }

  /// The text as lines; line breaks stay.
  static func lines(_ text: String) -> [String] {
    safe(text, keepsLines: true).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// Bytes as text where they are UTF-8; nil otherwise.
  static func text(of bytes: [UInt8]) -> String? { String(validating: bytes, as: UTF8.self) }

  /// Limit for combining marks: so many on a letter have a meaning in some script; more are there to cover other lines.
  private static let marksMax = 8

  private static func safe(_ text: String, keepsLines: Bool) -> String {
    var result = String.UnicodeScalarView()
    var marks = 0
    var previous: Unicode.Scalar = " "
    for scalar in text.unicodeScalars {
      defer { previous = scalar }
      switch scalar.properties.generalCategory {
      case .nonspacingMark, .enclosingMark:
        marks += 1
        if marks <= marksMax { result.append(scalar) }
        continue
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse:
        // A carriage return and a line feed are one line break.
        if scalar == "\n", previous == "\r", !keepsLines { continue }
        result.append(contentsOf: shown(scalar, keepsLines: keepsLines))
      default:
        result.append(scalar)
      }
      marks = 0
    }
    return String(result)
  }

  private static func shown(_ scalar: Unicode.Scalar, keepsLines: Bool) -> String.UnicodeScalarView {
    switch scalar {
    case "\n": keepsLines ? "\n".unicodeScalars : " ".unicodeScalars
    case "\t": " ".unicodeScalars
    // A carriage return comes before a line feed, or means nothing on a line of its own.
    case "\r": keepsLines ? "".unicodeScalars : " ".unicodeScalars
    // These two joiners connect letters and emoji that belong together.
    case "\u{200C}", "\u{200D}": String(scalar).unicodeScalars
    default: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars
    }
  }
}
