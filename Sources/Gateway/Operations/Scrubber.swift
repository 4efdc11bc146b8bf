internal import Glibc
internal import Media
internal import Nearby
internal import Reactor
internal import Store
internal import Synchronization

/// A background check of all stored files and rows, on a thread of its own, pass after pass.
///
/// It reads a piece, pauses, and reads the next: at most `bytesPerSecondMax`, and at most a tenth of the time, so that
/// requests keep the disk and the processor. A pass is spread over `scrubTime`. Its progress is saved, so that it resumes
/// after a restart.
actor Scrubber {
  /// The size of one read of a file.
  private static let pieceBytes = 256 << 10
  /// Small stores are read faster than the pass requires, so that a disk can sleep afterwards.
  private static let bytesPerSecondMin = 1 << 20
  /// A small part of a disk's throughput. A pass over a very large store takes longer than `scrubTime`.
  private static let bytesPerSecondMax = 16 << 20
  /// The pause after a read, in multiples of the time that the read took: a slow or busy disk is read less.
  private static let pauseFactor: UInt64 = 9
  /// Limit on what is read again after a crash.
  private static let bytesBetweenSaves = 64 << 20
  /// Files that are listed in one turn of the loop.
  private static let batchMax = 64
  /// The time until the scrub retries a database that is locked.
  private static let retryTime: Duration = .seconds(60)

  private nonisolated let reactor: Reactor
  private let folder: String
  private let passSeconds: Int
  private weak var gateway: Gateway?
  private let room = Pages(Scrubber.pieceBytes)
  private var progress: ScrubProgress
  private var bytesSinceSave = 0
  private var bytesPerSecond = Scrubber.bytesPerSecondMin
  private var isStopped = false
  private var isRunning = false
  /// Called when it has ended.
  private var onEnd: CheckedContinuation<Void, Never>?
  private var pause: (timer: Timer, end: CheckedContinuation<Void, Never>)?
  private let meter: ScrubMeter

  init(_ options: GatewayOptions, _ gateway: Gateway) throws {
    meter = gateway.scrubMeter
    folder = options.folder
    passSeconds = max(1, Int(options.scrubTime.components.seconds))
    self.gateway = gateway
    progress = ScrubProgress(in: options.folder) ?? ScrubProgress(began: ScrubProgress.now)
    reactor = try Reactor()
    reactor.start(.last)
  }

  deinit { reactor.stop() }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  nonisolated func start() { reactor.spawn { await self.run() } }

  /// Ends after the current piece, and returns then: while it reads the database, no log is written back on closing.
  func stop() async {
    if isStopped { return }
    progress.save(in: folder)
    isStopped = true
    endPause()
    await withCheckedContinuation { continuation in
      // It may have ended before this begins.
      if isRunning { onEnd = continuation } else { continuation.resume() }
    }
  }

  nonisolated func stopSoon() { reactor.spawn { await self.stop() } }

  // MARK: Passes

  private func run() async {
    isRunning = true
    defer {
      isRunning = false
      onEnd.take()?.resume()
    }
    while !isStopped {
      if case .done = progress.part {
        await rest(.seconds(progress.secondsLeft(of: passSeconds)))
        if isStopped { return }
        progress = ScrubProgress(began: ScrubProgress.now)
      }
      guard let bytes = await answer({ $0.bytesToScrub }) else { return }
      bytesPerSecond = min(max(bytes / passSeconds, Self.bytesPerSecondMin), Self.bytesPerSecondMax)
      await checkFiles()
      await checkRows()
      if isStopped { return }
      progress.part = .done
      progress.save(in: folder)
      await answer { $0.endScrubPass() }
    }
  }

  /// Runs a closure on the gateway's loop; nil if the gateway has stopped.
  @discardableResult
  private func answer<Value: Sendable>(_ body: @escaping @Sendable (Core) -> Value) async -> Value? {
    await gateway?.answer(body)
  }

  private func checkFiles() async {
    while !isStopped, case .files(let last) = progress.part {
      guard let files = await answer({ $0.filesToScrub(after: last, atMost: Self.batchMax) }), let end = files.last
      else {
        if !isStopped { progress.part = .rows(after: nil) }
        return
      }
      for file in files {
        let finding = await check(file.path)
        if isStopped { return }
        await answer { $0.scrubbed(file, finding) }
        progress.part = .files(after: file.key)
        saveSometimes()
      }
      progress.part = .files(after: end.key)
    }
  }

  private func checkRows() async {
    let path = "\(folder)/\(Gateway.storeName)"
    while !isStopped, case .rows(let last) = progress.part {
      do throws(StoreError) {
        let scrub = try StoreScrub(path, after: last)
        while !isStopped {
          let began = Reactor.now
          let step = try scrub.step()
          let damage = step.damage
          if !damage.isEmpty { await answer { core in for one in damage { core.found(one) } } }
          if step.isLast { return }
          if let position = scrub.position { progress.part = .rows(after: position) }
          await settle(step.bytes, since: began)
          saveSometimes()
        }
      } catch {
        if let damage = StoreScrub.Damage(error) {
          await answer { $0.found(damage) }
          return
        }
        // Another process has locked it, or memory is short.
        await rest(Self.retryTime)
      }
    }
  }

  private func saveSometimes() {
    guard bytesSinceSave >= Self.bytesBetweenSaves else { return }
    bytesSinceSave = 0
    progress.save(in: folder)
  }

  // MARK: Files

  /// Reads a whole file.
  private func check(_ path: String) async -> FileFinding {
    do throws(SystemError) {
      let file = try Descriptor.opened(path, O_RDONLY | O_NOFOLLOW)
      return try await read(file)
    } catch {
      switch error.code {
      case ENOENT: return .damaged("it is gone")
      case EIO: return .damaged("\(error)")
      default: return .unread("\(error)")
      }
    }
  }

  private func read(_ file: borrowing Descriptor) async throws(SystemError) -> FileFinding {
    let hash = RunningHash()
    let size = UInt64(try file.status().st_size)
    var (offset, isPastMemory) = (UInt64(0), true)
    while !isStopped {
      let began = Reactor.now
      var count = isPastMemory ? file.readPastMemory(room, at: offset) : nil
      isPastMemory = count != nil
      if count == nil { count = pread(file.number, room.room.baseAddress, Self.pieceBytes, off_t(offset)) }
      let code = errno
      guard let count, count >= 0 else {
        if code == EINTR { continue }
        guard code == EIO else { throw SystemError("read", code: code) }
        return .damaged("bytes \(offset) to \(min(offset + UInt64(Self.pieceBytes), size)) cannot be read")
      }
      hash.add(UnsafeRawBufferPointer(rebasing: room.room[..<count]))
      offset += UInt64(count)
      await settle(count, since: began)
      // `O_DIRECT` reads whole pages; a part of one is the end.
      if count == 0 || count % Pages.bytes != 0 { break }
    }
    return .read(ContentDigest(hash.finish()), size: offset)
  }

  // MARK: Pace

  /// Pauses after a piece.
  private func settle(_ bytes: Int, since began: UInt64) async {
    meter.read(bytes)
    bytesSinceSave += bytes
    let took = Reactor.now - began
    let share = UInt64(bytes) * 1_000_000_000 / UInt64(bytesPerSecond)
    await rest(.nanoseconds(max(took * Self.pauseFactor, share > took ? share - took : 0)))
  }

  private func rest(_ time: Duration) async {
    if isStopped { return }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      pause = (reactor.schedule(after: time) { [weak self] in self?.assumeIsolated { $0.endPause() } }, continuation)
    }
  }

  private func endPause() {
    guard let (timer, end) = pause else { return }
    pause = nil
    reactor.cancel(timer)
    end.resume()
  }
}

/// The result of reading a whole file.
enum FileFinding: Sendable {
  case read(ContentDigest, size: UInt64)
  /// The damage and its position.
  case damaged(String)
  /// The reason why the file could not be checked.
  case unread(String)
}

/// The number of bytes that the scrub has read; thread-safe.
final class ScrubMeter: Sendable {
  private let count = Atomic<Int>(0)

  var bytes: Int { count.load(ordering: .relaxed) }

  func read(_ bytes: Int) { count.wrappingAdd(bytes, ordering: .relaxed) }
}

extension StoreScrub.Damage {
  /// Nil for errors that are no damage of the file.
  fileprivate init?(_ error: StoreError) {
    switch error {
    case .damaged, .notADatabase, .failed: self = .structure("\(error)")
    default: return nil
    }
  }
}
