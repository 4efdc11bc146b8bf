internal import Reactor

/// Messages for many WebSockets: each is put into frames once, and every subscriber reads it from the same ring.
///
/// While there is news, subscribers are offered what is there one after the other, round and round, some in each turn of
/// the loop: whatever is published meanwhile goes along, so that it is a round's time away from the last of them at most.
///
/// Law: a publisher never waits. A subscriber that is further behind than the ring reaches is told that it lags, or loses
/// the oldest messages, as the ring's `Overflow` says.
package final class Fanout {
  /// Some of all subscribers; asked for each when its turn comes, and once for messages in a row that are for the same.
  package final class Listeners {
    let includes: (WebSocket) -> Bool

    package init(_ includes: @escaping (WebSocket) -> Bool) {
      self.includes = includes
    }
  }

  /// Whom a message is for.
  package struct Audience {
    let listeners: Listeners
    /// The frame that the others are sent in its place; nil for nothing.
    let otherwise: [UInt8]?

    /// The others are sent a text in its place, or nothing.
    package init(_ listeners: Listeners, otherwise: String?) {
      self.listeners = listeners
      self.otherwise = otherwise.map { Frame.text.bytes(Array($0.utf8)) }
    }
  }

  /// What happens to a subscriber that is further behind than the ring reaches.
  package enum Overflow {
    /// It is told that it lags, and hears no more.
    case lags
    /// The oldest messages are dropped, also where there are more than so many, and a text tells how many: it is made from
    /// the number of dropped messages and of those that are left. Messages of such a ring go out before all other frames.
    case drops(countMax: Int, notice: (_ count: Int, _ left: Int) -> String)
  }

  let log = FrameLog()
  private var bytesMax: Int
  let overflow: Overflow
  private var audiences: [Int: Audience] = [:]
  /// Whom the last message was for, held so that nobody else is taken for them, and the number of their messages in a row.
  private var listeners: Listeners?
  private var run: UInt64 = 0
  /// Whether the last message was a large one, which has a run of its own.
  private var isRunOver = false
  private var subscribers: [WebSocket] = []
  private var places: [ObjectIdentifier: Int] = [:]
  /// Whose turn is next.
  private var next = 0
  /// How many have not been offered yet what was published last.
  private var unoffered = 0
  private var isWalking = false
  /// What was published in the round so far.
  private var roundBytes = 0
  private var roundCount = 0

  /// Of subscribers that are offered something in a turn: as many system calls, and the loop has other work to do.
  private static let stepsMax = 8

  /// Keeps the last `bytesMax` bytes, so that is what a subscriber may be behind.
  package init(bytesMax: Int, _ overflow: Overflow = .lags) {
    precondition(bytesMax > 0, "a ring of no bytes carries nothing")
    self.bytesMax = bytesMax
    self.overflow = overflow
  }

  private var countMax: Int { if case .drops(let countMax, _) = overflow { countMax } else { .max } }

  /// The frame that tells a subscriber what it lost; nil where the ring drops nothing.
  func notice(ofDropped count: Int, left: Int) -> [UInt8]? {
    guard case .drops(_, let notice) = overflow else { return nil }
    return Frame.text.bytes(Array(notice(count, left).utf8))
  }

  var drops: Bool { if case .drops = overflow { true } else { false } }

  package var subscriberCount: Int { subscribers.count }

  /// Nil for an audience is everybody. A ring has room for four of its largest message, whatever its limit was.
  package func publish(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind = .binary, to audience: Audience? = nil) {
    guard begins(bytes.count, audience, isLarge: false) else { return }
    log.append(Frame(kind), bytes, order: SayingOrder.next(), run: run)
    offer(bytes.count)
  }

  /// A large message: subscribers that have it in part share its bytes with whoever made them, and with each other.
  package func publish(_ payload: Pieces, _ kind: MessageKind = .binary, to audience: Audience? = nil) {
    guard begins(payload.count, audience, isLarge: true) else { return }
    log.append(Frame(kind).bytes(payload), order: SayingOrder.next(), run: run)
    offer(payload.count)
  }

  /// Whether there is somebody to hear it.
  private func begins(_ count: Int, _ audience: Audience?, isLarge: Bool) -> Bool {
    bytesMax = max(bytesMax, 4 * count)
    if subscribers.isEmpty {
      // Nobody is behind.
      log.drop(before: log.end)
      audiences.removeAll()
      return false
    }
    if let audience { audiences[log.end] = audience }
    if isLarge || isRunOver || audience?.listeners !== listeners {
      listeners = audience?.listeners
      run += 1
    }
    isRunOver = isLarge
    return true
  }

  private func offer(_ count: Int) {
    if log.byteCount + log.largeBytes > bytesMax { drop(before: log.frame(leaving: bytesMax)) }
    if log.end - log.start > countMax { drop(before: log.end - countMax) }
    unoffered = subscribers.count
    roundBytes += count
    roundCount += 1
    // Nobody shall lag who was not offered it: in two rounds half of the ring is published at most.
    if roundBytes > bytesMax / 4 || roundCount > countMax / 4 { walk(subscribers.count) }
    walkSoon()
  }

  /// The socket hears what is published from now on.
  package func subscribe(_ socket: WebSocket) {
    guard places[ObjectIdentifier(socket)] == nil, socket.hear(self) else { return }
    places[ObjectIdentifier(socket)] = subscribers.count
    subscribers.append(socket)
  }

  /// What was published before still goes out.
  package func unsubscribe(_ socket: WebSocket) {
    if forget(socket) { socket.hearNoMore(self) }
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
    if unoffered > 0 { unoffered = subscribers.count }
    return true
  }

  func audience(of frame: Int) -> Audience? { audiences[frame] }

  private func drop(before frame: Int) {
    let start = log.start
    log.drop(before: frame)
    if audiences.isEmpty { return }
    for frame in start..<log.start { audiences[frame] = nil }
  }

  /// Where some are left, in the next turn of the loop, which has looked by then at what has come.
  private func walkSoon() {
    guard unoffered > 0, !isWalking, let reactor = subscribers.first?.flushes else { return }
    isWalking = true
    reactor.schedule(at: Reactor.now) { [weak self] in
      guard let self else { return }
      isWalking = false
      walk(Self.stepsMax)
      walkSoon()
    }
  }

  private func walk(_ steps: Int) {
    for _ in 0..<steps where unoffered > 0 {
      if next >= subscribers.count { (next, roundBytes, roundCount) = (0, 0, 0) }
      let socket = subscribers[next]
      next += 1
      unoffered -= 1
      socket.flush(after: self)
    }
  }
}
