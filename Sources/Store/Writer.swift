package import Reactor
internal import Synchronization

/// A write queue in front of a database, on a thread of its own, with group commit: pending requests are committed
/// together, and then answered.
///
/// Each body is atomic: it is written with all of its changes or, where it throws, with none. It may run again if its
/// batch could not be committed, so it changes nothing but the database.
///
/// ```swift
/// try await writer.perform { database in try database.run("DELETE FROM token WHERE id = ?", id) }
/// ```
public actor Writer {
  /// Limit on requests that wait for a slow disk.
  public static let queueMax = 4_096
  /// Limit of a batch: in a larger one the first request would wait for long.
  private static let batchMax = 256
  /// Pages in the log at which a checkpoint begins: more would be one longer burst for the disk.
  public static let logPagesMax = 2_000
  /// Backpressure: at so many times that number, where writes outrun the checkpointer, writers wait for a checkpoint.
  private static let logBackpressureFactor = 8

  private struct Request: Sendable {
    let body: @Sendable (Database) throws -> Void
    let answer: @Sendable ((any Error)?) -> Void
  }

  private struct Queue {
    var waiting: [Request] = []
    /// Whether the thread has been woken for pending requests.
    var isWoken = false
    var isClosed = false
  }

  nonisolated private let reactor: Reactor
  nonisolated private let queue = Mutex(Queue())
  private var database: Database?
  private let checkpointer: Checkpointer
  private let logPagesMax: Int
  private var isCheckpointing = false
  public nonisolated let meter = WriterMeter()
  /// The commits that were missing when the database was opened; nil for none.
  public nonisolated let loss: StoreLoss?

  /// Opens the database on the calling thread, which waits for that.
  public init(_ path: String, schema: Schema, logPagesMax: Int = Writer.logPagesMax) throws {
    let database = try Database(path, schema: schema)
    loss = database.loss
    self.database = database
    checkpointer = try Checkpointer(path)
    self.logPagesMax = logPagesMax
    reactor = try Reactor()
    reactor.start(.first)
  }

  /// The number of pending requests.
  public nonisolated var waitingCount: Int { queue.withLock { $0.waiting.count } }

  deinit {
    // Not isolated: with that, Swift 6.3 cannot optimise an asynchronous `main` that makes a writer.
    reactor.stop()
  }

  public nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  /// The loops of its threads, for tests that choose their order.
  package nonisolated var reactors: [Reactor] { [reactor, checkpointer.reactor] }

  // MARK: Requests

  /// Runs a body; returns when its changes would survive a power cut.
  public nonisolated func perform<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    let box = ResultBox<Result>()
    return try await withCheckedThrowingContinuation { continuation in
      let refusal = enqueue { database in
        box.value.withLock { $0 = nil }
        let value = try body(database)
        box.value.withLock { $0 = value }
      } answer: { error in
        switch (error, box.value.withLock { $0 }) {
        case (let error?, _): continuation.resume(throwing: error)
        case (nil, let value?): continuation.resume(returning: value)
        case (nil, nil): preconditionFailure("a body that has ended well has a result")
        }
      }
      if let refusal { continuation.resume(throwing: refusal) }
    }
  }

  /// The same for a caller that does not wait: the answer comes on the writer's thread, nil for success. A returned
  /// error is the answer.
  @discardableResult
  public nonisolated func enqueue(
    _ body: @escaping @Sendable (Database) throws -> Void, answer: @escaping @Sendable ((any Error)?) -> Void
  ) -> StoreError? {
    let (refusal, needsWake) = queue.withLock { queue -> (StoreError?, Bool) in
      if queue.isClosed { return (.closed, false) }
      if queue.waiting.count >= Self.queueMax { return (.overloaded(countMax: Self.queueMax), false) }
      queue.waiting.append(Request(body: body, answer: answer))
      defer { queue.isWoken = true }
      return (nil, !queue.isWoken)
    }
    if needsWake { reactor.spawn { await self.commitPending() } }
    return refusal
  }

  /// Copies the whole database into a file, which may replace another, while others continue to write.
  public func backUp(to path: String) async throws {
    guard let database else { throw StoreError.closed }
    let backup = try Backup(of: database, to: path, onFork: database.onFork)
    do {
      while try !backup.step() { await Task.yield() }
    } catch {
      try? backup.end(isWhole: false)
      throw error
    }
    try backup.end(isWhole: true)
  }

  /// Checkpoints and truncates the log: earlier removed rows are in neither file any more.
  public func truncateLog() throws {
    guard let database else { throw StoreError.closed }
    try database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /// Commits the pending requests, and closes the file.
  public func close() async {
    queue.withLock { $0.isClosed = true }
    commitPending()
    await checkpointer.waitUntilIdle()
    database = nil
  }

  // MARK: Writing

  private func commitPending() {
    while let database, let batch = next() {
      commit(batch[...], to: database)
      checkpointIfNeeded(database)
    }
  }

  private nonisolated func next() -> [Request]? {
    queue.withLock { queue in
      guard !queue.waiting.isEmpty else {
        queue.isWoken = false
        return nil
      }
      let batch = Array(queue.waiting.prefix(Self.batchMax))
      queue.waiting.removeFirst(batch.count)
      return batch
    }
  }

  /// Commits a batch. If that fails, one request may be the cause: each half is tried on its own, until that request
  /// gets its own answer.
  private func commit(_ batch: ArraySlice<Request>, to database: Database) {
    do {
      try write(batch, to: database)
      for request in batch { request.answer(nil) }
    } catch {
      guard batch.count > 1 else { return batch.forEach { $0.answer(error) } }
      commit(batch.prefix(batch.count / 2), to: database)
      commit(batch.dropFirst(batch.count / 2), to: database)
    }
  }

  private func write(_ batch: ArraySlice<Request>, to database: Database) throws {
    let began = ContinuousClock.now
    var isWritten = false
    do {
      try database.run("BEGIN IMMEDIATE")
      let before = database.totalChanges
      for request in batch { try request.body(database) }
      isWritten = true
      try database.commit(changedSince: before) { () throws(StoreError) in try database.run("COMMIT") }
      meter.countCommit(in: ContinuousClock.now - began)
    } catch {
      // An error that a body throws is no failure of the disk.
      if isWritten || !database.connection.isInTransaction { meter.countFailure() }
      if database.connection.isInTransaction { try? database.connection.execute("ROLLBACK") }
      throw error
    }
  }
}

// MARK: - The write-ahead log

extension Writer {
  /// Checkpoints the log if it is long. Nobody waits for the checkpointer; it leaves few pages, and after the last of
  /// them the log restarts.
  private func checkpointIfNeeded(_ database: Database) {
    let pages = database.connection.logPages
    if pages > logPagesMax * Self.logBackpressureFactor {
      // If it fails, the next commit tries again.
      _ = try? database.connection.checkpoint()
    } else if pages > logPagesMax, !isCheckpointing {
      isCheckpointing = true
      reactor.spawn { [checkpointer] in
        try? await checkpointer.checkpoint()
        await self.finishCheckpoint()
      }
    }
  }

  private func finishCheckpoint() {
    isCheckpointing = false
    _ = try? database?.connection.checkpoint()
  }
}

/// A result on its way from the writer's thread.
private final class ResultBox<Value: Sendable>: Sendable {
  let value = Mutex<Value?>(nil)
}
