/// What goes out to one WebSocket: its own frames and those of the rings that it hears, merged by the order in which they
/// were said.
///
/// Laws:
/// - A cursor stands between frames. What is left of a frame that the socket took in part is copied and goes out first.
/// - Where more than one queue has something, frames go by their order; where one has, all that is there goes at once.
/// - Frames of a ring that drops its oldest go first, once what was queued before its subscription is out.
final class Outflow {
  private struct Cursor {
    let fanout: Fanout
    var next: Int
    /// Where it stops hearing.
    var end: Int?
    /// Whether the last frames in a row were for it.
    var heard: (run: UInt64, isIncluded: Bool)?
    /// The own frame before which nothing of it goes out.
    let start: Int
    /// How many frames were dropped before they could go out.
    var droppedCount = 0

    var last: Int { end ?? fanout.log.end }
    /// One that stopped hearing is done, too, where the ring no longer has the rest.
    var isDone: Bool { end.map { next >= $0 || next < fanout.log.start } ?? false }
  }

  /// What is given to a socket at once.
  private static let runBytesMax = 256 << 10

  private let meter: WebMeter
  private let own = FrameLog()
  private var cursors: [Cursor] = []
  /// Whether any of them stops hearing.
  private var hasEnds = false
  private var partial: [UInt8] = []
  private var partialSent = 0
  /// Whether the socket takes nothing now.
  var isBlocked = false
  /// Whether a flush was asked for.
  var isDue = false

  init(_ meter: WebMeter) {
    self.meter = meter
  }

  var ownBytes: Int { own.byteCount + partial.count - partialSent }

  var isEmpty: Bool {
    own.isEmpty && partialSent == partial.count && cursors.allSatisfy { $0.isDone || $0.next >= $0.last }
  }

  func append(_ frame: Frame, _ payload: UnsafeRawBufferPointer) {
    own.append(frame, payload, order: SayingOrder.next())
  }

  /// Goes out before everything else.
  func begin(with bytes: [UInt8]) { partial = bytes + partial }

  /// A frame that is one already.
  func append(_ frame: [UInt8]) {
    frame.withUnsafeBytes { own.append($0, order: SayingOrder.next()) }
  }

  // MARK: Rings

  func add(_ fanout: Fanout) {
    cursors.append(Cursor(fanout: fanout, next: fanout.log.end, start: own.end))
  }

  func end(_ fanout: Fanout) {
    guard let index = cursors.lastIndex(where: { $0.fanout === fanout && $0.end == nil }) else { return }
    cursors[index].end = fanout.log.end
    hasEnds = true
  }

  func endRings() {
    hasEnds = true
    for index in cursors.indices where cursors[index].end == nil { cursors[index].end = cursors[index].fanout.log.end }
  }

  func remove(_ fanout: Fanout) {
    for cursor in cursors where cursor.fanout === fanout { meter.framesDropped += max(0, cursor.last - cursor.next) }
    cursors.removeAll { $0.fanout === fanout }
  }

  func forgetAll(_ socket: WebSocket) {
    for cursor in cursors { cursor.fanout.forget(socket) }
  }

  /// How many frames of it are still to go out.
  func waitingCount(of fanout: Fanout) -> Int {
    cursors.reduce(0) { $1.fanout === fanout ? $0 + max(0, $1.last - $1.next) : $0 }
  }

  /// How many of its frames were dropped for this socket.
  func droppedCount(of fanout: Fanout) -> Int {
    cursors.reduce(0) { $1.fanout === fanout ? $0 + $1.droppedCount : $0 }
  }

  func isBehind(_ fanout: Fanout) -> Bool {
    !fanout.drops && cursors.contains { $0.fanout === fanout && $0.next < min(fanout.log.start, $0.last) }
  }

  // MARK: Sending

  /// Sends what the transport takes; false where it is broken.
  func flush(to transport: Transport, for socket: WebSocket) -> Bool {
    isBlocked = false
    while !isBlocked {
      if partialSent < partial.count {
        let rest = partial.withUnsafeBytes { transport.write(UnsafeRawBufferPointer(rebasing: $0[partialSent...])) }
        guard let count = write(rest) else { return false }
        partialSent += count
        continue
      }
      if partialSent > 0 { (partial, partialSent) = ([], 0) }
      if hasEnds { removeDone() }
      if let urgent = nextUrgent() {
        if tellDropped(at: urgent) { continue }
        guard sendRing(urgent, upTo: .max, transport, socket) else { return false }
        continue
      }
      guard let (index, limit) = nextSource() else { break }
      guard
        index < 0
          ? sendOwn(upTo: limit, transport) : sendRing(index, upTo: limit, transport, socket)
      else { return false }
    }
    if own.isEmpty { own.release() }
    return true
  }

  private func removeDone() {
    cursors.removeAll { $0.isDone }
    hasEnds = cursors.contains { $0.end != nil }
  }

  /// A ring that drops its oldest and has something for the socket.
  private func nextUrgent() -> Int? {
    cursors.firstIndex { $0.fanout.drops && $0.next < $0.last && own.start >= $0.start }
  }

  /// Whether something was dropped, which is said in its place.
  private func tellDropped(at index: Int) -> Bool {
    let (fanout, next) = (cursors[index].fanout, cursors[index].next)
    let count = fanout.log.start - next
    guard count > 0, let notice = fanout.notice(ofDropped: count, left: fanout.log.end - fanout.log.start) else {
      return false
    }
    cursors[index].next = fanout.log.start
    cursors[index].droppedCount += count
    partial += notice
    meter.framesDropped += count
    meter.framesOut += 1
    meter.frameBytesOut += notice.count
    return true
  }

  /// The queue whose next frame was said first (−1 for the own one), and the order up to which it alone has frames.
  private func nextSource() -> (index: Int, limit: UInt64)? {
    var (first, index, limit) = (UInt64.max, Int.min, UInt64.max)
    func see(_ order: UInt64, _ candidate: Int) {
      if order < first { (limit, first, index) = (first, order, candidate) } else { limit = min(limit, order) }
    }
    if !own.isEmpty { see(own.order(of: own.start), -1) }
    for (candidate, cursor) in cursors.enumerated() where cursor.next < cursor.last {
      // What the ring has dropped, its subscriber is told of elsewhere.
      if cursor.next >= cursor.fanout.log.start { see(cursor.fanout.log.order(of: cursor.next), candidate) }
    }
    return index == .min ? nil : (index, limit)
  }

  private func sendOwn(upTo limit: UInt64, _ transport: Transport) -> Bool {
    let last = run(of: own, from: own.start, to: own.end, upTo: limit)
    guard let next = send(own, own.start..<last, transport) else { return false }
    own.drop(before: next)
    return true
  }

  private func sendRing(
    _ index: Int, upTo limit: UInt64, _ transport: Transport, _ socket: WebSocket
  ) -> Bool {
    let (fanout, next) = (cursors[index].fanout, cursors[index].next)
    let log = fanout.log
    let last = run(of: log, from: next, to: cursors[index].last, upTo: limit)
    if !includes(socket, index, log.run(of: next)) {
      for frame in next..<last {
        guard let otherwise = fanout.audience(of: frame)?.otherwise else { continue }
        partial += otherwise
        meter.framesOut += 1
        meter.frameBytesOut += otherwise.count
      }
      cursors[index].next = last
      return true
    }
    guard let next = send(log, next..<last, transport) else { return false }
    cursors[index].next = next
    return true
  }

  /// Whether the next frames of a ring are for the socket. It is asked once for frames in a row.
  private func includes(_ socket: WebSocket, _ index: Int, _ run: UInt64) -> Bool {
    if cursors[index].heard?.run != run {
      let audience = cursors[index].fanout.audience(of: cursors[index].next)
      cursors[index].heard = (run, audience?.listeners.includes(socket) ?? true)
    }
    return cursors[index].heard?.isIncluded ?? true
  }

  /// Where a run of frames ends that goes out at once: they are for the same listeners.
  private func run(of log: FrameLog, from start: Int, to end: Int, upTo limit: UInt64) -> Int {
    var end = end
    if log.byteCount(start..<end) > Self.runBytesMax {
      end = min(end, max(start + 1, log.frame(Self.runBytesMax, behind: start)))
    }
    return log.end(ofRunAt: start, upTo: end, before: limit)
  }

  /// Says which frame comes next; nil where the transport is broken.
  private func send(_ log: FrameLog, _ frames: Range<Int>, _ transport: Transport) -> Int? {
    let bytes = log.bytes(frames)
    guard let count = write(transport.write(bytes)) else { return nil }
    if count == bytes.count {
      meter.framesOut += frames.count
      meter.frameBytesOut += count
      return frames.upperBound
    }
    if count == 0 { return frames.lowerBound }
    let next = log.frame(count, behind: frames.lowerBound)
    meter.framesOut += next - frames.lowerBound
    meter.frameBytesOut += log.byteCount(frames.lowerBound..<next)
    partial = Array(bytes[count..<log.byteCount(frames.lowerBound..<next)])
    return next
  }

  /// How much was taken; nil where the transport is broken.
  private func write(_ step: Transport.Step) -> Int? {
    switch step {
    case .moved(let count): return count
    case .blocked:
      isBlocked = true
      return 0
    case .ended, .failed: return nil
    }
  }
}

extension WebSocket {
  /// How many frames of a ring that drops its oldest were dropped for this socket, since it subscribed.
  package func droppedCount(of fanout: Fanout) -> Int { outflow.droppedCount(of: fanout) }
}
