internal import Wire

extension Peer {
  /// Throws an error with a remedy for a name that a local peer may not have: it has 1 to 63 bytes of UTF-8, no control
  /// character, and something visible.
  ///
  /// A name from elsewhere has to be a `DisplayName` only: it is escaped where it is shown.
  public static func check(name: String) throws(NearbyError) {
    if let scalar = name.unicodeScalars.first(where: \.breaksLine) {
      throw NearbyError(
        .invalidParameter,
        "The display name holds the control character \(scalar.codePoint); use letters, digits, signs and spaces only.")
    }
    do throws(WireError) {
      _ = try DisplayName(name)
      guard name.unicodeScalars.contains(where: \.canBeSeen) else { throw WireError(.displayNameBlank) }
    } catch {
      throw NearbyError(error)
    }
  }
}

extension Unicode.Scalar {
  /// A control character (C0, C1), or one that ends a line or a paragraph.
  fileprivate var breaksLine: Bool {
    switch properties.generalCategory {
    case .control, .lineSeparator, .paragraphSeparator: true
    default: false
    }
  }

  /// Whether it is visible where a font has it, without a base character. Some blanks count as letters or signs.
  fileprivate var canBeSeen: Bool {
    switch properties.generalCategory {
    case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator, .nonspacingMark, .enclosingMark: false
    default: !properties.isDefaultIgnorableCodePoint && self != Self.blankBraille
    }
  }

  private static let blankBraille: Unicode.Scalar = "\u{2800}"

  /// In the usual notation, U+000A.
  fileprivate var codePoint: String {
    let digits = String(value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
