internal import Glibc
public import Reactor

/// The events of a fetch, always on the loop and never from within a call of the fetch.
public protocol WebFetchOwner: AnyObject {
  /// The server is about to send; nothing comes until `want` is called.
  func began(_ fetch: WebFetch, _ content: WebContent)

  /// Bytes have come, no more than were requested.
  func received(_ bytes: RawSpan, from fetch: WebFetch)

  /// It is over: complete where there is no error. Called exactly once, and nothing after it.
  func ended(_ fetch: WebFetch, because error: WebError?)
}

/// A fetch of one resource by http or https, with flow control by the owner.
///
/// Invariants:
/// - It connects only to addresses that the policy allows, at first and after each redirect.
/// - The request holds no unchecked text: a URL is validated ASCII.
/// - Everything that a server sends before the wanted bytes is bounded, in bytes and in time.
///
/// It belongs to its reactor's thread. From its making until `ended`, it keeps itself and its owner alive.
public final class WebFetch: @unchecked Sendable {
  // `@unchecked`: each public entry checks that it runs on the reactor's thread, and each callback comes from there.

  public struct Options: Sendable {
    public var policy = AddressPolicy()
    /// Nil trusts the system's authorities, which are read at the first fetch by https.
    public var trust: WebTrust?
    /// Larger content is refused before it begins.
    public var bytesMax: UInt64 = 64 << 30
    /// Two or three are common.
    public var redirectsMax = 8
    /// For the name, the connection and TLS, at each server.
    public var connectionTime: Duration = .seconds(20)
    /// From there until the response's head is complete, however slowly it comes.
    public var answerTime: Duration = .seconds(30)
    /// The idle timeout while bytes are wanted.
    public var idleTime: Duration = .seconds(30)
    /// For the whole fetch, including the time in which nothing is wanted.
    public var wholeTime: Duration = .seconds(24 * 3_600)
    public init() {}
  }

  /// The point from which an interrupted fetch resumes.
  public struct Resumption: Hashable, Sendable {
    public let offset: UInt64
    public let version: String

    /// Nil where the server gave no validator of the content.
    public init?(at offset: UInt64, of version: String?) {
      guard let version, isStrongTag(version) else { return nil }
      (self.offset, self.version) = (offset, version)
    }
  }

  /// An address that does not answer leaves time for others.
  private static let attemptTime: Duration = .seconds(6)
  /// Interim responses are of no use here.
  private static let interimAnswersMax = 8
  private static let readBytesMax = 64 << 10
  /// Bytes that one fetch may move in one turn before others have theirs.
  private static let bytesPerTurnMax = 256 << 10

  private enum State {
    case lookingUp
    case connecting(SocketAddress, left: ArraySlice<SocketAddress>)
    case shakingHands
    case asking
    case reading
    case body(BodyDecoder)
    case ended
  }

  public let reactor: Reactor
  private let options: Options
  private let resumption: Resumption?
  private var owner: (any WebFetchOwner)?
  private var url: WebURL
  private var state = State.lookingUp
  private var stream: WebStream?
  private var registration: Registration?
  private var interest: Readiness = []
  private var request: ArraySlice<UInt8> = []
  /// Input that was not parsed, or is incomplete.
  private var input: ArraySlice<UInt8> = []
  private var searched = 0
  private var redirects = 0
  private var interimAnswers = 0
  private var wanted: UInt64 = 0
  private var received: UInt64 = 0
  private var size: UInt64?
  /// The end of the announced part.
  private var partEnd: UInt64?
  private var turnIsDue = false
  /// The deadline of the present step: connection, response or idleness.
  private var deadline: Timer?
  private var attemptDeadline: Timer?
  private var wholeDeadline: Timer?

  @discardableResult
  public init(
    _ url: WebURL, from resumption: Resumption? = nil, options: Options = Options(), on reactor: Reactor,
    owner: any WebFetchOwner
  ) {
    self.reactor = reactor
    self.options = options
    self.resumption = resumption
    self.owner = owner
    self.url = url
    wholeDeadline = reactor.schedule(after: options.wholeTime) { [self] in
      finish(.timedOut(host: self.url.host, .end))
    }
    lookUp()
  }

  /// Requests so many more bytes. Requesting none for a while costs nothing but the server's patience.
  public func want(_ bytes: Int) {
    reactor.preconditionIsolated()
    precondition(bytes >= 0, "nobody wants \(bytes) bytes")
    let (sum, isOver) = wanted.addingReportingOverflow(UInt64(bytes))
    wanted = isOver ? .max : sum
    if case .body = state { askForTurn() }
  }

  public func cancel() {
    reactor.preconditionIsolated()
    reactor.soon { [self] in finish(.cancelled) }
  }

  // MARK: The connection

  private func lookUp() {
    state = .lookingUp
    setDeadline(options.connectionTime, .connection)
    reactor.lookUp(url.host, port: url.port) { [self] result in
      guard case .lookingUp = state else { return }
      switch result {
      case .success(let addresses): connect(toOneOf: addresses)
      case .failure(.unknown): finish(.unknownName(host: url.host))
      case .failure(.busy): finish(.tooManyLookups)
      case .failure(.failed(let words)): finish(.lookupFailed(host: url.host, words))
      }
    }
  }

  private func connect(toOneOf addresses: [SocketAddress]) {
    let allowed = addresses.filter(options.policy.allows)
    if allowed.isEmpty { return finish(.forbidden(host: url.host, addresses[0])) }
    connect(to: allowed[...])
  }

  private func connect(to addresses: ArraySlice<SocketAddress>) {
    guard let address = addresses.first else { return }
    dropConnection()
    state = .connecting(address, left: addresses.dropFirst())
    do throws(SystemError) {
      stream = WebStream(to: url, options.trust, on: try .connecting(to: address))
    } catch {
      return attemptFailed(error)
    }
    watch(.writable)
    if addresses.count > 1 {
      attemptDeadline = reactor.schedule(after: Self.attemptTime) { [self] in
        attemptFailed(SystemError("connect to \(address)", code: ETIMEDOUT))
      }
    }
  }

  private func attemptFailed(_ error: SystemError) {
    guard case .connecting(_, let left) = state else { return }
    if left.isEmpty { finish(.unreachable(host: url.host, error)) } else { connect(to: left) }
  }

  private func dropConnection() {
    if let attemptDeadline { reactor.cancel(attemptDeadline) }
    attemptDeadline = nil
    watch([])
    stream = nil
  }

  // MARK: A turn

  private func turn() {
    if case .connecting(let address, _) = state { finishConnecting(to: address) }
    if case .shakingHands = state { shakeHands() }
    if case .asking = state { ask() }
    if case .reading = state { readHead() }
    if case .body(let decoder) = state { readBody(decoder) }
  }

  private func finishConnecting(to address: SocketAddress) {
    if let error = stream?.socket.connectionError() {
      return attemptFailed(SystemError("connect to \(address)", code: error.code))
    }
    if let attemptDeadline { reactor.cancel(attemptDeadline) }
    attemptDeadline = nil
    state = .shakingHands
  }

  private func shakeHands() {
    guard proceeds(after: stream?.shakeHands() ?? .cut) else { return }
    request = WebFetch.request(for: url, resumption)
    state = .asking
    setDeadline(options.answerTime, .answer)
  }

  private static func request(for url: WebURL, _ resumption: Resumption?) -> ArraySlice<UInt8> {
    var lines = [
      "GET \(url.target) HTTP/1.1", "Host: \(url.authority)", "User-Agent: vicinity", "Accept: */*",
      // The bytes themselves, so that ranges and sizes mean them.
      "Accept-Encoding: identity", "Connection: close",
    ]
    if let resumption { lines += ["Range: bytes=\(resumption.offset)-", "If-Range: \(resumption.version)"] }
    return Array((lines + ["", ""]).joined(separator: "\r\n").utf8)[...]
  }

  private func ask() {
    while !request.isEmpty {
      let step = request.withUnsafeBytes { stream?.write($0) ?? .cut }
      guard proceeds(after: step), case .moved(let count) = step else { return }
      request = request.dropFirst(count)
    }
    state = .reading
  }

  private func readHead() {
    while case .reading = state {
      do throws(ResponseHead.Fault) {
        if let head = try ResponseHead.taken(from: &input, searched: &searched) {
          take(head)
          continue
        }
      } catch {
        switch error {
        case .tooLong: return finish(.headTooLong(host: url.host))
        case .malformed(let fault): return finish(.malformed(host: url.host, fault))
        }
      }
      guard proceeds(after: read()) else { return }
    }
  }

  private func read() -> WebStream.Step {
    var step = WebStream.Step.cut
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.readBytesMax) { room, count in
      step = stream?.read(into: UnsafeMutableRawBufferPointer(room)) ?? .cut
      if case .moved(let moved) = step { count = moved }
    }
    if input.isEmpty { input = bytes[...] } else { input += bytes }
    return step
  }

  /// Whether the step was done; if not, waits for its condition or ends the fetch.
  private func proceeds(after step: WebStream.Step) -> Bool {
    switch step {
    case .moved: return true
    case .needsReadable: watch(.readable)
    case .needsWritable: watch([.readable, .writable])
    case .ended, .cut: finish(.cutShort(host: url.host, received: received, size: size))
    case .failed(let error): finish(error)
    }
    return false
  }

  // MARK: The answer

  private func take(_ head: ResponseHead) {
    switch head.status {
    case 100, 102..<200:
      interimAnswers += 1
      if interimAnswers > Self.interimAnswersMax { malformed("it goes on announcing an answer") }
    case 200, 203:
      begin(head, size: nil, offset: 0)
    case 206:
      guard let range = ContentRange(head), let resumption, range.first == resumption.offset, let last = range.last
      else {
        return malformed("a part that was not asked for")
      }
      begin(head, size: range.size, offset: range.first, count: last - range.first + 1)
    case 301, 302, 303, 307, 308:
      redirect(to: head.value("location"))
    case 416:
      guard let resumption, let size = ContentRange(head)?.size, size == resumption.offset else {
        return finish(.nothingThere(offset: resumption?.offset ?? 0))
      }
      // There was nothing left to send.
      begin(head, size: size, offset: size, count: 0)
    default:
      finish(.refused(host: url.host, status: head.status))
    }
  }

  private func begin(_ head: ResponseHead, size: UInt64?, offset: UInt64, count: UInt64? = nil) {
    if let coding = head.values("content-encoding").first, coding.lowercased() != "identity" {
      return malformed("it is compressed, which was not asked for")
    }
    let length: BodyDecoder.Length
    do throws(BodyDecoder.Fault) {
      length = try count == 0 ? .known(0) : head.bodyLength()
    } catch {
      return malformed(error.description)
    }
    var size = size
    if case .known(let known) = length {
      if let count, known != count { return malformed("a part has another length than it says") }
      if count == nil { size = known }
    }
    if let size, size > options.bytesMax { return finish(.tooLarge(bytesMax: options.bytesMax)) }
    self.size = size
    partEnd = count.map { offset + $0 }
    received = offset
    state = .body(BodyDecoder(length))
    cancelDeadline()
    owner?.began(self, WebContent(head, at: url, size: size, offset: offset))
  }

  private func redirect(to location: String?) {
    redirects += 1
    if redirects > options.redirectsMax { return finish(.tooManyRedirects(max: options.redirectsMax)) }
    guard let location else { return malformed("a redirect that leads nowhere") }
    do throws(WebError) {
      let next = try url.resolving(location)
      if url.scheme == .https, next.scheme == .http { return finish(.downgrade(to: next)) }
      url = next
    } catch {
      return finish(error)
    }
    dropConnection()
    input = []
    lookUp()
  }

  private func malformed(_ fault: String) {
    finish(.malformed(host: url.host, fault))
  }

  private func readBody(_ present: BodyDecoder) {
    var decoder = present
    var left = Self.bytesPerTurnMax
    while left > 0 {
      do throws(BodyDecoder.Fault) {
        let bytes = try decoder.taken(from: &input, max: Int(min(wanted, UInt64(left))))
        if !bytes.isEmpty {
          left -= bytes.count
          guard deliver(bytes) else { return }
          continue
        }
      } catch {
        return malformed(error.description)
      }
      if decoder.isEnded { return finishBody() }
      state = .body(decoder)
      guard wanted > 0 else { return pause() }
      let step = read()
      switch step {
      case .moved:
        cancelDeadline()
      case .ended where decoder.mayEndHere:
        return finishBody()
      default:
        if deadline == nil { setDeadline(options.idleTime, .bytes) }
        _ = proceeds(after: step)
        return
      }
    }
    state = .body(decoder)
    askForTurn()
  }

  /// False where that exceeds the limit.
  private func deliver(_ bytes: ArraySlice<UInt8>) -> Bool {
    let count = UInt64(bytes.count)
    if received + count > options.bytesMax {
      finish(.tooLarge(bytesMax: options.bytesMax))
      return false
    }
    if let partEnd, received + count > partEnd {
      malformed("a part has another length than it says")
      return false
    }
    wanted -= count
    received += count
    owner?.received(bytes.span.bytes, from: self)
    return true
  }

  /// A server may send less than the requested range, and say so.
  private func finishBody() {
    if let end = size ?? partEnd, received < end {
      return finish(.cutShort(host: url.host, received: received, size: size))
    }
    finish(nil)
  }

  /// Backpressure: unread bytes stay in the kernel, whose buffers are soon full.
  private func pause() {
    cancelDeadline()
    watch([])
  }

  // MARK: The end, and scheduling turns

  private func finish(_ error: WebError?) {
    if case .ended = state { return }
    state = .ended
    cancelDeadline()
    if let wholeDeadline { reactor.cancel(wholeDeadline) }
    wholeDeadline = nil
    dropConnection()
    input = []
    let owner = owner.take()
    owner?.ended(self, because: error)
  }

  private func watch(_ interest: Readiness) {
    if interest == self.interest { return }
    self.interest = interest
    guard !interest.isEmpty else {
      // Even without an interest, a connection that has ended would wake the loop again and again.
      if let registration { reactor.deregister(registration) }
      registration = nil
      return
    }
    if let registration { return reactor.update(registration, to: interest) }
    do throws(SystemError) {
      registration = try stream?.register(on: reactor, for: interest) { [self] _ in turn() }
    } catch {
      finish(.unreachable(host: url.host, error))
    }
  }

  private func askForTurn() {
    if turnIsDue { return }
    turnIsDue = true
    reactor.soon { [self] in
      turnIsDue = false
      turn()
    }
  }

  private func setDeadline(_ delay: Duration, _ wait: WebError.Wait) {
    cancelDeadline()
    deadline = reactor.schedule(after: delay) { [self] in finish(.timedOut(host: url.host, wait)) }
  }

  private func cancelDeadline() {
    if let deadline { reactor.cancel(deadline) }
    deadline = nil
  }
}
