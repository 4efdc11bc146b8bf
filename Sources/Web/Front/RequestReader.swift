/// A reader of all requests of one connection; it passes each to the library in the shortest form that means the same.
///
/// Invariants:
/// - No byte of a client reaches the library but content. Each head and the framing of each body is parsed here, in one
///   way; the library only learns that there is a request, whether it is a HEAD, how its body is framed, and whether
///   the connection is kept alive. The handler gets the head from here.
/// - Invalid input ends the reading. The library gets a request, or the end of the body, in its place, and its callback
///   then asks `fault(ofRequest:)`: so the refusal goes out behind all earlier responses.
/// - A request for a WebSocket ends the reading, too: the bytes behind it are left as they came.
/// - The reader keeps the beginning of a head or of a line, the bytes that the library has not taken, and few heads.
///   Each of these has a limit, and each byte is looked at a bounded number of times.
final class RequestReader {
  private enum State {
    case head
    /// In a content of which so many bytes are still to come.
    case content(Int)
    /// Before the first piece of a content of so many bytes whose rest goes past the library.
    case longContent(Int)
    /// Behind that piece; so many bytes are still to come.
    case bypassed(Int)
    case chunkLine
    case chunk(Int)
    /// Behind a chunk's bytes.
    case chunkEnd
    case trailers
    /// At a request for a WebSocket, which ends the reading.
    case upgraded
    /// In input that is dropped after a refusal: so many bytes have been.
    case refused(Int)
  }

  private let origin: Origin
  private let bypass: Bypass?
  private let chunkLineBytesMax: Int
  private var parser: HeadParser
  private var cache = HeadCache()
  private var state = State.head
  /// Bytes that have come and are not parsed yet.
  private var unparsed: [UInt8] = []
  /// Bytes for the library, from `outputStart` on.
  private var output: [UInt8] = []
  private var outputStart = 0
  /// The heads of requests that were passed to the library, until the handler asks for them.
  private var heads: [Head] = []
  private var requestCount = 0
  private var refusal: WebFault?

  /// Limit for pipelined requests that are read ahead of the one that is answered.
  private static let headsAheadMax = 8
  /// Limit for the bytes that a refused client may still send, so that it gets the refusal.
  private static let droppedBytesMax = 256 << 10

  /// With a bypass, long contents go past the library.
  init(from origin: Origin, _ limits: WebLimits, _ bypass: Bypass? = nil) {
    self.origin = origin
    self.bypass = bypass
    chunkLineBytesMax = limits.chunkLineBytesMax
    parser = HeadParser(limits)
  }

  // MARK: The client's side

  /// Whether more is to be read from the client.
  var isReading: Bool {
    switch state {
    case .head: !isHeldBack
    case .content, .longContent, .chunkLine, .chunk, .chunkEnd, .trailers: true
    case .bypassed, .upgraded: false
    case .refused(let count): count < Self.droppedBytesMax
    }
  }

  /// Whether the client may still be sending a request that is not read to its end, or was refused.
  var isWithinRequest: Bool {
    switch state {
    case .head, .upgraded: false
    case .content, .longContent, .bypassed, .chunkLine, .chunk, .chunkEnd, .trailers, .refused: true
    }
  }

  /// Whether a pipelined request waits in it until earlier ones are answered.
  private(set) var isHeldBack = false

  func read(_ bytes: UnsafeRawBufferPointer) {
    if unparsed.isEmpty {
      let count = parse(bytes)
      if count < bytes.count { unparsed = Array(bytes[count...]) }
    } else {
      unparsed += bytes
      parseKept()
    }
  }

  private func parseKept() {
    let all = unparsed
    unparsed = []
    let count = all.withUnsafeBytes { parse($0) }
    unparsed = count == 0 ? all : Array(all[count...])
  }

  /// The bytes still to come of a content that goes past the library, until it has ended.
  var bypassBytesLeft: Int? {
    if case .bypassed(let left) = state { left } else { nil }
  }

  /// So many bytes of it have come.
  func countBypassed(_ count: Int) {
    guard case .bypassed(let left) = state else { preconditionFailure("nothing goes past the library") }
    state = .bypassed(left - count)
  }

  /// All of it was taken.
  func endBypass() {
    state = .head
    bypass?.end()
    emit("0\r\n\r\n")
  }

  /// Hands over the bytes that were not read, to the code that takes over the connection.
  func takeRest() -> [UInt8] {
    defer { unparsed = [] }
    return unparsed
  }

  // MARK: The library's side

  /// Moves bytes for the library into the room and returns their number.
  func takeOutput(into room: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(room.count, output.count - outputStart)
    output.withUnsafeBytes { room.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[outputStart...].prefix(count))) }
    outputStart += count
    if outputStart == output.count { clearOutput() }
    return count
  }

  func writeOutput(_ take: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    defer { clearOutput() }
    return output.isEmpty || output.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0[outputStart...])) }
  }

  private func clearOutput() {
    outputStart = 0
    // An idle connection keeps little memory.
    output.removeAll(keepingCapacity: output.count <= 256)
  }

  /// The head of the next request that was passed to the library; nil where there is only a fault in its place.
  func nextHead() -> Head? {
    heads.isEmpty ? nil : heads.removeFirst()
  }

  /// There is room for requests that were held back.
  func resume() {
    guard isHeldBack, heads.count < Self.headsAheadMax else { return }
    isHeldBack = false
    parseKept()
  }

  /// The reason why this request, counted from 1, cannot be read to its end.
  func fault(ofRequest number: Int) -> WebFault? { number == requestCount ? refusal : nil }

  /// Whether this is the last head and would be recognized.
  func knows(_ head: Head) -> Bool { cache.last?.head === head }

  // MARK: Reading

  /// Parses bytes and returns the number of those that are done with.
  private func parse(_ bytes: UnsafeRawBufferPointer) -> Int {
    var at = 0
    do throws(WebFault) {
      while at < bytes.count {
        let rest = UnsafeRawBufferPointer(rebasing: bytes[at...])
        guard let count = try step(rest) else { break }
        at += count
      }
    } catch {
      refuse(error)
      return bytes.count
    }
    return at
  }

  /// Parses the first element of the bytes and returns its length, or nil where more has to come, or has to wait.
  private func step(_ bytes: UnsafeRawBufferPointer) throws(WebFault) -> Int? {
    switch state {
    case .head:
      isHeldBack = heads.count >= Self.headsAheadMax
      return isHeldBack ? nil : try head(bytes)
    case .content(let left):
      let count = min(left, bytes.count)
      emit(bytes.prefix(count))
      state = left == count ? .head : .content(left - count)
      return count
    case .longContent(let left):
      // The first piece is shorter than the content.
      emit(chunk: bytes)
      bypass?.begin(after: bytes.count)
      state = .bypassed(left - bytes.count)
      return bytes.count
    case .chunkLine:
      guard let feed = try line(in: bytes, bytesMax: chunkLineBytesMax, or: ChunkLine.fault) else { return nil }
      let size = try ChunkLine.size(bytes[..<(feed - 1)])
      state = size == 0 ? .trailers : .chunk(size)
      return feed + 1
    case .chunk(let left):
      let count = min(left, bytes.count)
      emit(chunk: UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
      state = left == count ? .chunkEnd : .chunk(left - count)
      return count
    case .chunkEnd:
      guard bytes[0] == .carriageReturn, bytes.count < 2 || bytes[1] == .lineFeed else {
        throw WebFault(400, "The chunk data is longer than the chunk size: end it with CRLF.")
      }
      if bytes.count < 2 { return nil }
      state = .chunkLine
      return 2
    case .trailers:
      guard let count = try trailers(bytes) else { return nil }
      emit("0\r\n\r\n")
      state = .head
      return count
    case .bypassed: preconditionFailure("what goes past the library is not read for it")
    case .upgraded: return nil
    case .refused(let count):
      state = .refused(count + bytes.count)
      return bytes.count
    }
  }

  /// The position of the line feed that ends the line.
  private func line(
    in bytes: UnsafeRawBufferPointer, bytesMax: Int, or tooLong: WebFault
  ) throws(WebFault) -> Int? {
    let room = UnsafeRawBufferPointer(rebasing: bytes.prefix(bytesMax))
    if let feed = room.firstLineFeed(from: 0) {
      guard feed > 0, room[feed - 1] == .carriageReturn else { throw HeadParser.bareLineFeed }
      return feed
    }
    if bytes.count >= bytesMax { throw tooLong }
    return nil
  }

  private func trailers(_ bytes: UnsafeRawBufferPointer) throws(WebFault) -> Int? {
    if bytes[0] == .carriageReturn {
      if bytes.count < 2 { return nil }
      guard bytes[1] == .lineFeed else { throw HeadParser.bareLineFeed }
      return 2
    }
    guard let end = try parser.end(in: bytes, isOfTrailers: true) else { return nil }
    parser.restart()
    try parser.checkTrailers(UnsafeRawBufferPointer(rebasing: bytes[..<end]))
    return end
  }

  private func head(_ bytes: UnsafeRawBufferPointer) throws(WebFault) -> Int? {
    if let known = cache.last, let count = cache.count(in: bytes) {
      parser.restart()
      begin(known)
      return count
    }
    guard let end = try parser.end(in: bytes) else { return nil }
    parser.restart()
    let bytes = UnsafeRawBufferPointer(rebasing: bytes[..<end])
    let head: Head
    if let last = cache.last?.head, let line = cache.line(of: bytes) {
      let (method, target, _) = try HeadParser.line(line)
      head = try Head(method, target, like: last)
    } else {
      head = try Head(parser.head(bytes), from: origin)
    }
    let known = HeadCache.Entry(head: head, request: head.shortRequest(isLong: isLong(head)))
    cache.keep(known, of: bytes)
    begin(known)
    return end
  }

  private func isLong(_ head: Head) -> Bool { bypass != nil && head.contentLength ?? 0 > Bypass.bytesMin }

  private func begin(_ known: HeadCache.Entry) {
    requestCount += 1
    heads.append(known.head)
    output += known.request
    if known.head.wantsWebSocket {
      state = .upgraded
    } else if known.head.isOfOpenLength {
      state = .chunkLine
    } else if let length = known.head.contentLength, length > 0 {
      state = isLong(known.head) ? .longContent(length) : .content(length)
    } else {
      state = .head
    }
  }

  private func refuse(_ fault: WebFault) {
    switch state {
    case .chunkLine, .chunk, .chunkEnd, .trailers: emit("0\r\n\r\n")
    default:
      requestCount += 1
      emit("GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
    }
    refusal = fault
    state = .refused(0)
  }

  // MARK: Output for the library

  private func emit(_ text: StaticString) { text.withUTF8Buffer { output += $0 } }

  private func emit(_ bytes: Slice<UnsafeRawBufferPointer>) { output += bytes }

  private func emit(chunk bytes: UnsafeRawBufferPointer) {
    output += String(bytes.count, radix: 16).utf8
    emit("\r\n")
    output += bytes
    emit("\r\n")
  }
}

extension Head {
  /// The request in its shortest form: only the parts that the library needs.
  fileprivate func shortRequest(isLong: Bool) -> [UInt8] {
    var text = "\(method == .head ? "HEAD" : "GET") / HTTP/1.\(isHTTP11 ? 1 : 0)\r\nHost: here\r\n"
    if isOfOpenLength || isLong {
      text += "Transfer-Encoding: chunked\r\n"
    } else if let contentLength {
      text += "Content-Length: \(contentLength)\r\n"
    }
    if headers.lists("close", in: "Connection") {
      text += "Connection: close\r\n"
    } else if !isHTTP11, headers.lists("keep-alive", in: "Connection") {
      text += "Connection: Keep-Alive\r\n"
    }
    if isHTTP11, headers.lists("100-continue", in: "Expect") { text += "Expect: 100-continue\r\n" }
    return Array("\(text)\r\n".utf8)
  }
}
