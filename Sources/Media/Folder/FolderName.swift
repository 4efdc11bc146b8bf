internal import Wire

/// The names of a host's files in a shared folder: a socket, and a record with the suffix `.record`, both of the host's
/// ID and a number that each start draws anew.
struct FolderName: Hashable, Sendable {
  let host: HostID
  let nonce: UInt32

  static let recordSuffix = ".record"
  /// A record that is being written.
  static let draftSuffix = ".draft"

  var socket: String { "\(host.text).\(nonceText)" }
  var record: String { socket + Self.recordSuffix }
  var draft: String { socket + Self.draftSuffix }
  var nonceText: String {
    let digits = String(nonce, radix: 16)
    return String(repeating: "0", count: Self.nonceDigits - digits.count) + digits
  }

  private static let nonceDigits = 8

  init(_ host: HostID, nonce: UInt32) {
    self.host = host
    self.nonce = nonce
  }

  /// Reads the name of a file with this suffix; nil for every other name.
  init?(_ text: String, suffix: String) {
    guard text.hasSuffix(suffix) else { return nil }
    let parts = text.dropLast(suffix.count).split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let host = try? HostID(text: String(parts[0])), let nonce = Self.nonce(parts[1]) else {
      return nil
    }
    self.init(host, nonce: nonce)
  }

  /// Takes only the one text that `nonceText` gives.
  static func nonce(_ text: Substring) -> UInt32? {
    guard text.utf8.count == nonceDigits, text.utf8.allSatisfy({ digits.contains($0) }) else { return nil }
    return UInt32(text, radix: 16)
  }

  private static let digits = Array("0123456789abcdef".utf8)
}
