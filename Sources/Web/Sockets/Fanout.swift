internal import Reactor

/// A fan-out to many WebSockets: each message is framed once, and all subscribers read it from one ring buffer.
///
/// While there are new messages, subscribers are served round robin, some in each turn of the loop: messages that are
/// published meanwhile go along, so that each reaches the last subscriber within the time of one round.
///
/// Invariant: a publisher never waits. A slow consumer, which is further behind than the ring reaches, gets a lag
/// report, or loses the oldest messages (eviction), as the ring's `Overflow` says.
package final class Fanout {
  /// The subscribers of a numbered ring whose viewers meet a condition; it is called for each at its turn, once for a run
  /// of messages to the same.
  package final class Listeners {
    let includes: (_ viewer: Int) -> Bool

    package init(_ includes: @escaping (_ viewer: Int) -> Bool) { self.includes = includes }
  }

  /// A subscriber's own numbers for the messages of numbered rings: each that it is sent has its `head`, the next number,
  /// and then what all get. It is the same object for all rings whose messages are numbered together.
  package final class Numbering {
    let head: [UInt8]
    let viewer: Int
    private(set) var last: UInt64

    package init(_ head: String, after last: UInt64, viewer: Int) {
      (self.head, self.last, self.viewer) = (Array(head.utf8), last, viewer)
    }

    /// Appends the beginning of a frame that has the next number and so many bytes behind it.
    func beginFrame(_ kind: MessageKind, _ count: Int, in bytes: inout [UInt8]) {
      last += 1
      let number = String(last)
      Opcode(kind).appendHeader(head.count + number.utf8.count + count, to: &bytes)
      bytes += head
      bytes += number.utf8
    }
  }

  /// The policy for a subscriber that is further behind than the ring reaches.
  package enum Overflow {
    /// Its owner gets a lag report, and it is unsubscribed.
    case unsubscribe
    /// The oldest messages are dropped, also where there are more than so many, and a text reports it, made from the
    /// number of dropped messages and of those that are left. Messages of such a ring go before all other frames.
    case dropOldest(countMax: Int, notice: (_ count: Int, _ left: Int) -> String)
  }

  let log = FrameLog()
  /// Whether its messages lack their beginning, which each subscriber gets with a number of its own.
  let isNumbered: Bool
  private var bytesMax: Int
  let overflow: Overflow
  private var listenersByFrame: [Int: Listeners] = [:]
  /// The recipients of the last message, retained so that their identity is not reused, and the number of the current
  /// run of messages.
  private var listeners: Listeners?
  private var run: UInt64 = 0
  /// Whether the last message was a large one, which has a run of its own.
  private var isRunOver = false
  private var subscribers: [WebSocket] = []
  private var places: [ObjectIdentifier: Int] = [:]
  /// The index of the subscriber whose turn is next.
  private var next = 0
  /// The number of subscribers that have not been offered the latest message yet.
  private var unservedCount = 0
  private var isServing = false
  /// The bytes and messages that were published in the round so far.
  private var roundBytes = 0
  private var roundCount = 0
  /// Whether its rounds take a share of the time at most: for changes that may come together a little later.
  private let isPaced: Bool
  /// The time that the round has taken so far, and that before which the next one does not begin.
  private var roundTime: UInt64 = 0
  private var nextRound: UInt64 = 0
  /// The end of the frames that a socket has still to send which unsubscribed meanwhile.
  private var heldEnd = 0

  /// Limit for subscribers in one turn: each costs a system call, and the loop has other work to do.
  private static let stepsMax = 8
  /// A paced ring pauses for so many times the time that a round has taken, and no longer than that.
  private static let pauseFactor: UInt64 = 19
  private static let pauseMax: UInt64 = 500_000_000

  /// A ring that keeps up to `bytesMax` bytes for subscribers that are behind.
  package init(
    bytesMax: Int, _ overflow: Overflow = .unsubscribe, isNumbered: Bool = false, isPaced: Bool = false
  ) {
    precondition(bytesMax > 0, "a ring of no bytes carries nothing")
    self.bytesMax = bytesMax
    self.isPaced = isPaced
    self.isNumbered = isNumbered
    self.overflow = overflow
  }

  private var countMax: Int { if case .dropOldest(let countMax, _) = overflow { countMax } else { .max } }

  /// The frame that reports lost messages to a subscriber; nil where the ring drops nothing.
  func notice(ofDropped count: Int, left: Int) -> [UInt8]? {
    guard case .dropOldest(_, let notice) = overflow else { return nil }
    return Opcode.text.frame(Array(notice(count, left).utf8))
  }

  package var dropsOldest: Bool { if case .dropOldest = overflow { true } else { false } }

  package var subscriberCount: Int { subscribers.count }
  package func isSubscribed(_ socket: WebSocket) -> Bool { places[ObjectIdentifier(socket)] != nil }

  /// The bytes of the messages that are still to go out.
  package var keptBytes: Int { log.byteCount + log.largeBytes }

  /// Publishes a message: to all where no listeners are named. A ring has room for four of its largest message in any case.
  package func publish(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind = .binary, to listeners: Listeners? = nil) {
    guard prepare(for: bytes.count, listeners, isLarge: false) else { return }
    if isNumbered {
      log.append(bytes, kind, order: MessageSequence.next(), run: run)
    } else {
      log.append(Opcode(kind), bytes, order: MessageSequence.next(), run: run)
    }
    offer(bytes.count)
  }

  /// Publishes a large message: subscribers that have it in part share its bytes with its maker, and with each other.
  package func publish(_ payload: Pieces, _ kind: MessageKind = .binary, to listeners: Listeners? = nil) {
    guard prepare(for: payload.count, listeners, isLarge: true) else { return }
    log.append(isNumbered ? payload : Opcode(kind).frame(payload), kind, order: MessageSequence.next(), run: run)
    offer(payload.count)
  }

  /// Prepares the ring for a message; returns whether there are subscribers.
  private func prepare(for count: Int, _ recipients: Listeners?, isLarge: Bool) -> Bool {
    precondition(isNumbered || recipients == nil, "all subscribers of a plain ring have each message")
    bytesMax = max(bytesMax, 4 * count)
    if subscribers.isEmpty {
      // No subscriber is behind.
      log.drop(before: log.end)
      listenersByFrame.removeAll()
      return false
    }
    if let recipients { listenersByFrame[log.end] = recipients }
    if isLarge || isRunOver || recipients !== listeners {
      listeners = recipients
      run += 1
    }
    isRunOver = isLarge
    return true
  }

  private func offer(_ count: Int) {
    if log.byteCount + log.largeBytes > bytesMax { drop(before: log.frame(leaving: bytesMax)) }
    if log.end - log.start > countMax { drop(before: log.end - countMax) }
    unservedCount = subscribers.count
    roundBytes += count
    roundCount += 1
    // No subscriber shall lag that was not offered the message: in two rounds half of the ring is published at most.
    if roundBytes > bytesMax / 4 || roundCount > countMax / 4 { serve(subscribers.count, isUrgent: true) }
    scheduleServing()
  }

  /// The socket gets messages that are published from now on.
  package func subscribe(_ socket: WebSocket, _ numbering: Numbering? = nil) {
    precondition(isNumbered == (numbering != nil), "a numbered ring needs the subscriber's numbers")
    guard places[ObjectIdentifier(socket)] == nil, socket.subscribe(to: self, numbering) else { return }
    places[ObjectIdentifier(socket)] = subscribers.count
    subscribers.append(socket)
    // It may have its turn before some that are still to be offered the latest message.
    if unservedCount > 0 { unservedCount += 1 }
  }

  /// Messages that were published before still go out.
  package func unsubscribe(_ socket: WebSocket) {
    guard forget(socket) else { return }
    if socket.sendQueue.firstUnsent(of: self) != nil { heldEnd = log.end }
    socket.unsubscribe(from: self)
  }

  @discardableResult
  func forget(_ socket: WebSocket) -> Bool {
    guard let place = places.removeValue(forKey: ObjectIdentifier(socket)) else { return false }
    let last = subscribers.removeLast()
    if last !== socket {
      subscribers[place] = last
      places[ObjectIdentifier(last)] = place
    }
    // The last one may have lost its turn of this round.
    if unservedCount > 0 { unservedCount = subscribers.count }
    return true
  }

  func listeners(of frame: Int) -> Listeners? { listenersByFrame[frame] }

  private func drop(before frame: Int) {
    let start = log.start
    log.drop(before: frame)
    if listenersByFrame.isEmpty { return }
    for frame in start..<log.start { listenersByFrame[frame] = nil }
  }

  /// Continues in the next turn of the loop where some are left; the loop has read its input by then.
  private func scheduleServing() {
    guard unservedCount > 0, !isServing, let reactor = subscribers.first?.reactor else { return }
    isServing = true
    reactor.schedule(at: max(Reactor.now, nextRound)) { [weak self] in
      guard let self else { return }
      isServing = false
      serve(Self.stepsMax)
      scheduleServing()
    }
  }

  private func serve(_ steps: Int, isUrgent: Bool = false) {
    let start = isPaced ? Reactor.now : 0
    guard isUrgent || start >= nextRound else { return }
    for _ in 0..<steps where unservedCount > 0 {
      if next >= subscribers.count { (next, roundBytes, roundCount) = (0, 0, 0) }
      let socket = subscribers[next]
      next += 1
      unservedCount -= 1
      socket.flush(after: self)
      if isPaced, !isUrgent, next >= subscribers.count { break }
    }
    if isPaced { pace(since: start) }
    if unservedCount == 0 { dropSent() }
  }

  /// Puts off the next round where this one is over.
  private func pace(since start: UInt64) {
    let now = Reactor.now
    roundTime += now - start
    guard next >= subscribers.count else { return }
    nextRound = now + min(Self.pauseMax, Self.pauseFactor * roundTime)
    roundTime = 0
  }

  /// Drops the messages that all subscribers have sent: a quiet ring takes no memory.
  private func dropSent() {
    guard heldEnd <= log.start else { return }
    drop(before: subscribers.reduce(log.end) { min($0, $1.sendQueue.firstUnsent(of: self) ?? $0) })
    log.release()
  }
}
