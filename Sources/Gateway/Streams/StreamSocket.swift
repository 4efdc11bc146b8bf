internal import Nearby
internal import Notation
internal import Reactor
internal import Web

/// One stream as a WebSocket of its own, `vicinity.stream.v1`: its bytes are the binary messages, whose bounds mean
/// nothing.
///
/// Backpressure is end to end: for a slow reader one piece waits beside a small queue, and no other is requested; a
/// client that writes faster than the member reads is not read from.
final class StreamSocket: SocketOwner {
  static let subprotocol = "vicinity.stream.v1"
  /// Limit on bytes queued for a client that reads slowly.
  static let queuedBytesMax = 256 << 10
  /// Limit on a client's received bytes that are not written yet.
  static let waitingBytesMax = 256 << 10
  /// Lingering close: the time in which a slow client can read the last queued bytes.
  static let lingerTimeout: Duration = .seconds(60)
  /// The only text is `{"token": "…"}`.
  private static let textBytesMax = 1 << 10

  private enum Stage {
    /// Waiting for a token.
    case waiting
    case reading(StreamReader)
    case writing(StreamWriter)
    case over
  }

  private let core: Core
  private let call: Call
  private let route: Route
  private let number: UInt64
  private(set) var view: ClientView?
  private weak var socket: WebSocket?
  private var model: StreamModel?
  private var stage = Stage.waiting
  private var startDeadline: Timer?
  /// The received part of a text; or bytes that the queue had no room for; or bytes to be written.
  private var waiting: [UInt8] = []
  private var isWriting = false
  /// The client has closed its stream: the bytes left to be written are the last.
  private var isAtEnd = false

  init(_ core: Core, _ call: Call, _ route: Route) {
    self.core = core
    self.call = call
    self.route = route
    number = core.number()
  }

  /// The queue of its client, the bytes not yet written to the member, and their limits.
  var queues: JSON {
    var unwritten = 0
    if case .writing = stage { unwritten = waiting.count }
    return [
      "stream": .text("/" + call.path.dropLast().joined(separator: "/")),
      "queuedBytes": .number(socket?.queuedBytes ?? 0),
      "queuedBytesMax": .number(Self.queuedBytesMax), "unwrittenBytes": .number(unwritten),
      "unwrittenBytesMax": .number(Self.waitingBytesMax),
    ]
  }

  /// Throws if the client may not use the stream; then the WebSocket is refused before it is opened.
  func check(_ client: ClientView) throws(Problem) { _ = try find(client) }

  private func find(_ client: ClientView) throws(Problem) -> StreamModel {
    try core.access.check(call.asked(by: client), route)
    let stream = try core.stream(call[1], in: core.ownSession(call[0], for: client))
    try stream.checkFree()
    return stream
  }

  // MARK: WebSocket events

  func opened(_ socket: WebSocket) {
    self.socket = socket
    socket.queuedBytesMax = Self.queuedBytesMax
    core.sockets.streams[number] = self
    if let client = call.client { return begin(client) }
    startDeadline = core.reactor.schedule(after: core.options.authenticationTimeout) { [unowned self] in
      startDeadline = nil
      end(.silence, "authentication timed out: send {\"token\": \"…\"} first")
    }
  }

  func received(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind, isLast: Bool, from socket: WebSocket) {
    if let view { core.clients.markActive(view.id) }
    switch (stage, kind) {
    case (.waiting, .text): handleFrame(bytes, isLast)
    case (.waiting, .binary): end(.unauthorized, "authenticate first: {\"token\": \"…\"}")
    case (.writing, .binary):
      waiting += bytes
      if waiting.count >= Self.waitingBytesMax { socket.isReading = false }
      write()
    case (.writing, .text), (.reading, .text):
      end(.badFrame, "a stream's bytes are binary messages, and this is a text")
    case (.reading, .binary): end(.conflict, "this stream comes from a member: it is read here, and not written")
    case (.over, _): break
    }
  }

  func writable(_ socket: WebSocket) {
    if case .reading(let reader) = stage { push(reader) }
  }

  func closed(_ socket: WebSocket, _ code: UInt16) {
    core.meters.closed(code)
    stopWaiting()
    switch stage {
    case .waiting, .over: detach()
    case .reading(let reader):
      detach()
      core.start { _ in await reader.cancel() }
      sendEnd(.cancelled)
    case .writing where Self.isEnd(code):
      isAtEnd = true
      write()
    case .writing(let writer):
      // The other side must not take it for the end.
      detach()
      core.start { _ in await writer.cancel() }
      sendEnd(.cancelled)
    }
  }

  /// Whether this code ends the stream in full: 1000, or 1005 for none. A page that is closed sends 1001, and a broken
  /// connection is 1006.
  private static func isEnd(_ code: UInt16) -> Bool { code == 1000 || code == 1005 }

  // MARK: Authentication

  private func handleFrame(_ bytes: UnsafeRawBufferPointer, _ isLast: Bool) {
    waiting += bytes.prefix(Self.textBytesMax + 1 - waiting.count)
    guard waiting.count <= Self.textBytesMax else {
      return end(.badFrame, "the first text is {\"token\": \"…\"}, and short")
    }
    guard isLast else { return }
    let text = waiting
    waiting = []
    do throws(Problem) {
      begin(try client(saying: text))
    } catch {
      end(CloseCode(error), error.detail)
    }
  }

  private func client(saying text: [UInt8]) throws(Problem) -> ClientView {
    guard let json = try? JSON(parsing: text) else { throw Problem(.badRequest, "the first text is no JSON") }
    var fields = try Fields(json)
    let token = try fields.needText("token")
    try fields.end()
    guard let client = try core.access.client(token: token, over: call.connection) else {
      throw .unauthorized("this token is unknown, revoked or expired: pair again")
    }
    return client
  }

  private func begin(_ client: ClientView) {
    stopWaiting()
    do throws(Problem) {
      let stream = try find(client)
      try stream.take()
      (view, model) = (client, stream)
      socket?.traffic = core.clients.account(of: client.id)?.traffic
      switch stream.direction {
      case .incoming(let reader):
        stage = .reading(reader)
        read(reader)
      case .outgoing(let writer):
        stage = .writing(writer)
        watch(writer)
      }
    } catch {
      end(CloseCode(error), error.detail)
    }
  }

  private func stopWaiting() {
    if let startDeadline { core.reactor.cancel(startDeadline) }
    startDeadline = nil
  }

  // MARK: Reading

  private func read(_ reader: StreamReader) {
    let number = number
    core.start { core in
      do throws(NearbyError) {
        let piece = try await reader.read()
        core.sockets.streams[number]?.came(piece, from: reader)
      } catch {
        core.sockets.streams[number]?.ended(error.reason ?? .lost)
      }
    }
  }

  private func came(_ piece: [UInt8]?, from reader: StreamReader) {
    guard case .reading = stage else { return }
    guard let piece else { return ended(.none) }
    model?.bytes += UInt64(piece.count)
    waiting = piece
    push(reader)
  }

  private func push(_ reader: StreamReader) {
    guard !waiting.isEmpty, let socket, waiting.withUnsafeBytes({ socket.send($0) }) else { return }
    waiting = []
    read(reader)
  }

  // MARK: Writing

  private func write() {
    guard case .writing(let writer) = stage, !isWriting else { return }
    if waiting.isEmpty {
      if isAtEnd { core.start { _ in await writer.close() } }
      return
    }
    let piece = waiting
    waiting = []
    isWriting = true
    let number = number
    core.start { core in
      do {
        try await writer.write(piece)
        core.sockets.streams[number]?.wrote(piece.count)
      } catch {
        // The wait for the stream's end reports the error.
      }
    }
  }

  private func wrote(_ count: Int) {
    isWriting = false
    model?.bytes += UInt64(count)
    if let socket, !socket.isReading { socket.isReading = true }
    write()
  }

  private func watch(_ writer: StreamWriter) {
    let number = number
    core.start { core in
      let reason = await writer.ended
      core.sockets.streams[number]?.ended(reason)
    }
  }

  // MARK: The end

  private func ended(_ reason: Reason) {
    if case .over = stage { return }
    sendEnd(reason)
    switch reason {
    case .none: end(.done, "the stream has ended")
    case .cancelled: end(.gone, "the stream was cancelled")
    default: end(.conflict, "the stream has failed: \(reason)")
    }
  }

  /// Closes it from here, and cancels the stream.
  func end(_ code: CloseCode, _ reason: String) {
    let before = stage
    stage = .over
    waiting = []
    stopWaiting()
    switch before {
    case .waiting, .over: break
    case .reading(let reader): core.start { _ in await reader.cancel() }
    case .writing(let writer): core.start { _ in await writer.cancel() }
    }
    sendEnd(.cancelled)
    detach()
    socket?.close(code.rawValue, reason, within: Self.lingerTimeout)
  }

  /// Reports the end; only the first report counts.
  private func sendEnd(_ reason: Reason) {
    if let model { core.ended(model.id, reason, in: call[0]) }
  }

  private func detach() {
    stage = .over
    core.sockets.streams[number] = nil
    if let view { core.presence.restartTimer(of: view.id) }
  }
}
