/// RFC 4648, with padding.
enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func text(_ bytes: some Collection<UInt8>) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var (bits, count) = (UInt32(0), 0)
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      count += 1
      guard count == 3 else { continue }
      for shift in [18, 12, 6, 0] { text.append(alphabet[Int(bits >> UInt32(shift) & 63)]) }
      (bits, count) = (0, 0)
    }
    if count > 0 {
      bits <<= UInt32(8 * (3 - count))
      for place in 0...3 {
        text.append(place <= count ? alphabet[Int(bits >> UInt32(18 - 6 * place) & 63)] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}
