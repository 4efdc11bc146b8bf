internal import CMicroHTTPD
internal import Reactor

/// One request and its response.
///
/// It belongs to the server's thread. The server keeps it until the response is sent or the client has gone.
package final class Exchange {
  package let head: Head
  /// The handler's context for the head, shared by requests of one connection that have the same head.
  package let headContext: HeadContext
  /// Called once where the client leaves before the whole response is sent, or the server refuses its input. From then
  /// on, calls of the exchange have no effect.
  package var onAbort: (() -> Void)?

  private enum Reading {
    /// The handler has not decided yet how to read the body: it waits.
    case undecided
    case collecting([UInt8], bytesMax: Int, then: ([UInt8]) -> Void)
    case streaming(any BodySink, bytesMax: Int)
    /// The rest of the body is discarded.
    case discarding
  }

  /// The start time, on the reactor's clock.
  package let began = Reactor.now
  /// A value for the handler's own use: its kind of request.
  package var tag = 0
  /// The counters for its bytes.
  package var traffic: Traffic?

  private let connection: OpaquePointer
  /// The bypass of its tunnel, if there is one.
  private let bypass: Bypass?
  /// The server, which keeps this no longer than the request lasts.
  private let server: any ExchangeServer
  private var reading = Reading.undecided
  private var response: Response?
  /// Whether the library's idle timeout is off for its client.
  private var hasNoIdleTimeout = false
  package private(set) var isOver = false
  /// Whether the reader of the body or the source of the response had to wait and can continue now.
  private var canContinue = false
  private(set) var isSuspended = false
  private var isWoken = false
  /// The bypass while the body goes past the library.
  private var openBypass: Bypass?
  private var hasBodyEnded = false
  private(set) var bodyBytes = 0
  private var discardedBytes = 0
  private var pace: Pace

  init(
    _ head: Head, _ headContext: HeadContext, _ connection: OpaquePointer, _ bypass: Bypass?,
    of server: any ExchangeServer
  ) {
    self.head = head
    self.headContext = headContext
    self.connection = connection
    self.bypass = bypass
    self.server = server
    pace = server.pace
  }

  /// Passes the whole body to `then` once it is there. A body of more bytes is refused (413); one that ends early means
  /// that the client has gone: then `then` is not called.
  package func collectBody(bytesMax: Int, then: @escaping ([UInt8]) -> Void) {
    read(.collecting([], bytesMax: bytesMax, then: then), bytesMax)
  }

  /// Passes the body to the sink as it comes; one of more bytes is refused (413).
  package func readBody(bytesMax: Int, into sink: any BodySink) {
    read(.streaming(sink, bytesMax: bytesMax), bytesMax)
  }

  /// The sink takes more: the bytes that it left are offered again.
  package func resume() {
    resumeIfSuspended()
  }

  /// Responds; call it once for each exchange, now or later. The rest of the request's body is discarded.
  package func respond(_ response: Response) {
    if isOver { return }
    precondition(self.response == nil, "an exchange is answered twice")
    self.response = response
    reading = .discarding
    restoreIdleTimeout()
    resumeIfSuspended()
  }

  /// The response's source has more, or is at its end. Of many exchanges woken at once, some resume in each turn.
  package func wake() {
    guard isSuspended, !isOver, openBypass == nil else { return resumeIfSuspended() }
    if isWoken { return }
    isWoken = true
    server.wake(self)
  }

  /// The exchange's turn to resume has come.
  func resumeAfterWake() {
    isWoken = false
    resumeIfSuspended()
  }

  // MARK: For the server

  /// The rest of the body cannot be read. It ends here and is refused, or the connection ends after its response.
  func fail(_ fault: WebFault) {
    if isOver || response != nil { response?.closes = true } else { refuse(fault) }
  }

  /// Called after the handler has got the request, and before any of the body is read.
  func start() -> MHD_Result {
    if isOver, response == nil { return .NO }
    guard response != nil, head.contentLength ?? .max > Self.discardedBytesMax, head.hasBody else { return .YES }
    return queue()
  }

  /// More of the body has come, or its end, or the exchange resumes.
  func proceed(_ bytes: UnsafeRawBufferPointer, _ left: inout Int) -> MHD_Result {
    if isOver, response == nil { return .NO }
    if bytes.isEmpty { return end() }
    let taken = take(bytes)
    left = bytes.count - taken
    if isOver, response == nil || discardedBytes > Self.refusedBytesMax { return .NO }
    if left > 0 {
      if !canContinue { suspend() }
      canContinue = false
    } else if let bypass, bypass.isNext(after: bodyBytes) {
      suspend()
      openBypass = bypass
      bypass.open(for: self)
    }
    return .YES
  }

  /// The same for bytes that come past the library: `read` puts them right where they are kept, or else into the
  /// scratch. It is called once, with at most as much room as that has; or not at all, and the result is false: then
  /// nothing is taken until the bypass resumes.
  func takeBypassed(
    _ scratch: UnsafeMutableRawBufferPointer, by read: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Bool {
    if isOver {
      _ = read(scratch)
      return true
    }
    switch reading {
    case .undecided: return false
    case .streaming(let sink, _): return sink.take(upTo: scratch.count, from: self) { countTaken(read($0)) }
    case .collecting, .discarding:
      _ = take(UnsafeRawBufferPointer(rebasing: scratch[..<read(scratch)]))
      return true
    }
  }

  /// The whole body has come past the library.
  func endBypass() {
    openBypass = nil
    resumeIfSuspended()
  }

  /// The request is over; its state is released.
  func finish(isComplete: Bool) {
    if !isComplete { abort() }
    isOver = true
    onAbort = nil
    response = nil
    reading = .discarding
    openBypass.take()?.close()
  }

  /// The client has closed while its input was not read.
  func abort() {
    if isOver { return }
    isOver = true
    response = nil
    reading = .discarding
    onAbort.take()?()
    resumeIfSuspended()
  }

  /// Whether more of the request is to come before there is a response.
  var readsBody: Bool { !isSuspended && !hasBodyEnded }

  /// Measures the pace of the body; returns whether it is fast enough.
  func checkRate(at now: UInt64) -> Bool {
    let isHeldBack = openBypass.map { !$0.isFree } ?? isSuspended
    return pace.checkRate(bodyBytes, isHeldBack: isHeldBack || hasBodyEnded || hasNoIdleTimeout, at: now)
  }

  // MARK: The body

  /// Limit for the part of a body that is read only to be discarded, so that the connection can be used again.
  private static let discardedBytesMax = 1 << 20
  /// The same for a body that turns out too large: the library sends no response before it has read all.
  private static let refusedBytesMax = 16 << 20

  private func read(_ reading: Reading, _ bytesMax: Int) {
    if isOver || response != nil { return }
    guard case .undecided = self.reading else { preconditionFailure("the body of an exchange is read twice") }
    if let length = head.contentLength, length > bytesMax { return refuse(tooLarge(bytesMax)) }
    self.reading = reading
    if case .streaming(let sink, _) = reading, sink.isLive {
      hasNoIdleTimeout = true
      server.setIdleTimeout(of: connection, isOn: false)
    }
    resumeIfSuspended()
  }

  /// The body is not live any more: the idle timeout is on again.
  private func restoreIdleTimeout() {
    guard hasNoIdleTimeout else { return }
    hasNoIdleTimeout = false
    server.setIdleTimeout(of: connection, isOn: true)
  }

  private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
    countTaken(read(bytes))
  }

  private func countTaken(_ count: Int) -> Int {
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
      canContinue = false
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
    if isOver { return .NO }
    suspend()
    return .YES
  }

  private func tooLarge(_ bytesMax: Int) -> WebFault {
    WebFault(
      413, "The content has more than \(bytesMax) bytes, the limit of this resource.", rule: "bodyBytes",
      limit: bytesMax)
  }

  /// Refuses the request: the server responds, and the handler has no more to do with it.
  private func refuse(_ fault: WebFault) {
    var refusal = server.refusal(fault, head)
    refusal.closes = true
    response = refusal
    reading = .discarding
    restoreIdleTimeout()
    isOver = true
    onAbort.take()?()
    resumeIfSuspended()
  }

  // MARK: The response

  private func queue() -> MHD_Result {
    guard let response = response.take() else { return .NO }
    return server.queue(response, for: self, on: connection)
  }

  /// Reads the response's source.
  func pull(_ source: any BodySource, _ room: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      if isOver { return CMicroHTTPD_END_WITH_ERROR }
      canContinue = false
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
      if canContinue { continue }
      suspend()
      return 0
    }
  }

  // MARK: Waiting

  private func suspend() {
    isSuspended = true
    server.suspend(connection)
  }

  private func resumeIfSuspended() {
    canContinue = true
    if let openBypass, !isOver { return openBypass.resume() }
    guard isSuspended else { return }
    isSuspended = false
    server.resume(connection)
  }
}

/// A receiver of a request's body as it comes.
package protocol BodySink: AnyObject {
  /// Whether the body is live, made while it is sent, so that the client may be silent for any time.
  var isLive: Bool { get }

  /// Takes bytes and returns their number. Where it did not take all, nothing more comes until `Exchange.resume()`:
  /// that is backpressure on the client.
  func take(_ bytes: UnsafeRawBufferPointer, from exchange: Exchange) -> Int

  /// The same for bytes that are still to be read: `read` is called once, with room for one byte to `bytesMax`, and
  /// returns the number of bytes that it has put there. Where it is not called the result is false, and nothing more
  /// comes until `Exchange.resume()`.
  func take(
    upTo bytesMax: Int, from exchange: Exchange, by read: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Bool

  /// The body has ended.
  func finished(_ exchange: Exchange)
}

/// A check of a body's pace against the minimum rate.
struct Pace {
  private let bytesMin: Int
  private let span: UInt64
  private var bytes = 0
  private var since: UInt64?

  init(_ limits: WebLimits) {
    span = UInt64(limits.slowTime.nanoseconds)
    bytesMin = limits.bodyBytesPerSecondMin * Int(limits.slowTime.components.seconds)
  }

  /// Begins the next span where one has ended; returns false if fewer bytes came in it than the minimum.
  mutating func checkRate(_ bytes: Int, isHeldBack: Bool, at now: UInt64) -> Bool {
    // Time in which the server does not read is not counted against the client.
    guard let since, !isHeldBack else {
      since = now
      self.bytes = bytes
      return true
    }
    if now - since < span { return true }
    if bytes - self.bytes < bytesMin { return false }
    self.since = now
    self.bytes = bytes
    return true
  }
}

extension Duration {
  var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
