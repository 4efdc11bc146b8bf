import Testing

@testable import Reactor

@Suite struct TimerTests {
  @Test func `timers fire by deadline, and in the order of making where deadlines are equal`() throws {
    let reactor = try Reactor()
    let start = Reactor.now
    var fired: [Int] = []
    for (mark, delay) in [(0, 3), (1, 1), (2, 2), (3, 1), (4, 0)] as [(Int, UInt64)] {
      reactor.schedule(at: start + delay * 1_000_000) { fired.append(mark) }
    }
    reactor.schedule(at: start + 4_000_000) { reactor.stop() }
    reactor.run()
    #expect(fired == [4, 1, 3, 2, 0])
    #expect(Reactor.now >= start + 4_000_000)
  }

  @Test func `a timer that was cancelled never fires, and cancelling a fired one does nothing`() throws {
    let reactor = try Reactor()
    var fired: [String] = []
    let cancelled = reactor.schedule(after: .milliseconds(1)) { fired.append("cancelled") }
    let first = reactor.schedule(after: .zero) { fired.append("first") }
    reactor.schedule(after: .milliseconds(2)) {
      reactor.cancel(first)
      reactor.stop()
    }
    reactor.cancel(cancelled)
    reactor.run()
    #expect(fired == ["first"])
  }

  @Test func `timers of one step fire together, none of them before its delay, nor later than a step after it`() throws
  {
    let reactor = try Reactor()
    let start = Reactor.now
    var deadlines: Set<UInt64> = []
    var early = 0
    for delay in 1...50 {
      let timer = reactor.schedule(after: .milliseconds(delay), onStepOf: .milliseconds(50)) {
        if Reactor.now < start + UInt64(delay) * 1_000_000 { early += 1 }
      }
      deadlines.insert(timer.deadline)
    }
    reactor.schedule(at: start + 100_000_000) { reactor.stop() }
    reactor.run()
    #expect(deadlines.count <= 2 && early == 0, "\(deadlines.count) wake-ups")
  }

  @Test func `a loop is behind while a timer is due, and not before`() throws {
    let reactor = try Reactor()
    var found: [Bool] = []
    reactor.schedule(after: .seconds(60)) {}
    reactor.soon {
      found.append(reactor.isBehind)
      reactor.schedule(after: .zero) {
        found.append(reactor.isBehind)
        reactor.stop()
      }
      found.append(reactor.isBehind)
    }
    reactor.run()
    #expect(found == [false, true, false])
  }

  @Test func `a timer in company goes with one that fires shortly before it, and else at its own time`() throws {
    let reactor = try Reactor()
    let start = Reactor.now
    var fired: [(String, milliseconds: UInt64)] = []
    func note(_ name: String) { fired.append((name, (Reactor.now - start) / 1_000_000)) }
    reactor.scheduleInCompany(after: .milliseconds(600)) { note("with it") }
    let cancelled = reactor.scheduleInCompany(after: .milliseconds(600)) { note("cancelled") }
    reactor.cancel(cancelled)
    reactor.schedule(after: .milliseconds(10)) { note("too soon") }
    reactor.schedule(after: .milliseconds(400)) {
      note("company")
      reactor.scheduleInCompany(after: .milliseconds(260)) {
        note("alone")
        reactor.stop()
      }
    }
    reactor.run()
    #expect(fired.map(\.0) == ["too soon", "company", "with it", "alone"])
    #expect(fired[2].milliseconds < 600)
    #expect(fired[3].milliseconds >= 660)
  }

  @Test func `a timer that always sets another one, already due, does not hold up the loop`() throws {
    let reactor = try Reactor()
    func again() { reactor.schedule(at: 0, again) }
    again()
    reactor.soon { reactor.soon { reactor.stop() } }
    reactor.run()
  }

  @Test func `timers that are due together leave turns for what comes meanwhile`() throws {
    let reactor = try Reactor()
    var (turns, last): (Set<UInt64>, Int) = ([], 0)
    for number in 1...20 {
      reactor.schedule(after: .zero) {
        turns.insert(reactor.turnCount)
        last = number
        let end = Reactor.now + 1_000_000
        while Reactor.now < end {}
        if number == 20 { reactor.stop() }
      }
    }
    reactor.run()
    #expect(last == 20)
    #expect(turns.count >= 6)
  }

  @Test func `a heap gives its timers back in order, whichever are removed from its middle`() {
    var random = SystemRandomNumberGenerator()
    var heap = TimerHeap()
    let deadlines = (0..<500).map { _ in UInt64.random(in: 0..<100, using: &random) }
    let timers = deadlines.map { heap.insert(at: $0) {} }
    var left = Array(zip(deadlines, timers))
    left.shuffle(using: &random)
    for (_, timer) in left.prefix(200) { heap.remove(timer) }
    let expected = left.dropFirst(200).map(\.0).sorted()

    var given: [UInt64] = []
    while let earliest = heap.earliest {
      given.append(earliest)
      _ = heap.removeDue(at: earliest)
    }
    #expect(given == expected)
  }
}
