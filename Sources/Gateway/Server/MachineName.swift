internal import Glibc

/// The names by which others on a network know this machine.
enum MachineName {
  /// The host name alone, for mDNS, and with its domain where it has one.
  static var all: [String] {
    var bytes = [CChar](repeating: 0, count: 256)
    guard gethostname(&bytes, bytes.count - 1) == 0 else { return [] }
    let letters = bytes.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }
    let name = String(decoding: letters, as: UTF8.self).lowercased()
    let short = String(name.prefix { $0 != "." })
    return (name.contains(".") ? [short, "\(short).local", name] : [short, "\(short).local"]).filter(isSound)
  }

  /// Whether a name is valid by RFC 1123; others cannot be in a certificate.
  static func isSound(_ name: String) -> Bool {
    let letters = Set("abcdefghijklmnopqrstuvwxyz0123456789-")
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    return name.utf8.count <= 253
      && labels.allSatisfy { (1...63).contains($0.count) && $0.allSatisfy(letters.contains) }
  }
}
