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
  private var audiences: [Int: Audience] = [:]
  /// Whom the last message was for, held so that nobody else is taken for them, and the number of their messages in a row.
  private var listeners: Listeners?
  private var run: UInt64 = 0
  private var subscribers: [ObjectIdentifier: WebSocket] = [:]
  private var isDue = false
  /// What was published since all subscribers were offered what is there.
  private var bytesSinceFlush = 0
  private var flushNanoseconds: UInt64 = 0

  /// Keeps the last `bytesMax` bytes, so that is what a subscriber may be behind.
  package init(bytesMax: Int) {
    precondition(bytesMax > 0, "a ring of no bytes carries nothing")
    self.bytesMax = bytesMax
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
    guard subscribers.updateValue(socket, forKey: ObjectIdentifier(socket)) == nil else { return }
    socket.hear(self)
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
    guard !isDue, let reactor = subscribers.first?.value.flushes else { return }
    isDue = true
    gather(on: reactor, since: nil, emptyTurns: 0)
  }

  /// What is published in turns of the loop that follow each other goes out together: each subscriber is one system call,
  /// whatever that carries. It is waited for no longer than the last flush took, and not where turns bring nothing more.
  private func gather(on reactor: Reactor, since start: UInt64?, emptyTurns: Int) {
    let end = log.end
    reactor.schedule(after: .zero) { [self] in
      guard isDue else { return }
      let now = Reactor.now
      let start = start ?? now
      let emptyTurns = log.end > end ? 0 : emptyTurns + 1
      if emptyTurns == Self.emptyTurnsMax || now - start > flushNanoseconds { return flush() }
      gather(on: reactor, since: start, emptyTurns: emptyTurns)
    }
  }

  /// What one turn has taken in, the next one may publish.
  private static let emptyTurnsMax = 2

  private func flush() {
    isDue = false
    bytesSinceFlush = 0
    let start = Reactor.now
    for socket in subscribers.values { socket.flush(after: self) }
    flushNanoseconds = Reactor.now - start
  }
}
