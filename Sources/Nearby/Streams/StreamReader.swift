internal import Engine

/// A stream of bytes from one member, with flow control by this reader. It is cancelled when it is released early.
///
/// The sequence ends where its writer closed it, and throws where it ended otherwise.
///
/// ```swift
/// if case .stream(let reader) = event {
///   for try await bytes in reader { print("\(bytes.count) bytes of \(reader.name)") }
/// }
/// ```
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
    let reader: StreamReader

    public func next() async throws(NearbyError) -> [UInt8]? { try await reader.read() }

    public func next(isolation actor: isolated (any Actor)?) async throws(NearbyError) -> [UInt8]? {
      try await reader.read()
    }
  }

  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: self) }

  /// The next bytes; nil at the end.
  public func read() async throws(NearbyError) -> [UInt8]? {
    if let piece = await state.mailbox.next() {
      loop.post { [id = state.id] in $0.consumed(piece.count, of: id) }
      return piece
    }
    if Task.isCancelled { throw NearbyError(.cancelled, "the read was cancelled") }
    let reason = await state.outcome.value
    if reason != .none { throw NearbyError(reason, of: "the stream \(name)") }
    return nil
  }

  /// Cancels the rest of it.
  public func cancel() async {
    try? await loop.run { [id = state.id] in $0.cancelStream(id) }
  }
}

/// The state that a stream's reader and its loop share.
final class StreamState: Sendable {
  let id: StreamID
  /// The engine gives no more than its window; this is far past it.
  let mailbox = Mailbox<[UInt8]>(weightMax: .max)
  let outcome = Promise<Reason>()

  init(_ id: StreamID) {
    self.id = id
  }

  func end(_ reason: Reason) {
    outcome.settle(reason)
    mailbox.finish()
  }
}
