internal import Reactor

/// Messages for many WebSockets: each is put into frames once, and every subscriber reads it from the same ring.
///
/// Law: a publisher never waits. A subscriber that is further behind than the ring reaches is told that it lags.
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

  let log = FrameLog()
  private let bytesMax: Int
  private let expectsMore: () -> Bool
  private var audiences: [Int: Audience] = [:]
  /// Whom the last message was for, held so that nobody else is taken for them, and the number of their messages in a row.
  private var listeners: Listeners?
  private var run: UInt64 = 0
  private var subscribers: [ObjectIdentifier: WebSocket] = [:]
  /// What is published until then goes along.
  private var gathering: (on: Reactor, since: UInt64, timer: Timer, isPatient: Bool)?
  /// What was published since all subscribers were offered what is there.
  private var bytesSinceFlush = 0
  private var flushNanoseconds: UInt64 = 0

  /// Keeps the last `bytesMax` bytes, so that is what a subscriber may be behind. It is asked whether more is about to be
  /// published: what is there may wait for that.
  package init(bytesMax: Int, expectsMore: @escaping () -> Bool = { false }) {
    precondition(bytesMax > 0, "a ring of no bytes carries nothing")
    self.bytesMax = bytesMax
    self.expectsMore = expectsMore
  }

  package var subscriberCount: Int { subscribers.count }

  /// Nil for an audience is everybody. One message may have a quarter of the ring's bytes.
  package func publish(_ bytes: UnsafeRawBufferPointer, _ kind: MessageKind = .binary, to audience: Audience? = nil) {
    precondition(bytes.count <= bytesMax / 4, "a message of \(bytes.count) bytes is too large for its ring")
    if subscribers.isEmpty {
      // Nobody is behind.
      log.drop(before: log.end)
      audiences.removeAll()
      return
    }
    if let audience { audiences[log.end] = audience }
    if audience?.listeners !== listeners {
      listeners = audience?.listeners
      run += 1
    }
    log.append(Frame(kind), bytes, order: SayingOrder.next(), run: run)
    bytesSinceFlush += bytes.count
    if log.byteCount > bytesMax { dropOldest() }
    // Nobody shall lag who was not offered it.
    if bytesSinceFlush > bytesMax / 4 { return flush() }
    flushSoon()
  }

  /// The socket hears what is published from now on.
  package func subscribe(_ socket: WebSocket) {
    guard subscribers[ObjectIdentifier(socket)] == nil, socket.hear(self) else { return }
    subscribers[ObjectIdentifier(socket)] = socket
  }

  /// What was published before still goes out.
  package func unsubscribe(_ socket: WebSocket) {
    guard subscribers.removeValue(forKey: ObjectIdentifier(socket)) != nil else { return }
    socket.hearNoMore(self)
  }

  func forget(_ socket: WebSocket) { subscribers[ObjectIdentifier(socket)] = nil }

  func audience(of frame: Int) -> Audience? { audiences[frame] }

  private func dropOldest() {
    let start = log.start
    log.drop(before: log.frame(log.byteCount - bytesMax, behind: start))
    if audiences.isEmpty { return }
    for frame in start..<log.start { audiences[frame] = nil }
  }

  private func flushSoon() {
    if let gathering {
      // What was waited for is here.
      if gathering.isPatient { gather(on: gathering.on, since: gathering.since, emptyTurns: 0) }
      return
    }
    guard let reactor = subscribers.first?.value.flushes else { return }
    gather(on: reactor, since: Reactor.now, emptyTurns: 0)
  }

  /// What is published in turns of the loop that follow each other, and what is expected, goes out together: each subscriber
  /// is one system call, whatever that carries. It is waited for no longer than the last flush took.
  private func gather(on reactor: Reactor, since start: UInt64, emptyTurns: Int) {
    if let gathering { reactor.cancel(gathering.timer) }
    let (end, latest, isPatient) = (log.end, start + flushNanoseconds, expectsMore())
    let timer = reactor.schedule(at: isPatient ? latest : Reactor.now) { [self] in
      gathering = nil
      let emptyTurns = log.end > end ? 0 : emptyTurns + 1
      if emptyTurns == Self.emptyTurnsMax || Reactor.now > latest { return flush() }
      gather(on: reactor, since: start, emptyTurns: emptyTurns)
    }
    gathering = (reactor, start, timer, isPatient)
  }

  /// What one turn has taken in, the next one may publish.
  private static let emptyTurnsMax = 2

  private func flush() {
    if let gathering { gathering.on.cancel(gathering.timer) }
    gathering = nil
    bytesSinceFlush = 0
    let start = Reactor.now
    for socket in subscribers.values { socket.flush(after: self) }
    flushNanoseconds = Reactor.now - start
  }
}
