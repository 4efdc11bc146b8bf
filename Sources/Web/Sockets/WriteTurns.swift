internal import Reactor

/// The turns of WebSockets with much to send: a round robin between them, for a limited time in each turn of the loop.
///
/// Invariant: however many of them there are, other work of the loop waits for `turnTime` and one write.
final class WriteTurns {
  /// The time for these writes in each turn of the loop, in nanoseconds.
  private static let turnTime: UInt64 = 2_000_000

  private let reactor: Reactor
  /// The waiting sockets, the next one first; each is here once.
  private var waiting: ArraySlice<WebSocket> = []
  private var timer: Timer?

  init(on reactor: Reactor) { self.reactor = reactor }

  func add(_ socket: WebSocket) {
    waiting.append(socket)
    scheduleTurn()
  }

  func close() {
    if let timer { reactor.cancel(timer) }
    timer = nil
    waiting = []
  }

  /// By a timer, so that new input goes first.
  private func scheduleTurn() {
    if timer != nil || waiting.isEmpty { return }
    timer = reactor.schedule(after: .zero) { [unowned self] in
      timer = nil
      serve()
      scheduleTurn()
    }
  }

  /// Each socket has one share in a turn at most.
  private func serve() {
    let end = Reactor.now + Self.turnTime
    for _ in 0..<waiting.count {
      waiting.popFirst()?.writeShare()
      if Reactor.now >= end { return }
    }
  }
}
