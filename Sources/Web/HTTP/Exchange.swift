internal import CMicroHTTPD
internal import Reactor

/// One request and its response.
///
/// It belongs to the server's thread. The server keeps it until the response is sent or the client has gone.
package final class Exchange {
  package let head: Head
  /// The same for requests of one connection whose heads are the same.
  package let note: HeadNote
  /// Called once where the client leaves before the whole response is sent, or the server refuses what it sends; what is
  /// asked of the exchange from then on does nothing.
  package var onGone: (() -> Void)?

  private enum Reading {
    /// Nobody has said what becomes of the body: it waits.
    case undecided
    case collecting([UInt8], bytesMax: Int, then: ([UInt8]) -> Void)
    case streaming(any BodySink, bytesMax: Int)
    /// What comes is thrown away.
    case discarding
  }

  /// When it began, by the reactor's clock.
  package let began = Reactor.now
  /// For the handler's own use: what it takes the request for.
  package var tag = 0
  /// Who pays for its bytes.
  package var traffic: Traffic?

  private let connection: OpaquePointer
  /// Where it comes through a tunnel.
  private let bypass: Bypass?
  /// Which keeps this no longer than the request lasts.
  private let server: any ExchangeServer
  private var reading = Reading.undecided
  private var response: Response?
  /// Whether the library, too, lets the client take its time.
  private var isUnhurried = false
  package private(set) var isGone = false
  /// Whether the reader of the body, or of the response, was told to wait and is not any more.
  private var mayGoOn = false
  private(set) var isSuspended = false
  private var isWoken = false
  /// While the body goes past the library.
  private var beside: Bypass?
  private var hasBodyEnded = false
  private(set) var bodyBytes = 0
  private var discardedBytes = 0
  private var pace: Pace

  init(_ head: Head, _ note: HeadNote, _ connection: OpaquePointer, _ bypass: Bypass?, of server: any ExchangeServer) {
    self.head = head
    self.note = note
    self.connection = connection
    self.bypass = bypass
    self.server = server
    pace = server.pace
  }

  /// Hands over the whole body once it is there. One of more bytes is refused (413), and one that ends early is a client
  /// that has gone: then `then` is not called.
  package func collectBody(bytesMax: Int, then: @escaping ([UInt8]) -> Void) {
    read(.collecting([], bytesMax: bytesMax, then: then), bytesMax)
  }

  /// Hands over the body as it comes; one of more bytes is refused (413).
  package func readBody(bytesMax: Int, into sink: any BodySink) {
    read(.streaming(sink, bytesMax: bytesMax), bytesMax)
  }

  /// The sink takes more: what it left is offered again.
  package func resume() {
    goOn()
  }

  /// Once for each exchange, now or later. What is left of the request's body is thrown away.
  package func respond(_ response: Response) {
    if isGone { return }
    precondition(self.response == nil, "an exchange is answered twice")
    self.response = response
    reading = .discarding
    pressAsUsual()
    goOn()
  }

  /// The response's source has more, or is at its end. Of many that are woken at once some go on in each turn.
  package func wake() {
    guard isSuspended, !isGone, beside == nil else { return goOn() }
    if isWoken { return }
    isWoken = true
    server.wake(self)
  }

  /// Its turn has come.
  func goOnWoken() {
    isWoken = false
    goOn()
  }

  // MARK: What the server calls

  /// The rest of the body cannot be read. It ends here, and is refused, or the connection ends with its answer.
  func fail(_ fault: WebFault) {
    if isGone || response != nil { response?.closes = true } else { refuse(fault) }
  }

  /// After the handler has heard of it, and before any of the body was read.
  func hasBegun() -> MHD_Result {
    if isGone, response == nil { return .NO }
    guard response != nil, head.contentLength ?? .max > Self.discardedBytesMax, head.hasBody else { return .YES }
    return queue()
  }

  /// More of the body has come, or nothing more will, or the exchange goes on.
  func proceed(_ bytes: UnsafeRawBufferPointer, _ left: inout Int) -> MHD_Result {
    if isGone, response == nil { return .NO }
    if bytes.isEmpty { return end() }
    let taken = take(bytes)
    left = bytes.count - taken
    if isGone, response == nil || discardedBytes > Self.discardedBytesMax { return .NO }
    if left > 0 {
      if !mayGoOn { suspend() }
      mayGoOn = false
    } else if let bypass, bypass.isNext(after: bodyBytes) {
      suspend()
      beside = bypass
      bypass.open(for: self)
    }
    return .YES
  }

  /// The same of what comes past the library: `read` brings it right to where it is kept, or else into the scratch. It is
  /// called once, with at most as much room as that has; or not at all, and the answer is false: then nothing is taken
  /// until the bypass is told to go on.
  func takeBeside(
    _ scratch: UnsafeMutableRawBufferPointer, by read: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Bool {
    if isGone {
      _ = read(scratch)
      return true
    }
    switch reading {
    case .undecided: return false
    case .streaming(let sink, _): return sink.take(upTo: scratch.count, from: self) { took(read($0)) }
    case .collecting, .discarding:
      _ = take(UnsafeRawBufferPointer(rebasing: scratch[..<read(scratch)]))
      return true
    }
  }

  /// All that comes past the library has come.
  func endBeside() {
    beside = nil
    goOn()
  }

  /// The request is over, and with it all that stands in it.
  func finish(isComplete: Bool) {
    if !isComplete { leave() }
    isGone = true
    onGone = nil
    response = nil
    reading = .discarding
    beside.take()?.close()
  }

  /// The client has closed while nobody reads what it sends.
  func leave() {
    if isGone { return }
    isGone = true
    response = nil
    reading = .discarding
    onGone.take()?()
    goOn()
  }

  /// Whether more of the request is to come before there is a response.
  var readsBody: Bool { !isSuspended && !hasBodyEnded }

  /// Whether the client sends its body too slowly.
  func isTooSlow(at now: UInt64) -> Bool {
    let isHeldBack = beside.map { !$0.isFree } ?? isSuspended
    return pace.isTooSlow(bodyBytes, isHeldBack: isHeldBack || hasBodyEnded || isUnhurried, at: now)
  }

  // MARK: The body

  /// What is read only to be thrown away, so that the connection can go on.
  private static let discardedBytesMax = 1 << 20

  private func read(_ reading: Reading, _ bytesMax: Int) {
    if isGone || response != nil { return }
    guard case .undecided = self.reading else { preconditionFailure("the body of an exchange is read twice") }
    if let length = head.contentLength, length > bytesMax { return refuse(tooLarge(bytesMax)) }
    self.reading = reading
    if case .streaming(let sink, _) = reading, sink.isLive {
      isUnhurried = true
      server.limitIdleTime(of: connection, false)
    }
    goOn()
  }

  /// What comes from now on is no live body any more.
  private func pressAsUsual() {
    guard isUnhurried else { return }
    isUnhurried = false
    server.limitIdleTime(of: connection, true)
  }

  private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
    took(read(bytes))
  }

  private func took(_ count: Int) -> Int {
    bodyBytes += count
    server.meter.bodyBytesIn += count
    traffic?.bytesReceived += count
    return count
  }

  private func read(_ bytes: UnsafeRawBufferPointer) -> Int {
    switch reading {
    case .undecided:
      return 0
    case .discarding:
      discardedBytes += bytes.count
      return bytes.count
    case .collecting(var collected, let bytesMax, let then):
      if collected.count + bytes.count > bytesMax {
        refuse(tooLarge(bytesMax))
        return bytes.count
      }
      reading = .discarding
      collected += bytes
      reading = .collecting(collected, bytesMax: bytesMax, then: then)
      return bytes.count
    case .streaming(let sink, let bytesMax):
      if bodyBytes + bytes.count > bytesMax {
        refuse(tooLarge(bytesMax))
        return bytes.count
      }
      mayGoOn = false
      let taken = sink.take(bytes, from: self)
      precondition((0...bytes.count).contains(taken), "a sink of \(bytes.count) bytes took \(taken)")
      if case .discarding = reading { return bytes.count }
      return taken
    }
  }

  private func end() -> MHD_Result {
    hasBodyEnded = true
    switch reading {
    case .collecting(let collected, _, let then):
      reading = .discarding
      then(collected)
    case .streaming(let sink, _):
      reading = .discarding
      sink.finished(self)
    case .undecided, .discarding:
      break
    }
    if response != nil { return queue() }
    if isGone { return .NO }
    suspend()
    return .YES
  }

  private func tooLarge(_ bytesMax: Int) -> WebFault {
    WebFault(
      413, "The body has more than \(bytesMax) bytes, which is all that is taken here.", rule: "bodyBytes",
      limit: bytesMax)
  }

  /// The handler has no more to do with it: the server answers.
  private func refuse(_ fault: WebFault) {
    var answer = server.refusal(fault, head)
    answer.closes = true
    response = answer
    reading = .discarding
    pressAsUsual()
    isGone = true
    onGone.take()?()
    goOn()
  }

  // MARK: The response

  private func queue() -> MHD_Result {
    guard let response = response.take() else { return .NO }
    return server.queue(response, for: self, on: connection)
  }

  /// For a response's source.
  func pull(_ source: any BodySource, _ room: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      if isGone { return CMicroHTTPD_END_WITH_ERROR }
      mayGoOn = false
      switch source.pull(room) {
      case .wrote(let count):
        precondition((1...room.count).contains(count), "a source wrote \(count) bytes where \(room.count) were room")
        server.meter.bodyBytesOut += count
        traffic?.bytesSent += count
        return count
      case .end: return CMicroHTTPD_END_OF_STREAM
      case .failed: return CMicroHTTPD_END_WITH_ERROR
      case .nothingYet: break
      }
      if mayGoOn { continue }
      suspend()
      return 0
    }
  }

  // MARK: Waiting

  private func suspend() {
    isSuspended = true
    server.suspend(connection)
  }

  private func goOn() {
    mayGoOn = true
    if let beside, !isGone { return beside.resume() }
    guard isSuspended else { return }
    isSuspended = false
    server.resume(connection)
  }
}

/// Takes a request's body as it comes.
package protocol BodySink: AnyObject {
  /// Whether it comes as it is made, so that the client may be silent for as long as it likes.
  var isLive: Bool { get }

  /// Says how many of the bytes it took. Where it did not take all, nothing more comes until `Exchange.resume()`: the
  /// client is held back.
  func take(_ bytes: UnsafeRawBufferPointer, from exchange: Exchange) -> Int

  /// The same of bytes that are still to be read: `read` is called once, with room for one byte to `bytesMax`, and says how
  /// many it has put there. Where it is not called the answer is false, and nothing more comes until `Exchange.resume()`.
  func take(
    upTo bytesMax: Int, from exchange: Exchange, by read: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Bool

  /// That was all.
  func finished(_ exchange: Exchange)
}

/// Whether bytes come at the least speed that is borne.
struct Pace {
  private let bytesMin: Int
  private let span: UInt64
  private var bytes = 0
  private var since: UInt64?

  init(_ limits: WebLimits) {
    span = UInt64(limits.slowTime.nanoseconds)
    bytesMin = limits.bodyBytesPerSecondMin * Int(limits.slowTime.components.seconds)
  }

  mutating func isTooSlow(_ bytes: Int, isHeldBack: Bool, at now: UInt64) -> Bool {
    // Time in which we do not read is not the client's.
    guard let since, !isHeldBack else {
      since = now
      self.bytes = bytes
      return false
    }
    if now - since < span { return false }
    if bytes - self.bytes < bytesMin { return true }
    self.since = now
    self.bytes = bytes
    return false
  }
}

extension Duration {
  var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
