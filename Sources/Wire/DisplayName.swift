/// A peer's name for people: 1 to 63 bytes of UTF-8, not of white space only. It identifies nobody, and is equal only
/// byte for byte.
public struct DisplayName: Part, CustomStringConvertible {
  public let text: String
  public var description: String { text }

  public init(_ text: String) throws(WireError) {
    let count = text.utf8.count
    guard count > 0 else { throw WireError(.displayNameEmpty) }
    guard count <= Limits.displayNameBytesMax else { throw WireError(.displayNameTooLong(bytes: count)) }
    guard text.unicodeScalars.contains(where: { !$0.properties.isWhitespace }) else {
      throw WireError(.displayNameBlank)
    }
    self.text = text
  }

  /// Advice for the peer when this is too long to be seen whole.
  public var warning: String? {
    let count = text.utf8.count
    guard count > Limits.displayNameBytesAdvised else { return nil }
    return "The name has \(count) bytes; over \(Limits.displayNameBytesAdvised) others may see only its beginning. "
      + "Choose a shorter one."
  }

  // String compares by canonical equivalence, which would take two different names on the wire for one.
  public static func == (a: DisplayName, b: DisplayName) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }
  public func hash(into hasher: inout Hasher) { text.utf8.hash(into: &hasher) }

  public init(from reader: inout Reader) throws(WireError) {
    try self.init(try reader.text("display name", max: Limits.displayNameBytesMax))
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(text: text, max: Limits.displayNameBytesMax)
  }
}

extension String.UTF8View {
  /// Byte for byte, with the length first so that neighbours cannot run together.
  func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    // A UInt8 has no padding to show, and the buffer does not leave the closure.
    unsafe span.bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
  }
}
