/// The output of one WebSocket: its own frames and those of its rings, merged by the order of sending.
///
/// Invariants:
/// - A cursor stands between frames. The unsent rest of a frame that the socket took in part goes out first: it is
///   copied, but for a large frame, whose bytes are shared.
/// - If several queues have frames, they go by their order; if one has, all of its frames go at once.
/// - Frames of a ring that drops its oldest go first, once the frames queued before its subscription are out.
/// - A flush sends about a share of `shareBytesMax`; the socket then waits for its turn.
final class SocketSendQueue {
  private struct Cursor {
    let fanout: Fanout
    var next: Int
    /// The frame at which the subscription ends; nil while it lasts.
    var end: Int?
    /// Whether the latest run of frames was for it.
    var inclusion: (run: UInt64, isIncluded: Bool)?
    /// The own frame before which nothing of this ring goes out.
    let start: Int
    /// The socket's numbers, where the ring is numbered.
    let numbering: Fanout.Numbering?
    /// The number of frames that were dropped before they could go out.
    var droppedCount = 0

    var last: Int { end ?? fanout.log.end }
    /// An ended subscription is done, too, where the ring no longer has the rest.
    var isDone: Bool { end.map { next >= $0 || next < fanout.log.start } ?? false }
  }

  /// Limit for the bytes given to a socket at once.
  private static let runBytesMax = 256 << 10
  /// Limit for the bytes of one flush, but for its last write.
  static let shareBytesMax = runBytesMax

  private let meter: WebMeter
  /// A buffer for output of several pieces.
  private let block: ScratchBuffer
  private let own = FrameLog()
  private var ownRun: UInt64 = 0
  private var cursors: [Cursor] = []
  /// Whether any subscription has ended.
  private var hasEnds = false
  /// The unsent rest of the frames in progress.
  private var rest = Pieces()
  /// Whether the rest is of a large frame of a ring, which has its bytes as well.
  private var isRestShared = false
  /// Whether the rest is of frames with a memory reservation.
  private var isRestReserved = false
  /// The counters for sent bytes.
  var traffic: Traffic?
  /// Whether the socket takes nothing now.
  var isBlocked = false
  /// Whether a flush is scheduled.
  var isDue = false
  /// Whether the socket waits for its turn to write.
  var hasTurn = false
  /// The bytes of the present flush.
  private var flushedBytes = 0

  init(_ meter: WebMeter, _ block: ScratchBuffer) {
    self.meter = meter
    self.block = block
  }

  /// The bytes queued here, without those in rings.
  var ownBytes: Int { own.byteCount + own.largeBytes + rest.count }
  /// The part of them without a memory reservation.
  var countedBytes: Int { own.byteCount + (isRestShared || isRestReserved ? 0 : rest.count) }

  /// Whether a large frame is to go out, or is in progress: its shares go by turns.
  var isLarge: Bool { own.largeBytes + rest.count > Self.shareBytesMax }
  /// Whether the latest flush has left something that the transport may take.
  var isCutShort: Bool { !isBlocked && flushedBytes >= Self.shareBytesMax && !isEmpty }

  var isEmpty: Bool {
    own.isEmpty && rest.isEmpty && cursors.allSatisfy { $0.isDone || $0.next >= $0.last }
  }

  func append(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer) {
    own.append(opcode, payload, order: MessageSequence.next(), run: ownRun)
  }

  /// Puts bytes before all other output.
  func begin(with bytes: [UInt8]) {
    var all = Pieces([bytes])
    all.append(rest)
    rest = all
  }

  /// Appends a frame in wire format.
  func append(_ frame: [UInt8]) {
    frame.withUnsafeBytes { own.append($0, order: MessageSequence.next(), run: ownRun) }
  }

  /// Appends frames that are large together and have a memory reservation.
  func append(_ frames: Pieces) {
    own.append(frames, order: MessageSequence.next(), run: ownRun + 1)
    ownRun += 2
  }

  // MARK: Rings

  func add(_ fanout: Fanout, _ numbering: Fanout.Numbering?) {
    cursors.append(Cursor(fanout: fanout, next: fanout.log.end, start: own.end, numbering: numbering))
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

  /// The number of frames of this ring that are still to go out.
  func waitingCount(of fanout: Fanout) -> Int {
    cursors.reduce(0) { $1.fanout === fanout ? $0 + max(0, $1.last - $1.next) : $0 }
  }

  /// The first frame of this ring whose bytes are still to go out; nil where there is none.
  func firstUnsent(of fanout: Fanout) -> Int? {
    // The rest of a large frame shares the bytes of the frame before the cursor.
    let sharedCount = isRestShared ? 1 : 0
    return cursors.lazy.filter { $0.fanout === fanout && $0.next - sharedCount < $0.last }.map { $0.next - sharedCount }
      .min()
  }

  /// The number of frames of this ring that were dropped for this socket.
  func droppedCount(of fanout: Fanout) -> Int {
    cursors.reduce(0) { $1.fanout === fanout ? $0 + $1.droppedCount : $0 }
  }

  func isBehind(_ fanout: Fanout) -> Bool {
    !fanout.dropsOldest && cursors.contains { $0.fanout === fanout && $0.next < min(fanout.log.start, $0.last) }
  }

  // MARK: Sending

  /// Sends as much as the transport takes, up to a share; false where it is broken.
  func flush(to transport: Transport) -> Bool {
    isBlocked = false
    flushedBytes = 0
    while !isBlocked, flushedBytes < Self.shareBytesMax {
      if !rest.isEmpty {
        guard rest.write(block.room, atMost: Self.runBytesMax, { write(transport.write($0)) }) != nil else {
          return false
        }
        if rest.isEmpty { (isRestShared, isRestReserved) = (false, false) }
        continue
      }
      if hasEnds { removeDone() }
      if let urgent = nextUrgent() {
        if queueDropNotice(at: urgent) { continue }
        guard sendRing(urgent, upTo: .max, transport) else { return false }
        continue
      }
      guard let (index, limit) = nextSource() else { break }
      guard
        index < 0
          ? sendOwn(upTo: limit, transport) : sendRing(index, upTo: limit, transport)
      else { return false }
    }
    if own.isEmpty { own.release() }
    return true
  }

  private func removeDone() {
    cursors.removeAll { $0.isDone }
    hasEnds = cursors.contains { $0.end != nil }
  }

  /// The cursor of a ring that drops its oldest and has frames for the socket.
  private func nextUrgent() -> Int? {
    cursors.firstIndex { $0.fanout.dropsOldest && $0.next < $0.last && own.start >= $0.start }
  }

  /// Queues a notice of dropped frames in their place; returns whether any were dropped.
  private func queueDropNotice(at index: Int) -> Bool {
    let (fanout, next) = (cursors[index].fanout, cursors[index].next)
    let count = fanout.log.start - next
    guard count > 0, let notice = fanout.notice(ofDropped: count, left: fanout.log.end - fanout.log.start) else {
      return false
    }
    cursors[index].next = fanout.log.start
    cursors[index].droppedCount += count
    rest.append(notice)
    meter.framesDropped += count
    meter.framesOut += 1
    meter.frameBytesOut += notice.count
    return true
  }

  /// The queue whose next frame is the oldest (−1 for the own one), and the order up to which it alone has frames.
  private func nextSource() -> (index: Int, limit: UInt64)? {
    var (first, index, limit) = (UInt64.max, Int.min, UInt64.max)
    func see(_ order: UInt64, _ candidate: Int) {
      if order < first { (limit, first, index) = (first, order, candidate) } else { limit = min(limit, order) }
    }
    if !own.isEmpty { see(own.order(of: own.start), -1) }
    for (candidate, cursor) in cursors.enumerated() where cursor.next < cursor.last {
      // Frames that the ring has dropped are reported to the subscriber elsewhere.
      if cursor.next >= cursor.fanout.log.start { see(cursor.fanout.log.order(of: cursor.next), candidate) }
    }
    return index == .min ? nil : (index, limit)
  }

  private func sendOwn(upTo limit: UInt64, _ transport: Transport) -> Bool {
    if let large = own.large(own.start) {
      begin(large, isShared: false)
      own.drop(before: own.start + 1)
      return true
    }
    let last = run(of: own, from: own.start, to: own.end, upTo: limit)
    guard let next = send(own, own.start..<last, transport) else { return false }
    own.drop(before: next)
    return true
  }

  private func sendRing(
    _ index: Int, upTo limit: UInt64, _ transport: Transport
  ) -> Bool {
    if let numbering = cursors[index].numbering {
      number(numbering, index, upTo: limit)
      return true
    }
    let (log, next) = (cursors[index].fanout.log, cursors[index].next)
    let last = run(of: log, from: next, to: cursors[index].last, upTo: limit)
    if let large = log.large(next) {
      begin(large, isShared: true)
      cursors[index].next = next + 1
      return true
    }
    guard let next = send(log, next..<last, transport) else { return false }
    cursors[index].next = next
    return true
  }

  /// The size of numbered frames from which on those that follow are made later.
  private static let numberedBytesMax = 16 << 10
  /// The most that a frame has before the bytes that all get.
  private static let numberedHeadBytes = 64

  /// Numbers those of the next frames of a ring that are for the socket: they go out next.
  private func number(_ numbering: Fanout.Numbering, _ index: Int, upTo limit: UInt64) {
    let (log, last) = (cursors[index].fanout.log, cursors[index].last)
    var (frame, bytes) = (cursors[index].next, [UInt8]())
    while frame < last, bytes.count < Self.numberedBytesMax, log.order(of: frame) < limit {
      defer { cursors[index].next = frame }
      guard includes(numbering.viewer, index, frame) else {
        frame += 1
        continue
      }
      if let large = log.large(frame) {
        if !bytes.isEmpty { break }
        numbering.beginFrame(log.kind(of: frame), large.count, in: &bytes)
        begin(large.behind(bytes), isShared: true)
        frame += 1
        return
      }
      let body = log.bytes(frame..<frame + 1)
      if bytes.isEmpty {
        bytes.reserveCapacity(
          min(Self.numberedBytesMax, log.byteCount(frame..<last)) + body.count + Self.numberedHeadBytes)
      }
      numbering.beginFrame(log.kind(of: frame), body.count, in: &bytes)
      bytes += body
      meter.framesOut += 1
      frame += 1
    }
    if bytes.isEmpty { return }
    meter.frameBytesOut += bytes.count
    rest.append(bytes)
  }

  private func begin(_ large: Pieces, isShared: Bool) {
    rest = large
    (isRestShared, isRestReserved) = (isShared, !isShared)
    meter.framesOut += 1
    meter.frameBytesOut += large.count
  }

  /// Unshares the rest of a large frame, which rings have dropped or soon will; returns its size.
  func unshareRest() -> Int {
    guard isRestShared else { return 0 }
    isRestShared = false
    return rest.count
  }

  /// Whether a frame of a ring is for a viewer. Evaluated once for each run of frames.
  private func includes(_ viewer: Int, _ index: Int, _ frame: Int) -> Bool {
    let run = cursors[index].fanout.log.run(of: frame)
    if cursors[index].inclusion?.run != run {
      cursors[index].inclusion = (run, cursors[index].fanout.listeners(of: frame)?.includes(viewer) ?? true)
    }
    return cursors[index].inclusion?.isIncluded ?? true
  }

  /// The end of a run of frames that goes out at once: they are for the same listeners.
  private func run(of log: FrameLog, from start: Int, to end: Int, upTo limit: UInt64) -> Int {
    var end = end
    if log.byteCount(start..<end) > Self.runBytesMax {
      end = min(end, max(start + 1, log.frame(Self.runBytesMax, behind: start)))
    }
    return log.end(ofRunAt: start, upTo: end, before: limit)
  }

  /// Sends frames and returns the next one; nil where the transport is broken.
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
    rest.append(Array(bytes[count..<log.byteCount(frames.lowerBound..<next)]))
    return next
  }

  /// The number of bytes taken; nil where the transport is broken.
  private func write(_ step: Transport.Step) -> Int? {
    switch step {
    case .moved(let count):
      traffic?.bytesSent += count
      flushedBytes += count
      return count
    case .blocked:
      isBlocked = true
      return 0
    case .ended, .failed: return nil
    }
  }
}

extension WebSocket {
  /// The counters for its bytes.
  package var traffic: Traffic? {
    get { sendQueue.traffic }
    set { sendQueue.traffic = newValue }
  }

  /// The bytes that wait to be sent, those of rings not counted.
  package var queuedBytes: Int { sendQueue.ownBytes }

  /// Takes the whole text or, where the queue is full, nothing, as the other `send`.
  @discardableResult
  package func send(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { send(UnsafeRawBufferPointer($0), .text) }
  }

  /// The number of frames of a ring that wait to be sent, including those that are for other sockets.
  package func waitingCount(of fanout: Fanout) -> Int { sendQueue.waitingCount(of: fanout) }

  /// The number of frames of a ring that were dropped for this socket since it subscribed.
  package func droppedCount(of fanout: Fanout) -> Int { sendQueue.droppedCount(of: fanout) }
}
