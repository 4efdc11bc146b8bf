/// A property by which the items of a collection can be filtered.
struct Facet: Sendable, ExpressibleByStringLiteral {
  let name: String
  /// All its values; nil where it may be any text.
  let allowedValues: [String]?

  /// A facet whose value may be any text.
  init(stringLiteral name: String) { (self.name, allowedValues) = (name, nil) }

  init(_ name: String, _ words: [String]) { (self.name, self.allowedValues) = (name, words) }

  init<Word: RawRepresentable & CaseIterable>(_ name: String, of type: Word.Type) where Word.RawValue == String {
    self.init(name, Word.allCases.map(\.rawValue))
  }

  static func boolean(_ name: String) -> Facet { Facet(name, ["true", "false"]) }

  /// A part of a name, whatever the case; its values are in lower case.
  static let name: Facet = "name"

  static let direction = Facet("direction", ["incoming", "outgoing"])

  /// The value to filter by; nil where the call names none.
  func value(in call: Call) throws(Problem) -> String? {
    guard let value = try call.parameter(name) else { return nil }
    if name == Self.name.name { return value.lowercased() }
    guard let allowedValues, !allowedValues.contains(value) else { return value }
    throw Problem(
      .invalidParameter,
      "'\(name)' is \(QuotedText.of(value)) and must be one of \(allowedValues.map { "'\($0)'" }.joined(separator: ", "))",
      field: name, rule: "oneOf")
  }
}
