import Glibc
import Reactor
import Web

/// The handler of the tests: what it does is in the path that is asked for.
final class TestHandler: WebHandler {
  private let reactor: Reactor
  private(set) var begun = 0
  private(set) var gone = 0
  /// The heads of requests for `/head`.
  private(set) var heads: [Head] = []
  private(set) var sinks: [Sink] = []
  private(set) var sockets: [TestSocketOwner] = []
  /// Exchanges that wait for `release`.
  private(set) var waiting: [Exchange] = []
  private(set) var ticker: EventSource?
  private(set) lazy var ring = Fanout(bytesMax: 4 << 20)
  private(set) lazy var paced = Fanout(bytesMax: 4 << 20, isPaced: true)
  /// Two fanouts that a subscriber numbers together.
  private(set) lazy var numbered = [
    Fanout(bytesMax: 4 << 20, isNumbered: true), Fanout(bytesMax: 4 << 20, isNumbered: true),
  ]
  /// A fanout whose messages are sent first, and of which eight are kept.
  private(set) lazy var urgent = Fanout(bytesMax: 4 << 20, .dropOldest(countMax: 8) { "dropped \($0) left \($1)" })
  var file: String?
  private let same = Array("the same\n".utf8)

  init(on reactor: Reactor) { self.reactor = reactor }

  func after(_ delay: Duration, _ action: @escaping () -> Void) { reactor.schedule(after: delay, action) }

  func begin(_ exchange: Exchange) {
    begun += 1
    exchange.onAbort = { [unowned self] in gone += 1 }
    switch exchange.head.path.first ?? "" {
    case "": exchange.respond(text("hello\n"))
    case "head":
      heads.append(exchange.head)
      exchange.respond(text(describe(exchange.head)))
    case "echo":
      exchange.collectBody(bytesMax: 1 << 20) { exchange.respond(Response(200, .bytes($0))) }
    case "copy":
      exchange.collectBody(bytesMax: 16 << 20) { exchange.respond(Response(200, .bytes($0))) }
    case "enough":
      let sink = Sink()
      sink.isContentEarly = true
      exchange.readBody(bytesMax: 1 << 30, into: sink)
    case "upload":
      let sink = Sink()
      sinks.append(sink)
      exchange.readBody(bytesMax: 1 << 30, into: sink)
    case "live":
      let sink = Sink()
      sink.isLive = true
      sinks.append(sink)
      exchange.readBody(bytesMax: 1 << 30, into: sink)
    case "slow":
      let sink = Sink()
      sink.appetite = 0
      sinks.append(sink)
      exchange.readBody(bytesMax: 1 << 30, into: sink)
    case "file": sendFile(exchange)
    case "chunks": exchange.respond(Response(200, .source(ChunkSource(100), length: nil)))
    case "sized": exchange.respond(Response(200, .source(ChunkSource(100), length: 1_000)))
    case "broken": exchange.respond(Response(200, .source(ChunkSource(100, fails: true), length: nil)))
    case "late":
      reactor.schedule(after: .milliseconds(20)) { [unowned self] in exchange.respond(text("late\n")) }
    case "wait": waiting.append(exchange)
    case "ticker":
      let ticker = EventSource(exchange)
      self.ticker = ticker
      exchange.respond(Response(200, .source(ticker, length: nil)))
    case "same":
      var response = Response(200, .bytes(same))
      if let word = exchange.head.query("x") { response.headers.append("X", word) }
      exchange.respond(response)
    case "large":
      let count = exchange.head.query("bytes").flatMap { Int($0) } ?? 0
      exchange.respond(Response(200, .bytes([UInt8](repeating: 65, count: count))))
    case "empty": exchange.respond(Response(204))
    case "closing":
      var response = text("bye\n")
      response.closes = true
      exchange.respond(response)
    default: exchange.respond(Response(404))
    }
  }

  func upgrade(_ head: Head) -> SocketDecision {
    guard head.path.first == "ws" else { return .refuse(Response(404, .bytes(Array("no\n".utf8)))) }
    let word = head.path.dropFirst().first ?? "echo"
    let talker = TestSocketOwner(word, word == "paced" ? paced : ring)
    if talker.word == "numbered" {
      (talker.numbered, talker.numbering) = (numbered, .init("n\(sockets.count):", after: 8, viewer: sockets.count))
    }
    sockets.append(talker)
    let reading: SocketReading =
      ["pieces", "gather"].contains(talker.word) ? .pieces : .messages(bytesMax: 1 << 20)
    return .accept(subprotocol: head.subprotocols.first, owner: talker, reading: reading)
  }

  private func text(_ text: String) -> Response {
    var response = Response(200, .bytes(Array(text.utf8)))
    response.headers.append("Content-Type", "text/plain")
    return response
  }

  private func describe(_ head: Head) -> String {
    """
    \(head.method) \(head.path) \(head.query.map { "\($0.name)=\($0.value)" }) \(head.headers.all("X")) \
    \(head.isSecure) \(head.client.isLoopback)
    """
  }

  private func sendFile(_ exchange: Exchange) {
    guard let file else { return exchange.respond(Response(404)) }
    let number = open(file, O_RDONLY | O_CLOEXEC)
    var status = stat()
    fstat(number, &status)
    let size = Int(status.st_size)
    let range = exchange.head.headers["Range"].flatMap { $0.firstMatch(of: #/^bytes=(\d+)-(\d+)$/#) }
    guard let range, let first = Int(range.output.1), let last = Int(range.output.2) else {
      return exchange.respond(Response(200, .file(FilePart(Descriptor(owning: number), offset: 0, length: size))))
    }
    let part = FilePart(Descriptor(owning: number), offset: first, length: last - first + 1)
    var response = Response(206, .file(part))
    response.headers.append("Content-Range", "bytes \(first)-\(last)/\(size)")
    exchange.respond(response)
  }
}

/// Counts a body, and holds it back as its appetite says.
final class Sink: BodySink {
  private(set) var count = 0
  private(set) var sum: UInt64 = 0
  private(set) var exchange: Exchange?
  var appetite = Int.max
  var isLive = false
  /// Answers before it has all.
  var isContentEarly = false

  func take(
    upTo bytesMax: Int, from exchange: Exchange, by read: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Bool {
    self.exchange = exchange
    if appetite == 0 { return false }
    let bytes = [UInt8](unsafeUninitializedCapacity: min(appetite, bytesMax)) {
      $1 = read(UnsafeMutableRawBufferPointer($0))
    }
    _ = bytes.withUnsafeBytes { take($0, from: exchange) }
    return true
  }

  func take(_ bytes: UnsafeRawBufferPointer, from exchange: Exchange) -> Int {
    self.exchange = exchange
    let taken = min(appetite, bytes.count)
    if appetite != .max { appetite -= taken }
    for byte in bytes[..<min(taken, 16)] { sum &+= UInt64(byte) }
    count += taken
    if isContentEarly { exchange.respond(Response(200, .bytes(Array("enough\n".utf8)))) }
    return taken
  }

  func finished(_ exchange: Exchange) {
    exchange.respond(Response(200, .bytes(Array("\(count)\n".utf8))))
  }
}

/// A body of pieces of ten bytes each.
final class ChunkSource: BodySource {
  private var left: Int
  private let fails: Bool

  init(_ count: Int, fails: Bool = false) {
    left = count
    self.fails = fails
  }

  func pull(_ room: UnsafeMutableRawBufferPointer) -> Pulled {
    if left == 0 { return fails ? .failed : .end }
    left -= 1
    room.copyBytes(from: Array("0123456789".utf8))
    return .wrote(10)
  }
}

/// Gives what it is given.
final class EventSource: BodySource {
  private let exchange: Exchange
  private var text: [UInt8] = []
  private var isOver = false

  init(_ exchange: Exchange) { self.exchange = exchange }

  func send(_ text: String) {
    self.text += Array(text.utf8)
    exchange.wake()
  }

  func end() {
    isOver = true
    exchange.wake()
  }

  func pull(_ room: UnsafeMutableRawBufferPointer) -> Pulled {
    if text.isEmpty { return isOver ? .end : .nothingYet }
    let count = min(room.count, text.count)
    room.copyBytes(from: text.prefix(count))
    text.removeFirst(count)
    return .wrote(count)
  }
}

/// A WebSocket's owner that does what the path's second word says.
final class TestSocketOwner: SocketOwner {
  let word: String
  private let ring: Fanout
  var numbered: [Fanout] = []
  var numbering: Fanout.Numbering?
  private(set) var socket: WebSocket?
  private(set) var codes: [UInt16] = []
  private(set) var received = 0
  private(set) var pieces = 0
  private var gathered: [UInt8] = []
  private(set) var lagged = 0
  private(set) var wasWritable = 0

  init(_ word: String, _ ring: Fanout) {
    self.word = word
    self.ring = ring
  }

  func opened(_ socket: WebSocket) {
    self.socket = socket
    switch word {
    case "greet": socket.send("hello")
    case "ring", "paced": ring.subscribe(socket)
    case "numbered": for ring in numbered { ring.subscribe(socket, numbering) }
    case "bye":
      socket.send("first")
      socket.close(4_001, "bye")
    case "hold": socket.isReading = false
    default: break
    }
  }

  func received(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind, isLast: Bool, from socket: WebSocket) {
    received += bytes.count
    pieces += 1
    if word == "echo" { socket.send(bytes, kind) }
    if word == "gather" {
      gathered += bytes
      if isLast {
        _ = gathered.withUnsafeBytes { socket.send($0, kind) }
        gathered = []
      }
    }
    if word == "leave" { socket.close(4_003, "asked") }
    if word == "publish" { ring.publish(bytes, kind) }
  }

  func writable(_ socket: WebSocket) { wasWritable += 1 }

  func lagging(_ socket: WebSocket, in fanout: Fanout) {
    lagged += 1
    socket.close(4_002, "too slow")
  }

  func closed(_ socket: WebSocket, _ code: UInt16) {
    codes.append(code)
    self.socket = nil
  }
}
