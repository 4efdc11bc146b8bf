internal import Engine
internal import Synchronization

/// A stream of bytes to one member of a session. It is cancelled when it is released before it was closed.
///
/// ```swift
/// let writer = try await session.openStream("sensor", to: member)
/// try await writer.write(reading)
/// await writer.close()
/// ```
public final class StreamWriter: Sendable {
  /// The size of a single write to the engine; a longer one is split.
  private static let pieceMax = 256 << 10

  public let name: String
  public let member: Member
  private let state: StreamWriterState
  private let loop: Loop

  init(_ state: StreamWriterState, name: String, to member: Member, _ loop: Loop) {
    self.state = state
    self.name = name
    self.member = member
    self.loop = loop
  }

  deinit {
    loop.post { [id = state.id] in $0.cancelStream(id) }
  }

  /// Writes the bytes, at the pace of the reader.
  public func write(_ bytes: [UInt8]) async throws(NearbyError) {
    if bytes.count <= Self.pieceMax { return try await write(piece: bytes) }
    var start = 0
    while start < bytes.count {
      let end = min(bytes.count, start + Self.pieceMax)
      try await write(piece: Array(bytes[start..<end]))
      start = end
    }
  }

  private func write(piece: [UInt8]) async throws(NearbyError) {
    while try await !loop.run({ [state] in try $0.write(piece, to: state) }) {
      await state.room()
      if Task.isCancelled { throw NearbyError(.cancelled, "the write was cancelled") }
    }
  }

  /// Closes the stream: written bytes still arrive.
  public func close() async {
    try? await loop.run { [id = state.id] in $0.closeStream(id) }
  }

  /// Ends it at once, with unsent bytes lost.
  public func cancel() async {
    try? await loop.run { [id = state.id] in $0.cancelStream(id) }
  }

  /// How it ended; `none` where it was closed and the other side has all of it.
  public var ended: Reason {
    get async { await state.outcome.value }
  }
}

/// The state that a stream's writer and its loop share.
final class StreamWriterState: Sendable {
  private struct Waiting {
    var isWritable = false
    var isOver = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  let id: StreamID
  let outcome = Promise<Reason>()
  private let waiting = Mutex(Waiting())

  init(_ id: StreamID) {
    self.id = id
  }

  /// The engine has refused a write and will report room.
  func markFull() { waiting.withLock { $0.isWritable = false } }

  func room() async {
    await withCheckedContinuation { continuation in
      let isRoom = waiting.withLock { waiting in
        if waiting.isWritable || waiting.isOver { return true }
        waiting.waiters.append(continuation)
        return false
      }
      if isRoom { continuation.resume() }
    }
  }

  func writable() { wake { $0.isWritable = true } }

  func end(_ reason: Reason) {
    outcome.settle(reason)
    wake { $0.isOver = true }
  }

  private func wake(_ change: (inout Waiting) -> Void) {
    let waiters = waiting.withLock { waiting in
      change(&waiting)
      defer { waiting.waiters = [] }
      return waiting.waiters
    }
    for waiter in waiters { waiter.resume() }
  }
}
