/// Reads the first head of a connection from bytes that may not be all of it.
///
/// Laws: it reads nothing in two ways, and what it does not know is refused. It looks at each byte a bounded number of
/// times, however they come.
struct HeadParser {
  enum Outcome {
    case incomplete
    case whole(RawHead, byteCount: Int)
    case refused(WebFault)
  }

  private let bytesMax: Int
  private let fieldsMax: Int
  /// No head ends in so many bytes.
  private var searched = 0

  init(_ limits: WebLimits) {
    bytesMax = limits.headBytesMax
    fieldsMax = limits.headerFieldsMax
  }

  /// All bytes that have come so far, each time from the first.
  mutating func parse(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    if let first = bytes.first, !first.isTokenByte, first != .carriageReturn {
      return .refused(WebFault(400, "What came is no HTTP: a request begins with a method such as GET."))
    }
    guard let end = end(in: bytes) else {
      if bytes.count < bytesMax { return .incomplete }
      return .refused(tooLarge)
    }
    if end > bytesMax { return .refused(tooLarge) }
    do throws(WebFault) {
      return .whole(try head(UnsafeRawBufferPointer(rebasing: bytes[..<end])), byteCount: end)
    } catch {
      return .refused(error)
    }
  }

  private var tooLarge: WebFault {
    WebFault(
      431, "The request's line and headers have more than \(bytesMax) bytes: send fewer or shorter ones.",
      rule: "headBytes", limit: bytesMax)
  }

  /// Past the empty line.
  private mutating func end(in bytes: UnsafeRawBufferPointer) -> Int? {
    // A request may have one empty line before it (RFC 9112 §2.2).
    let start = max(searched - 3, bytes.first == .carriageReturn ? 2 : 0)
    searched = bytes.count
    return RequestHead.end(in: bytes, from: start)
  }

  private func head(_ bytes: UnsafeRawBufferPointer) throws(WebFault) -> RawHead {
    var raw = RawHead()
    var lines = Lines(rest: bytes[...])
    var line = try lines.next()
    if line.isEmpty { line = try lines.next() }
    let words = line.split(separator: .space, omittingEmptySubsequences: false)
    guard words.count == 3 else {
      throw WebFault(
        400, "The first line of the request is not method, target and version with one space between them.")
    }
    raw.method = try Self.text(words[0])
    raw.target = try Self.text(words[1])
    raw.version = try Self.text(words[2])
    var count = 0
    while true {
      let line = try lines.next()
      if line.isEmpty { return raw }
      count += 1
      guard count <= fieldsMax else {
        throw WebFault(
          431, "The request has more than \(fieldsMax) headers: send fewer.", rule: "headFields", limit: fieldsMax)
      }
      guard let first = line.first, first != .space, first != .tab else {
        throw WebFault(400, "A header goes on in a second line, which is long out of use: send it in one line.")
      }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
        throw WebFault(400, "A header has no colon: write its name, a colon and its value.")
      }
      raw.headers.append(try Self.text(line[..<colon]), try Self.text(line[(colon + 1)...]).trimmed)
    }
  }

  private static func text(_ bytes: Slice<UnsafeRawBufferPointer>) throws(WebFault) -> String {
    guard bytes.allSatisfy(\.isValueByte) else {
      throw WebFault(400, "The request's line or headers have a control character: leave it out.")
    }
    // What is no UTF-8 may stand in a value, and means nothing to anybody here.
    return String(decoding: bytes, as: UTF8.self)
  }

  private struct Lines {
    var rest: Slice<UnsafeRawBufferPointer>

    /// Without its end.
    mutating func next() throws(WebFault) -> Slice<UnsafeRawBufferPointer> {
      guard let feed = rest.firstIndex(of: .lineFeed), feed > rest.startIndex, rest[feed - 1] == .carriageReturn else {
        throw WebFault(400, "A line of the request ends without carriage return and line feed: end each with both.")
      }
      defer { rest = rest[(feed + 1)...] }
      return rest[..<(feed - 1)]
    }
  }
}

extension UInt8 {
  static let tab: UInt8 = 0x09
  static let lineFeed: UInt8 = 0x0a
  static let carriageReturn: UInt8 = 0x0d
  static let space: UInt8 = 0x20
}
