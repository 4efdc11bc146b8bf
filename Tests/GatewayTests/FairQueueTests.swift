internal import Notation
internal import Reactor
internal import Testing

@testable internal import Gateway

@Suite("Turns of the loop")
struct FairQueueTests {
  /// Runs the loop until nothing waits any more.
  private func run(_ reactor: Reactor, _ queue: FairQueue, _ body: @escaping () -> Void) {
    func look() {
      if queue.waitingCount == 0 { return reactor.stop() }
      reactor.schedule(after: .zero) { look() }
    }
    reactor.soon {
      body()
      look()
    }
    reactor.run()
  }

  /// Keeps the loop for so long.
  private func work(_ nanoseconds: UInt64) {
    let end = Reactor.now + nanoseconds
    while Reactor.now < end {}
  }

  private final class Done {
    var names: [String] = []
  }

  @Test("A client with many requests waits for later turns, and one with few gets its response at once")
  func shares() throws {
    let reactor = try Reactor()
    let (queue, done) = (FairQueue(on: reactor), Done())
    let (greedy, modest) = (ClientAccount(), ClientAccount())
    func ask(_ client: ClientAccount, _ name: String, _ time: UInt64) {
      let request = { [self] in
        work(time)
        done.names.append(name)
      }
      if queue.admits(client) { queue.run(client, request) } else { queue.add(client, request) }
    }
    run(reactor, queue) {
      for number in 0..<6 { ask(greedy, "g\(number)", FairQueue.turnTime) }
      ask(modest, "m", 1_000)
      // One that is longer than a share is done whole.
      #expect(done.names == ["g0", "m"] && queue.waitingCount == 5 && greedy.waiting.count == 5)
      #expect(queue.json(of: greedy)["waiting"] == 5 && queue.json(of: greedy)["delayed"] == 5)
      // At most two of them are done before the next turn is over.
      reactor.soon { #expect(done.names.count <= 4) }
    }
    #expect(done.names == ["g0", "m", "g1", "g2", "g3", "g4", "g5"], "each once, and in order")
    #expect(greedy.loopTime >= 6 * FairQueue.turnTime && modest.loopTime >= 1_000 && greedy.requestCount == 6)
    #expect(queue.delayedCount == 5 && modest.delayedCount == 0)
  }

  @Test("Clients that wait have their turns round robin, and each a smaller share the more they are")
  func roundRobin() throws {
    let reactor = try Reactor()
    let (queue, done) = (FairQueue(on: reactor), Done())
    let clients = (0..<4).map { _ in ClientAccount() }
    let piece = FairQueue.turnTime / 4
    run(reactor, queue) {
      for (number, client) in clients.enumerated() {
        // The client's share of this turn, used up.
        queue.run(client) { work(FairQueue.turnTime) }
        for _ in 0..<8 {
          queue.add(client) { [self] in
            work(piece)
            done.names.append("\(number)")
          }
        }
      }
    }
    #expect(done.names.count == 32)
    // None is more than two rounds ahead of another.
    var counts: [String: Int] = [:]
    for name in done.names {
      counts[name, default: 0] += 1
      let (least, most) = ((0..<4).map { counts["\($0)"] ?? 0 }.min() ?? 0, counts.values.max() ?? 0)
      #expect(most - least <= 2 || least == 0 && most <= 2, "\(done.names)")
    }
  }
}
