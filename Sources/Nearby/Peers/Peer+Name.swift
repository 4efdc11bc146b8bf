internal import Wire

extension Peer {
  /// Throws what is wrong with a name that is given here, and what to do, where it cannot be one: it has 1 to 63 bytes of
  /// UTF-8, no control character, and something in it that can be seen.
  ///
  /// A name that comes from elsewhere has to be a `DisplayName` only: it is shown so that it does no harm.
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

  /// Where a font has it, and without another one to stand on. Some blanks count as letters or signs.
  fileprivate var canBeSeen: Bool {
    switch properties.generalCategory {
    case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator, .nonspacingMark, .enclosingMark: false
    default: !properties.isDefaultIgnorableCodePoint && self != Self.blankBraille
    }
  }

  private static let blankBraille: Unicode.Scalar = "\u{2800}"

  /// As people write it, U+000A.
  fileprivate var codePoint: String {
    let digits = String(value, radix: 16, uppercase: true)
    return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
