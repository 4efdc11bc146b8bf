internal import Reactor
internal import Web

/// A request's body that is streamed to a target.
///
/// Backpressure: it keeps one piece while the one before is written, so that the client waits when the writing does.
final class Upload: BodySink {
  /// The work for each piece, and the callbacks.
  struct Target {
    /// Called before a piece of so many bytes is written.
    var admit: (Int) throws(Problem) -> Void = { _ throws(Problem) in }
    let write: @Sendable ([UInt8]) async throws -> Void
    var wrote: (Int) -> Void = { _ in }
    /// Work after all of it is written, and before `finished`.
    var finish: (@Sendable (Core) async throws -> Void)?
    /// Called when all of it is written.
    let finished: () -> Void
    let failed: (Problem) -> Void
    /// Called when the client left in the middle, and not during `finish`.
    let gone: () -> Void
  }

  /// The time that less than one unit waits for the rest of it.
  private static let partialUnitWait = Duration.milliseconds(100)

  let isLive: Bool
  private let core: Core
  private let target: Target
  let number: UInt64
  private let pieceMax: Int
  private let unit: Int
  private var offset: UInt64
  private var waiting: [UInt8] = []
  /// The size of the last piece.
  private var pieceBytes = 0
  private var waitsForMore = false
  private var isWriting = false
  private var isAtEnd = false
  private var isFinishing = false
  private var isOver = false
  private weak var exchange: Exchange?

  /// Pieces end where a unit ends, as long as more comes.
  init(
    _ core: Core, isLive: Bool = false, pieceMax: Int = 256 << 10, unit: Int = 1, at offset: UInt64 = 0,
    _ target: Target
  ) {
    self.core = core
    self.isLive = isLive
    self.target = target
    self.pieceMax = pieceMax
    self.unit = unit
    self.offset = offset
    number = core.number()
  }

  func begin(_ exchange: Exchange, bytesMax: Int = .max) {
    self.exchange = exchange
    core.uploads[number] = self
    exchange.onAbort = { [core, number] in core.uploads[number]?.abort() }
    exchange.readBody(bytesMax: bytesMax, into: self)
  }

  func take(_ bytes: UnsafeRawBufferPointer, from exchange: Exchange) -> Int {
    if isOver { return bytes.count }
    var taken = 0
    _ = take(upTo: bytes.count, from: exchange) { room in
      taken = room.count
      room.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<taken]))
      return taken
    }
    return taken
  }

  func take(
    upTo bytesMax: Int, from exchange: Exchange, by read: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Bool {
    let room = min(pieceMax - waiting.count, bytesMax)
    if room == 0 { return false }
    // The next piece will be about as long as the last one, and need not grow to that step by step.
    if waiting.count < unit { waiting.reserveCapacity(waiting.count + max(room, pieceBytes)) }
    waiting.append(addingCapacity: room) { span in
      span.withUnsafeMutableBufferPointer { $1 = read(UnsafeMutableRawBufferPointer($0.extracting(..<room))) }
    }
    if isOver { waiting = [] } else if !waiting.isEmpty { write() }
    return true
  }

  func finished(_ exchange: Exchange) {
    isAtEnd = true
    write()
  }

  private func write(isPatient: Bool = true) {
    guard !isWriting, !isOver else { return }
    if waiting.isEmpty { return isAtEnd && !isFinishing ? finish() : () }
    let behindUnits = Int((offset + UInt64(waiting.count)) % UInt64(unit))
    let kept = isPatient && !isAtEnd ? min(waiting.count, behindUnits) : 0
    if kept == waiting.count { return waitForMore() }
    do throws(Problem) {
      try target.admit(waiting.count - kept)
    } catch {
      return fail(error)
    }
    let rest = Array(waiting.suffix(kept))
    waiting.removeLast(kept)
    let piece = waiting
    pieceBytes = piece.count
    offset += UInt64(piece.count)
    waiting = rest
    isWriting = true
    let (write, number) = (target.write, number)
    core.start { core in
      do {
        try await write(piece)
        core.uploads[number]?.wrote(piece.count)
      } catch {
        core.uploads[number]?.fail(Problem(wrapping: error))
      }
    }
  }

  private func waitForMore() {
    if waitsForMore { return }
    waitsForMore = true
    core.reactor.schedule(after: Self.partialUnitWait) { [self] in
      waitsForMore = false
      write(isPatient: false)
    }
  }

  private func finish() {
    guard let finish = target.finish else { return finished() }
    isFinishing = true
    let number = number
    core.start { core in
      do {
        try await finish(core)
        core.uploads[number]?.finished()
      } catch {
        core.uploads[number]?.fail(Problem(wrapping: error))
      }
    }
  }

  private func finished() {
    if end() { target.finished() }
  }

  private func wrote(_ count: Int) {
    isWriting = false
    target.wrote(count)
    exchange?.resume()
    write()
  }

  /// Ends the upload with an error, also where its target has ended by itself.
  func fail(_ problem: Problem) {
    if end() { target.failed(problem) }
  }

  /// Ends the upload of a client that has gone, or is cut off.
  func abort() {
    if !isFinishing, end() { target.gone() }
  }

  private func end() -> Bool {
    guard !isOver else { return false }
    isOver = true
    waiting = []
    core.uploads[number] = nil
    return true
  }
}
