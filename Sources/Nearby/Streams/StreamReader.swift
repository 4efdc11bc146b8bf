internal import Engine

/// Bytes in order from one member, at the pace at which they are read here. It is cancelled when it is let go of early.
///
/// The sequence ends where its writer closed it, and throws where it ended otherwise.
public final class StreamReader: AsyncSequence, Sendable {
  public let name: String
  public let member: Member
  private let state: StreamState
  private let loop: Loop

  init(_ state: StreamState, name: String, from member: Member, _ loop: Loop) {
    self.state = state
    self.name = name
    self.member = member
    self.loop = loop
  }

  deinit {
    loop.post { [id = state.id] in $0.cancelStream(id) }
  }

  public struct AsyncIterator: AsyncIteratorProtocol {
    private let reader: StreamReader
    private var pieces: [[UInt8]] = []
    private var place = 0

    init(_ reader: StreamReader) {
      self.reader = reader
    }

    public mutating func next() async throws(NearbyError) -> [UInt8]? {
      if place == pieces.count {
        pieces = try await reader.take()
        place = 0
      }
      guard place < pieces.count else { return nil }
      defer { place += 1 }
      return pieces[place]
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

  /// Wants no more of it.
  public func cancel() async {
    try? await loop.run { [id = state.id] in $0.cancelStream(id) }
  }

  /// What has come and was not read; empty at the end.
  private func take() async throws(NearbyError) -> [[UInt8]] {
    let pieces = await state.mailbox.take()
    guard pieces.isEmpty else {
      let count = pieces.reduce(0) { $0 + $1.count }
      loop.post { [id = state.id] in $0.consumed(count, of: id) }
      return pieces
    }
    if Task.isCancelled { throw NearbyError(.cancelled, "the read was cancelled") }
    let reason = await state.outcome.value
    if reason != .none { throw NearbyError(reason, of: "the stream \(name)") }
    return []
  }
}

/// A stream that is read, as its reader and its loop share it.
final class StreamState: Sendable {
  let id: StreamID
  /// The engine gives no more than its window; this is far past it.
  let mailbox = Mailbox<[UInt8]>(weightMax: .max)
  let outcome = Outcome<Reason>()

  init(_ id: StreamID) {
    self.id = id
  }

  func end(_ reason: Reason) {
    outcome.settle(reason)
    mailbox.finish()
  }
}
