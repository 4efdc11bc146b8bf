/// Percent-encoding of RFC 3986, for the parts of a path or a query.
enum Percent {
  private static let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
  private static let digits = Array("0123456789ABCDEF".utf8)

  /// The encoded path of these segments.
  static func encode(_ path: [String]) -> String { path.map(encode).joined(separator: "/") }

  static func encode(_ text: String) -> String {
    var encoded: [UInt8] = []
    for byte in text.utf8 {
      if plain.contains(byte) {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}
