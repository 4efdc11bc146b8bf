internal import Nearby
internal import Notation
internal import Web

/// Bytes in order, to a member or from one.
final class StreamModel {
  enum Direction {
    case outgoing(StreamWriter)
    case incoming(StreamReader)
  }
  enum State: String, CaseIterable { case open, closed, failed }

  let id = Secrets.id()
  let direction: Direction
  let name: String
  let member: Member
  let createdAt: Timestamp
  var state = State.open
  var bytes: UInt64 = 0
  var reason: String?
  /// Whether a client writes or reads it: one at a time does.
  var isInUse = false

  init(_ ends: Direction, _ name: String, _ member: Member, at time: Timestamp) {
    self.direction = ends
    self.name = name
    self.member = member
    createdAt = time
  }

  var isIncoming: Bool { if case .incoming = direction { true } else { false } }

  var json: JSON {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("name", .text(name)),
      .init("direction", .text(isIncoming ? "incoming" : "outgoing")),
      .init(isIncoming ? "from" : "to", .text(member.peer.text)), .init("displayName", .text(member.name)),
      .init("state", .text(state.rawValue)), .init("createdAt", .text(createdAt.description)),
    ]
    if state != .open { members.append(.init("bytes", .number(bytes))) }
    if let reason { members.append(.init("reason", .text(reason))) }
    return .object(members)
  }
}

extension Core {
  @discardableResult
  func publish(_ stream: StreamModel, in session: SessionModel) -> Item? {
    guard exists(stream, in: session) else { return nil }
    return session.streams.put(
      stream.id, stream.json, owner: session.owner,
      facets: ["state": stream.state.rawValue, "direction": stream.isIncoming ? "incoming" : "outgoing"])
  }

  func opened(_ reader: StreamReader, in session: SessionModel) {
    guard (try? checkPlace(.streams(session.id))) != nil else { return }
    add(StreamModel(.incoming(reader), reader.name, reader.member, at: Timestamp.now), to: session)
  }

  @discardableResult
  func add(_ stream: StreamModel, to session: SessionModel) -> Item? {
    session.streamModels[stream.id] = stream
    guard let item = publish(stream, in: session) else { return nil }
    events.publish(
      "streamOpened", about: "\(session.streams.path)/\(stream.id)", session.owner, [.init("name", .text(stream.name))])
    return item
  }

  func ended(_ id: String, _ reason: Reason, in session: String) {
    guard let session = sessions[session], let stream = session.streamModels[id], stream.state == .open else { return }
    stream.state = reason == .none ? .closed : .failed
    meters.ended(.stream, stream.isIncoming ? .incoming : .outgoing, reason == .none ? "complete" : "\(reason)")
    if reason != .none { stream.reason = "\(reason)" }
    publish(stream, in: session)
    events.publish(
      "streamEnded", about: "\(session.streams.path)/\(id)", session.owner,
      [.init("name", .text(stream.name)), .init("reason", .text("\(reason)"))])
  }

  func stream(_ id: String, in session: SessionModel) throws(Problem) -> StreamModel {
    guard let stream = session.streamModels[id] else { throw .missing("stream", id) }
    return stream
  }
}

/// A stream as an HTTP body, as fast as the client reads it.
final class StreamDownload: BodySource {
  private let core: Core
  private let session: String
  private let stream: StreamModel
  private let reader: StreamReader
  private var piece: [UInt8] = []
  private var sent = 0
  private var isReading = false
  private var end: Pulled?
  private weak var exchange: Exchange?

  init(_ core: Core, _ session: String, _ stream: StreamModel, _ reader: StreamReader) {
    self.core = core
    self.session = session
    self.stream = stream
    self.reader = reader
  }

  func begin(_ exchange: Exchange) {
    self.exchange = exchange
    exchange.onAbort = { [self] in gone() }
    var response = Self.head()
    response.body = .source(self, length: nil)
    core.respond(response, to: exchange)
  }

  static func head() -> Response {
    var response = Response(200)
    response.headers.append("Content-Type", "application/octet-stream")
    return response
  }

  func pull(_ room: UnsafeMutableRawBufferPointer) -> Pulled {
    if sent == piece.count {
      if let end { return end }
      read()
      return .nothingYet
    }
    let count = min(room.count, piece.count - sent)
    piece.withUnsafeBytes { room.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[sent..<sent + count])) }
    sent += count
    return .wrote(count)
  }

  private func read() {
    if isReading { return }
    isReading = true
    core.downloads[stream.id] = self
    let (reader, id) = (reader, stream.id)
    core.start { core in
      do {
        core.downloads[id]?.read(try await reader.read())
      } catch {
        core.downloads[id]?.fail()
      }
    }
  }

  private func read(_ bytes: [UInt8]?) {
    isReading = false
    sent = 0
    piece = bytes ?? []
    stream.bytes += UInt64(piece.count)
    if bytes == nil { over(.end, .none) }
    exchange?.wake()
  }

  private func fail() {
    over(.failed, .lost)
    exchange?.wake()
  }

  private func over(_ end: Pulled, _ reason: Reason) {
    self.end = end
    core.downloads[stream.id] = nil
    core.ended(stream.id, reason, in: session)
  }

  /// The client has closed the download.
  private func gone() {
    core.downloads[stream.id] = nil
    guard end == nil else { return }
    let (reader, id, session) = (reader, stream.id, session)
    core.start { core in
      await reader.cancel()
      core.ended(id, .cancelled, in: session)
    }
  }
}
