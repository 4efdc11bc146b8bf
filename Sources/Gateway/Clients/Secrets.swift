internal import Media
internal import Notation

/// Random texts: ids, epochs, tokens and pairing codes.
enum Secrets {
  private static let lowerAlphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
  /// Letters and digits without those that are mistaken for others.
  private static let codeAlphabet = Array("ABCDEFGHJKMNPQRSTUVWXYZ23456789".utf8)

  /// An unguessable id, of 80 bits.
  static func id() -> String { text(OpenSSLCrypto.randomBytes(16).map { lowerAlphabet[Int($0 & 31)] }) }

  static func isEpochByte(_ byte: UInt8) -> Bool { lowerAlphabet.contains(byte) }

  static func epoch() -> String { text(OpenSSLCrypto.randomBytes(8).map { lowerAlphabet[Int($0 & 31)] }) }

  /// A token of 256 bits, with a mark by which people and programs that look for leaked secrets know it.
  static func token() -> String { "vct_" + Base64.safeText(OpenSSLCrypto.randomBytes(32)) }

  static let codeLength = 8

  /// A code of almost 40 bits that is easy to say and to type.
  static func pairingCode() -> String {
    var code: [UInt8] = []
    while code.count < codeLength {
      // 248 is the largest multiple of the alphabet's 31: larger bytes would favour its beginning.
      for byte in OpenSSLCrypto.randomBytes(codeLength) where byte < 248 && code.count < codeLength {
        code.append(codeAlphabet[Int(byte) % codeAlphabet.count])
      }
    }
    return text(code)
  }

  /// The code as people type it, in any case, with spaces and dashes anywhere, in one form.
  static func normalized(code: String) -> String { code.uppercased().filter { $0 != "-" && $0 != " " } }

  static func shown(code: String) -> String { "\(code.prefix(4))-\(code.suffix(4))" }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
