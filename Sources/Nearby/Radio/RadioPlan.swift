/// A network that is to be made.
package struct RadioPlan: Hashable, Sendable {
  /// Channel 1, which is allowed everywhere.
  package static let frequency = 2412
  package static let meshName = "vicinity"
  static let nameBytesMax = 32
  /// As WPA2 and WPA3 have it.
  package static let passwordBytes = 8...63
  package static let frequencies = 2400...7125

  package let kind: RadioNetwork.Kind
  /// The radio's name; nil for the first that can do it.
  package var radio: String?
  /// The mesh's name. That of a group is made up: `DIRECT-`, two characters and `-vicinity`.
  package var name = meshName
  /// The mesh's password; nil for an open one. That of a group is made up.
  package var password: String?
  package var frequency = Self.frequency
  /// Whether a connection in use may be dropped for it.
  package var isForced = false

  package init(_ kind: RadioNetwork.Kind) { self.kind = kind }

  func check() throws(RadioError) {
    guard (1...Self.nameBytesMax).contains(name.utf8.count), Self.isPlain(name) else {
      throw .invalid(
        "name", rule: "meshName",
        "The name of a mesh has 1 to \(Self.nameBytesMax) bytes, no quotes and no control characters.")
    }
    if let password {
      guard Self.passwordBytes.contains(password.utf8.count), Self.isPlain(password) else {
        throw .invalid(
          "password", rule: "meshPassword", "A password has 8 to 63 bytes, no quotes and no control characters.")
      }
    }
    guard Self.frequencies.contains(frequency) else {
      throw .invalid("frequency", "A frequency is the middle of a channel in MHz, such as 2412 or 5180.")
    }
  }

  /// wpa_supplicant puts a text in quotes, and reads it up to the last one.
  private static func isPlain(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0 != "\"" }
  }
}
