internal import Glibc

/// The last head of a connection, for comparison with the next: most requests of one connection have the same headers,
/// and many are identical.
///
/// Invariant: a head that is recognized was validated, byte for byte; any other is parsed and checked anew.
struct HeadCache {
  /// A known head, and the request that the library gets in its place.
  struct Entry {
    let head: Head
    let request: [UInt8]
  }

  private(set) var last: Entry?
  /// The last head as it came, and the position at which its headers begin: the space before the version.
  private var bytes: [UInt8] = []
  private var fieldsStart = 0

  /// Longer heads are parsed anew each time, so that idle connections are cheap.
  private static let bytesMax = 2 << 10
  private static let versionBytes = " HTTP/1.1\r\n".utf8.count

  /// The length of the last head, where these bytes begin with it.
  func count(in bytes: UnsafeRawBufferPointer) -> Int? {
    guard last != nil, bytes.count >= self.bytes.count else { return nil }
    let isSame = self.bytes.withUnsafeBytes {
      isSameBytes($0, UnsafeRawBufferPointer(rebasing: bytes.prefix($0.count)))
    }
    return isSame ? self.bytes.count : nil
  }

  /// The request line, where everything behind it, with the version, equals the last head.
  func line(of bytes: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer>? {
    let count = self.bytes.count - fieldsStart
    guard last != nil, bytes.count > count else { return nil }
    let start = bytes.count - count
    let isSame = self.bytes.withUnsafeBytes {
      isSameBytes(
        UnsafeRawBufferPointer(rebasing: $0[fieldsStart...]), UnsafeRawBufferPointer(rebasing: bytes[start...]))
    }
    // The equal part begins in the first line: no other line ends before it.
    guard isSame, bytes.firstLineFeed(from: 0) == start + Self.versionBytes - 1 else { return nil }
    return bytes[..<(start + Self.versionBytes - 2)]
  }

  mutating func keep(_ known: Entry, of bytes: UnsafeRawBufferPointer) {
    guard bytes.count <= Self.bytesMax, let feed = bytes.firstLineFeed(from: 2) else {
      last = nil
      self.bytes = []
      return
    }
    last = known
    // An empty line before the head is not part of it.
    let own = bytes[(bytes.first == .carriageReturn ? 2 : 0)...]
    self.bytes = Array(own)
    fieldsStart = feed + 1 - Self.versionBytes - own.startIndex
  }
}

private func isSameBytes(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
  guard one.count == other.count, let here = one.baseAddress, let there = other.baseAddress else { return false }
  return memcmp(here, there, one.count) == 0
}
