package import Reactor
internal import Synchronization

/// A database on a thread of its own, which many write to: what waits is committed together, and then everybody is told.
///
/// Each body is a whole: it is written with all of its changes or, where it throws, with none. It may be run again, where
/// those that were to be committed with it could not, so it changes nothing but the database.
///
/// ```swift
/// try await writer.perform { database in try database.run("DELETE FROM token WHERE id = ?", id) }
/// ```
public actor Writer {
  /// What waits for a slow disk at most.
  public static let queueMax = 4_096
  /// More would make the first of them wait for long.
  private static let batchMax = 256
  /// Pages in the log after which they are brought to the file: more would be one longer burst for the disk.
  public static let logPagesMax = 2_000
  /// So many times that, where it is written quicker than it is brought there, those who write wait for it.
  private static let logPatience = 8

  private struct Request: Sendable {
    let body: @Sendable (Database) throws -> Void
    let answer: @Sendable ((any Error)?) -> Void
  }

  private struct Queue {
    var waiting: [Request] = []
    /// Whether the thread knows that something waits.
    var isAnnounced = false
    var isClosed = false
  }

  nonisolated private let reactor: Reactor
  nonisolated private let queue = Mutex(Queue())
  private var database: Database?
  private let frames = LogFrames()
  private let sweeper: LogSweeper
  private let logPagesMax: Int
  private var isSweeping = false
  public nonisolated let meter = WriterMeter()
  /// The commits that were missing when the database was opened; nil for none.
  public nonisolated let loss: StoreLoss?

  /// Opens the database on the calling thread, which waits for that.
  public init(_ path: String, schema: Schema = .house, logPagesMax: Int = Writer.logPagesMax) throws {
    let database = try Database(path, schema: schema)
    loss = database.loss
    self.database = database
    sweeper = try LogSweeper(path)
    self.logPagesMax = logPagesMax
    reactor = try Reactor()
    reactor.start(.first)
  }

  /// Bodies that wait to be written.
  public nonisolated var waitingCount: Int { queue.withLock { $0.waiting.count } }

  deinit {
    // Not isolated: with that, Swift 6.3 cannot optimise an asynchronous `main` that makes a writer.
    reactor.stop()
  }

  public nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  /// The loops of its threads, for tests that choose their order.
  package nonisolated var reactors: [Reactor] { [reactor, sweeper.reactor] }

  // MARK: Asking

  /// Returns when what the body has written would be there after a power cut.
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

  /// The same for who does not wait: the answer comes on the writer's thread, none where all is well. An error that is
  /// returned is the answer.
  @discardableResult
  public nonisolated func enqueue(
    _ body: @escaping @Sendable (Database) throws -> Void, answer: @escaping @Sendable ((any Error)?) -> Void
  ) -> StoreError? {
    let (refusal, isNews) = queue.withLock { queue -> (StoreError?, Bool) in
      if queue.isClosed { return (.closed, false) }
      if queue.waiting.count >= Self.queueMax { return (.overloaded(countMax: Self.queueMax), false) }
      queue.waiting.append(Request(body: body, answer: answer))
      defer { queue.isAnnounced = true }
      return (nil, !queue.isAnnounced)
    }
    if isNews { reactor.spawn { await self.work() } }
    return refusal
  }

  /// Copies all of it into a file, in whose place another may be, while others go on writing.
  public func backUp(to path: String) async throws {
    guard let database else { throw StoreError.closed }
    let backup = try Backup(of: database, to: path)
    do {
      while try !backup.step() { await Task.yield() }
    } catch {
      try? backup.end(isWhole: false)
      throw error
    }
    try backup.end(isWhole: true)
  }

  /// Brings the log's pages to the file, and makes it empty: what was removed before is in neither of them any more.
  public func emptyLog() throws {
    guard let database else { throw StoreError.closed }
    try database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /// Writes what waits, and lets go of the file.
  public func close() async {
    queue.withLock { $0.isClosed = true }
    work()
    await sweeper.rest()
    database = nil
  }

  // MARK: Writing

  private func work() {
    while let database, let batch = next() {
      commit(batch[...], to: database)
      sweepLog(of: database)
    }
  }

  private nonisolated func next() -> [Request]? {
    queue.withLock { queue in
      guard !queue.waiting.isEmpty else {
        queue.isAnnounced = false
        return nil
      }
      let batch = Array(queue.waiting.prefix(Self.batchMax))
      queue.waiting.removeFirst(batch.count)
      return batch
    }
  }

  /// All of it at once. Where that cannot be, it may be the fault of one of them: each half gets its own chance, until the
  /// one has its own answer.
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
      let before = database.changesOfAll
      for request in batch { try request.body(database) }
      isWritten = true
      try database.commit(changedSince: before) { () throws(StoreError) in
        try frames.together { () throws(StoreError) in try database.run("COMMIT") }
      }
      meter.committed(in: ContinuousClock.now - began)
    } catch {
      // What a body says of itself is no fault of the disk's.
      if isWritten || !database.connection.isInTransaction { meter.failed() }
      if database.connection.isInTransaction { try? database.connection.execute("ROLLBACK") }
      throw error
    }
  }
}

// MARK: - The log

extension Writer {
  /// Nobody waits for what the sweeper does; what was written meanwhile is little, and then the log begins anew.
  private func sweepLog(of database: Database) {
    let pages = database.connection.logPages
    if pages > logPagesMax * Self.logPatience {
      // Where it fails, the next commit tries again.
      _ = try? database.connection.bringLogHome()
    } else if pages > logPagesMax, !isSweeping {
      isSweeping = true
      reactor.spawn { [sweeper] in
        try? await sweeper.sweep()
        await self.swept()
      }
    }
  }

  private func swept() {
    isSweeping = false
    _ = try? database?.connection.bringLogHome()
  }
}

/// A result on its way from the writer's thread.
private final class ResultBox<Value: Sendable>: Sendable {
  let value = Mutex<Value?>(nil)
}
