/// A client's text in a form that is safe in a sentence.
enum QuotedText {
  private static let lengthMax = 80

  static func of(_ text: String) -> String {
    "'\(text.unicodeScalars.prefix(lengthMax).map { $0.properties.generalCategory == .control ? "\u{fffd}" : String($0) }.joined())'"
  }
}
