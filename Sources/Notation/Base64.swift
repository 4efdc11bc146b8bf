/// Base64 of RFC 4648.
public enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  /// For paths and headers, without padding.
  private static let safeAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
  private static let padding = UInt8(ascii: "=")

  // Arrays and no other collections: code of other modules is not specialised here, and a generic loop takes ten times as long.
  public static func text(_ bytes: [UInt8]) -> String {
    var text = encode(bytes, alphabet)
    while text.count % 4 != 0 { text.append(padding) }
    return String(decoding: text, as: UTF8.self)
  }

  public static func safeText(_ bytes: [UInt8]) -> String {
    String(decoding: encode(bytes, safeAlphabet), as: UTF8.self)
  }

  /// With padding, and only as `text` writes it; nil for anything else.
  public static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    bytes(Array(text.utf8)[...])
  }

  /// The same of a text in UTF-8.
  public static func bytes(_ padded: ArraySlice<UInt8>) -> [UInt8]? {
    guard padded.count % 4 == 0 else { return nil }
    let paddingCount = padded.suffix(2).reversed().prefix { $0 == padding }.count
    return decode(padded.dropLast(paddingCount), alphabet)
  }

  /// Without padding, and only as `safeText` writes it; nil for anything else.
  public static func safeBytes(_ text: some StringProtocol) -> [UInt8]? { decode(Array(text.utf8)[...], safeAlphabet) }

  private static func encode(_ bytes: [UInt8], _ alphabet: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var (bits, count) = (UInt32(0), 0)
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 8
      while count >= 6 {
        count -= 6
        text.append(alphabet[Int(bits >> UInt32(count) & 63)])
      }
    }
    if count > 0 { text.append(alphabet[Int(bits << UInt32(6 - count) & 63)]) }
    return text
  }

  private static func decode(_ text: ArraySlice<UInt8>, _ alphabet: [UInt8]) -> [UInt8]? {
    guard text.count % 4 != 1 else { return nil }
    let values = alphabet == safeAlphabet ? safeValues : values
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count * 3 / 4)
    var (bits, count) = (UInt32(0), 0)
    for character in text {
      let value = values[Int(character)]
      guard value < 64 else { return nil }
      bits = bits << 6 | UInt32(value)
      count += 6
      guard count >= 8 else { continue }
      count -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
    }
    // The bits that are left over must be 0, so that equal bytes have equal texts.
    return bits & (1 << UInt32(count) - 1) == 0 ? bytes : nil
  }

  private static let values = inverse(alphabet)
  private static let safeValues = inverse(safeAlphabet)

  private static func inverse(_ alphabet: [UInt8]) -> [UInt8] {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
    return values
  }
}
