internal import Media
internal import Notation
internal import Synchronization

/// Random texts: ids, epochs, tokens and pairing codes.
enum Secrets {
  private static let lowerAlphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
  /// Letters and digits without those that are mistaken for others.
  private static let codeAlphabet = Array("ABCDEFGHJKMNPQRSTUVWXYZ23456789".utf8)

  /// An unguessable id, of 80 bits.
  static func id() -> String { id(of: 16) }

  /// An id of a message, of 75 bits. Its fifteen bytes need no memory of their own.
  static func messageID() -> String { id(of: 15) }

  private static func id(of count: Int) -> String {
    pool.withLock { $0.take(count) { text($0.map { lowerAlphabet[Int($0 & 31)] }) } }
  }

  private static let pool = Mutex(RandomPool())

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

/// Random bytes for ids, of which each message has one: thousands are drawn together. Each byte is used once. Secrets,
/// such as tokens and codes, are drawn by themselves.
private struct RandomPool {
  private static let size = 4_096

  private var bytes: [UInt8] = []
  private var left = 0

  mutating func take<Result>(_ count: Int, _ body: (ArraySlice<UInt8>) -> Result) -> Result {
    if left < count {
      bytes = OpenSSLCrypto.randomBytes(Self.size)
      left = bytes.count
    }
    left -= count
    return body(bytes[left..<left + count])
  }
}
