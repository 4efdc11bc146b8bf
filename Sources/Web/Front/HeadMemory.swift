internal import Glibc

/// What a connection asked last, to know it again: most requests of one connection say the same headers, and many say all
/// the same.
///
/// Law: what is known again was found sound to its last byte; of anything else, all is read and checked anew.
struct HeadMemory {
  /// A known head, and the request that the library is told in its place.
  struct Known {
    let head: Head
    let request: [UInt8]
  }

  private(set) var last: Known?
  /// The last head as it came, and where its headers begin: with the version, and the space before it.
  private var bytes: [UInt8] = []
  private var fieldsStart = 0

  /// Longer ones are read anew each time, so that idle connections are cheap.
  private static let bytesMax = 2 << 10
  private static let versionBytes = " HTTP/1.1\r\n".utf8.count

  /// How long the last head is, where these bytes begin with it.
  func count(in bytes: UnsafeRawBufferPointer) -> Int? {
    guard last != nil, bytes.count >= self.bytes.count else { return nil }
    let isSame = self.bytes.withUnsafeBytes {
      isSameBytes($0, UnsafeRawBufferPointer(rebasing: bytes.prefix($0.count)))
    }
    return isSame ? self.bytes.count : nil
  }

  /// The request's line, where all behind it, with the version, is what it was.
  func line(of bytes: UnsafeRawBufferPointer) -> Slice<UnsafeRawBufferPointer>? {
    let count = self.bytes.count - fieldsStart
    guard last != nil, bytes.count > count else { return nil }
    let start = bytes.count - count
    let isSame = self.bytes.withUnsafeBytes {
      isSameBytes(
        UnsafeRawBufferPointer(rebasing: $0[fieldsStart...]), UnsafeRawBufferPointer(rebasing: bytes[start...]))
    }
    // What is the same begins in the first line: no other line ends before it.
    guard isSame, bytes.firstLineFeed(from: 0) == start + Self.versionBytes - 1 else { return nil }
    return bytes[..<(start + Self.versionBytes - 2)]
  }

  mutating func keep(_ known: Known, of bytes: UnsafeRawBufferPointer) {
    guard bytes.count <= Self.bytesMax, let feed = bytes.firstLineFeed(from: 2) else {
      last = nil
      self.bytes = []
      return
    }
    last = known
    // An empty line before it is none of its own.
    let own = bytes[(bytes.first == .carriageReturn ? 2 : 0)...]
    self.bytes = Array(own)
    fieldsStart = feed + 1 - Self.versionBytes - own.startIndex
  }
}

private func isSameBytes(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
  guard one.count == other.count, let here = one.baseAddress, let there = other.baseAddress else { return false }
  return memcmp(here, there, one.count) == 0
}
