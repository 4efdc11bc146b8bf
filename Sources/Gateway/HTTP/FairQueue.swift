internal import Notation
internal import Reactor
internal import Web

/// Shares the loop between clients: fair queueing of their requests, with a time slice for each client in each turn.
///
/// Invariants:
/// - In each turn of the loop a client has one share of `turnTime`, at least one request; there are as many shares as
///   clients whose requests wait, and one more. The rest waits for the next turns, round robin between the clients.
/// - A client that had the loop to itself for `aloneTime` is not delayed.
/// - A request that has begun continues: its time counts until it is answered, or waits for something.
/// - At most one request for each connection waits here, and the next piece of what a WebSocket catches up with: the
///   caller reads no more from that connection meanwhile.
final class FairQueue {
  /// The time for requests in each turn, in nanoseconds: long enough that a turn's own cost is small beside it.
  static let turnTime: UInt64 = 500_000
  private static let aloneTime: UInt64 = 1_000_000_000

  private let reactor: Reactor
  private let turnTime: UInt64
  /// The clients whose requests wait, the next one first.
  private var turns: ArraySlice<ClientAccount> = []
  private var timer: Timer?
  private var last: ClientAccount?
  /// The last time at which a request came from another client than the one before.
  private var changedAt: UInt64 = 0
  private(set) var delayedCount = 0

  init(on reactor: Reactor, turnTime: UInt64 = FairQueue.turnTime) {
    self.reactor = reactor
    self.turnTime = turnTime
  }

  deinit {
    if let timer { reactor.cancel(timer) }
  }

  var waitingCount: Int { turns.reduce(0) { $0 + $1.waiting.count } }

  /// Whether a request of the client may run now.
  func admits(_ client: ClientAccount) -> Bool { client.waiting.isEmpty && hasTime(client) }

  /// Runs a request, and counts its time.
  func run(_ client: ClientAccount, _ work: () -> Void) {
    let start = Reactor.now
    if client !== last { (last, changedAt) = (client, start) }
    work()
    client.addUsage(Reactor.now - start, in: reactor.turnCount)
  }

  /// Queues a request for a later turn.
  func add(_ client: ClientAccount, _ work: @escaping () -> Void) {
    if !client.hasTurn { turns.append(client) }
    client.hasTurn = true
    client.waiting.append(work)
    client.delayedCount += 1
    delayedCount += 1
    grantSoon()
  }

  /// Its state as REST shows it to the client and to operators.
  func json(of client: ClientAccount) -> JSON {
    [
      "requests": .number(client.requestCount), "bytesReceived": .number(client.traffic.bytesReceived),
      "bytesSent": .number(client.traffic.bytesSent), "loopMicroseconds": .number(Int(client.loopTime / 1_000)),
      "turnMicrosecondsMax": .number(Int(turnTime / 1_000)), "waiting": .number(client.waiting.count),
      "delayed": .number(client.delayedCount),
    ]
  }

  private func hasTime(_ client: ClientAccount) -> Bool {
    let used = client.loopTime(in: reactor.turnCount)
    if used == 0 || used < turnTime / UInt64(turns.count + 1) { return true }
    return client === last && Reactor.now - changedAt > Self.aloneTime
  }

  /// Grants by a timer, so that new input and other timers go first.
  private func grantSoon() {
    if timer != nil || turns.isEmpty { return }
    timer = reactor.schedule(after: .zero) { [unowned self] in
      timer = nil
      grant()
    }
  }

  private func grant() {
    for client in Array(turns) {
      while hasTime(client), let work = client.waiting.popFirst() { run(client, work) }
    }
    for client in turns { client.hasTurn = !client.waiting.isEmpty }
    turns.removeAll { !$0.hasTurn }
    // Round robin: another client is first in the next turn.
    if let first = turns.popFirst() { turns.append(first) }
    grantSoon()
  }
}
