internal import Glibc

/// A parser of request heads; its input may be incomplete.
///
/// Invariants: nothing is ambiguous, and unknown syntax is refused. Each byte is looked at a bounded number of times,
/// however the bytes are split.
struct HeadParser {
  enum Outcome {
    case incomplete
    case whole(RawHead, byteCount: Int)
    case refused(WebFault)
  }

  private let bytesMax: Int
  private let fieldsMax: Int
  /// The number of first bytes in which no head ends.
  private var searched = 0

  init(_ limits: WebLimits) {
    bytesMax = limits.headBytesMax
    fieldsMax = limits.headerFieldsMax
  }

  /// Parses all bytes that have come so far, each time from the first.
  mutating func parse(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    do throws(WebFault) {
      guard let end = try end(in: bytes) else { return .incomplete }
      return .whole(try head(UnsafeRawBufferPointer(rebasing: bytes[..<end])), byteCount: end)
    } catch {
      return .refused(error)
    }
  }

  /// The position past the empty line; nil where that has not come. The bytes are all that have come, from the first.
  mutating func end(in bytes: UnsafeRawBufferPointer, isOfTrailers: Bool = false) throws(WebFault) -> Int? {
    if let first = bytes.first, !first.isTokenByte, first != .carriageReturn {
      throw WebFault(400, "This is not an HTTP request: a request line begins with a method such as GET.")
    }
    // A request may have one empty line before it (RFC 9112 §2.2).
    let start = bytes.first == .carriageReturn ? 2 : 0
    var index = max(searched, start)
    while let feed = bytes.firstLineFeed(from: index) {
      guard feed > 0, bytes[feed - 1] == .carriageReturn else { throw Self.bareLineFeed }
      index = feed + 1
      if feed >= start + 3, bytes[feed - 2] == .lineFeed {
        if index > bytesMax { throw tooLarge(bytes, isOfTrailers: isOfTrailers) }
        return index
      }
    }
    searched = bytes.count
    if bytes.count >= bytesMax { throw tooLarge(bytes, isOfTrailers: isOfTrailers) }
    return nil
  }

  /// The search begins anew, with the next head.
  mutating func restart() { searched = 0 }

  private func tooLarge(_ bytes: UnsafeRawBufferPointer, isOfTrailers: Bool) -> WebFault {
    if !isOfTrailers, bytes.firstLineFeed(from: 2) ?? bytesMax >= bytesMax {
      return WebFault(
        414, "The request line has more than \(bytesMax) bytes: use a shorter request target.", rule: "headBytes",
        limit: bytesMax)
    }
    return WebFault(
      431, "The request line and header section have more than \(bytesMax) bytes: send fewer or shorter fields.",
      rule: "headBytes", limit: bytesMax)
  }

  /// Parses a whole head, with its empty line.
  func head(_ bytes: UnsafeRawBufferPointer) throws(WebFault) -> RawHead {
    var raw = RawHead()
    var lines = Lines(rest: bytes[...])
    var line = try lines.next()
    if line.isEmpty { line = try lines.next() }
    (raw.method, raw.target, raw.version) = try Self.line(line)
    raw.headers = try Self.fields(&lines, countMax: fieldsMax)
    return raw
  }

  /// Checks the trailers behind the last chunk of a body, with their empty line, by the same rules; they are dropped.
  func checkTrailers(_ bytes: UnsafeRawBufferPointer) throws(WebFault) {
    var lines = Lines(rest: bytes[...])
    let fields = try Self.fields(&lines, countMax: fieldsMax)
    try Head.checkFields(fields)
    for name in ["Content-Length", "Transfer-Encoding", "Host"] where fields.count(name) > 0 {
      throw WebFault(400, "The field \(name) is not allowed in the trailer section: leave it out.")
    }
  }

  /// The method, target and version of a request line.
  static func line(_ line: Slice<UnsafeRawBufferPointer>) throws(WebFault) -> (String, String, String) {
    let words = line.split(separator: .space, omittingEmptySubsequences: false)
    guard words.count == 3 else {
      throw WebFault(
        400, "The request line is not a method, a request target and an HTTP version, separated by single spaces.")
    }
    return (try text(words[0]), try text(words[1]), try text(words[2]))
  }

  private static func fields(_ lines: inout Lines, countMax: Int) throws(WebFault) -> Headers {
    var headers = Headers()
    var count = 0
    while true {
      let line = try lines.next()
      if line.isEmpty { return headers }
      count += 1
      guard count <= countMax else {
        throw WebFault(
          431, "The request has more than \(countMax) header fields: send fewer.", rule: "headFields", limit: countMax)
      }
      guard let first = line.first, first != .space, first != .tab else {
        throw WebFault(
          400, "A field value is folded over two lines (obs-fold), which is obsolete: send it in one line.")
      }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
        throw WebFault(400, "A field line has no colon: send field name, colon and field value.")
      }
      let (name, value) = (try text(line[..<colon]), try text(line[(colon + 1)...]))
      // A tab may stand there, and some parsers then read another value.
      if value.utf8.contains(.tab), isSame(name, "Transfer-Encoding") || isSame(name, "Content-Length") {
        throw WebFault(400, "The value of \(name) has a tab: send a space.")
      }
      headers.append(name, value.trimmed)
    }
  }

  private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) throws(WebFault) -> String {
    guard bytes.allSatisfy(\.isValueByte) else {
      throw WebFault(400, "The request line or a header field has a control character: leave it out.")
    }
    // Bytes that are not UTF-8 may stand in a value, and have no meaning here.
    return String(decoding: bytes, as: UTF8.self)
  }

  static let bareLineFeed = WebFault(
    400, "A line ends with a bare LF or CR: end each line with CRLF.")

  private struct Lines {
    var rest: Slice<UnsafeRawBufferPointer>

    /// The next line, without its line end.
    mutating func next() throws(WebFault) -> Slice<UnsafeRawBufferPointer> {
      guard let feed = rest.firstIndex(of: .lineFeed), feed > rest.startIndex, rest[feed - 1] == .carriageReturn else {
        throw HeadParser.bareLineFeed
      }
      defer { rest = rest[(feed + 1)...] }
      return rest[..<(feed - 1)]
    }
  }
}

extension UnsafeRawBufferPointer {
  func firstLineFeed(from start: Int) -> Int? {
    guard start < count, let baseAddress else { return nil }
    return memchr(baseAddress + start, CInt(UInt8.lineFeed), count - start).map { UnsafeRawPointer($0) - baseAddress }
  }
}

extension UInt8 {
  static let tab: UInt8 = 0x09
  static let lineFeed: UInt8 = 0x0a
  static let carriageReturn: UInt8 = 0x0d
  static let space: UInt8 = 0x20
}
