import Glibc
import Testing

@testable import Reactor

@Suite struct BusyPollTests {
  @Test func `it is worthwhile after short waits, until one is long or nothing comes`() {
    let watch = Watch()
    #expect(!watch.isWorthwhile(afterWaits: 99_999))
    #expect(watch.isWorthwhile(afterWaits: 99_999))
    #expect(!watch.isWorthwhile(afterWaits: 100_000))
    #expect(!watch.isWorthwhile(afterWaits: 1_000))
    #expect(watch.isWorthwhile(afterWaits: 1_000))
    watch.recordMiss()
    #expect(!watch.isWorthwhile)
  }

  @Test func `it ends where what it looks for comes late, not where some of it does`() {
    let watch = Watch()
    #expect(watch.isWorthwhile(afterWaits: 1_000, 1_000))
    for _ in 0..<100 {
      for pause: UInt64 in [20_000, 55_000, 20_000, 20_000, 20_000, 20_000] { watch.recordHit(pause) }
      #expect(watch.isWorthwhile)
    }
    for _ in 0..<10 { watch.recordHit(45_000) }
    #expect(!watch.isWorthwhile)
  }

  @Test func `one that ended soon makes the next one rarer, up to a limit, and one that was worth it does not`() {
    let watch = Watch()
    for needed in [2, 4, 8, 16, 32, 64, 64] {
      for _ in 1..<needed { #expect(!watch.isWorthwhile(afterWaits: 50_000)) }
      #expect(watch.isWorthwhile(afterWaits: 50_000))
      watch.recordHit(20_000)
      watch.recordMiss()
    }
    #expect(watch.isWorthwhile(afterWaits: [UInt64](repeating: 50_000, count: 64)))
    for _ in 0..<64 { watch.recordHit(20_000) }
    watch.recordMiss()
    #expect(!watch.isWorthwhile(afterWaits: 50_000))
    #expect(watch.isWorthwhile(afterWaits: 50_000))
  }

  @Test(arguments: [false, true])
  func `two loops that answer each other lose nothing, at once, late, or many together`(pollsBusily: Bool) throws {
    let (ada, bob) = (try Reactor(pollsBusily: pollsBusily), try Reactor(pollsBusily: pollsBusily))
    bob.start()
    let count = 20_000
    ada.spawn {
      for number in 0..<count {
        // One of some is late, so that each goes to sleep in between, and one of some is many.
        let pause: UInt64 = number % 500 == 0 ? 300_000 : 0
        let crowd = number % 100 == 0 ? 30 : 1
        await withCheckedContinuation { continuation in
          let answers = Answers(crowd) { continuation.resume() }
          for _ in 0..<crowd {
            bob.post {
              keepBusy(pause)
              ada.post { answers.count() }
            }
          }
        }
      }
      ada.stop()
    }
    ada.run()
    bob.stop()
  }

  @Test(arguments: [false, true])
  func `what other threads have is heard in the middle of a dialogue over a socket`(pollsBusily: Bool) throws {
    let (ada, bob) = (try Reactor(pollsBusily: pollsBusily), try Reactor(pollsBusily: pollsBusily))
    let cyd = try Reactor()
    let ends = try Descriptor.pair()
    let count = 20_000
    let asker = Talker(ends.ours, count)
    let answerer = Talker(ends.theirs, count)
    let posts = Answers(count / 5) { ada.stop() }
    bob.post {
      answerer.start(on: bob) {
        // The answers come slowly for a while, so that polling does not pay, and quickly for a while.
        if answerer.left % 400 < 20 { keepBusy(50_000) }
        answerer.say()
      }
    }
    bob.start()
    cyd.start()
    asker.start(on: ada) {
      if asker.left % 500 == 0 { keepBusy(300_000) }
      let waits = asker.left % 10 == 5
      if asker.left % 5 == 0 {
        cyd.post {
          ada.post {
            posts.count()
            if waits { asker.say() }
          }
        }
      }
      // A dialogue that waits goes on by the post alone.
      if asker.left > 0, !waits { asker.say() }
    }
    asker.say()
    ada.run()
    bob.stop()
    cyd.stop()
    #expect(asker.left == 0)
  }
}

private func keepBusy(_ nanoseconds: UInt64) {
  let end = Reactor.now + nanoseconds
  while Reactor.now < end {}
}

/// A vigil that may change in the middle of an expectation.
private final class Watch {
  private var busyPoll = BusyPoll()

  var isWorthwhile: Bool { busyPoll.isWorthwhile }

  func isWorthwhile(afterWaits pauses: UInt64...) -> Bool { isWorthwhile(afterWaits: pauses) }

  func isWorthwhile(afterWaits pauses: [UInt64]) -> Bool {
    for pause in pauses { busyPoll.recordSleep(pause) }
    return busyPoll.isWorthwhile
  }

  func recordHit(_ nanoseconds: UInt64) { busyPoll.recordHit(nanoseconds) }

  func recordMiss() { busyPoll.recordMiss() }
}

/// One end of a dialogue of single bytes.
///
/// `@unchecked`: it is touched on the thread of its one loop, and by the test only before that loop runs or after it has
/// ended.
private final class Talker: @unchecked Sendable {
  private let end: Descriptor
  private(set) var left: Int

  init(_ end: consuming Descriptor, _ left: Int) {
    self.end = end
    self.left = left
  }

  func start(on reactor: Reactor, _ heard: @escaping () -> Void) {
    do {
      _ = try reactor.register(end, for: .readable) { [unowned self] _ in
        var byte: UInt8 = 0
        guard (try? withUnsafeMutableBytes(of: &byte) { try end.receive($0) }) == 1 else { return }
        left -= 1
        heard()
      }
    } catch {
      Issue.record(error)
    }
  }

  func say() {
    var byte: UInt8 = 1
    #expect(withUnsafeBytes(of: &byte) { Glibc.write(end.number, $0.baseAddress, 1) } == 1)
  }
}

/// `@unchecked`: only one loop counts them.
private final class Answers: @unchecked Sendable {
  private var left: Int
  private let done: () -> Void

  init(_ count: Int, _ done: @escaping () -> Void) {
    left = count
    self.done = done
  }

  func count() {
    left -= 1
    if left == 0 { done() }
  }
}
