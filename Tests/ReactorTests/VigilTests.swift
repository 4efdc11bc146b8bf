import Testing

@testable import Reactor

@Suite struct VigilTests {
  @Test func `it is worthwhile after some quick answers, until one is late or it was in vain`() {
    var vigil = Vigil()
    func answers(_ pauses: UInt64...) -> Bool {
      for pause in pauses { vigil.answered(after: pause) }
      return vigil.isWorthwhile
    }
    #expect(!answers(1_000, 1_000, 1_000))
    #expect(answers(29_999))
    #expect(!answers(30_000))
    #expect(!answers(1_000, 1_000, 1_000))
    #expect(answers(1_000, 1_000))
    vigil.wasInVain()
    #expect(!answers(1_000, 1_000, 1_000))
  }

  @Test(arguments: [false, true])
  func `two loops that answer each other lose nothing, at once, late, or many together`(standsVigil: Bool) throws {
    let (ada, bob) = (try Reactor(standsVigil: standsVigil), try Reactor(standsVigil: standsVigil))
    bob.start()
    let count = 20_000
    ada.spawn {
      for number in 0..<count {
        // One of some is late, so that each goes to sleep in between, and one of some is many.
        let pause: UInt64 = number % 500 == 0 ? 300_000 : 0
        let crowd = number % 100 == 0 ? 30 : 1
        await withCheckedContinuation { continuation in
          let answers = Answers(crowd, continuation)
          for _ in 0..<crowd {
            bob.post {
              let end = Reactor.now + pause
              while Reactor.now < end {}
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
}

/// `@unchecked`: only one loop counts them.
private final class Answers: @unchecked Sendable {
  private var left: Int
  private let continuation: CheckedContinuation<Void, Never>

  init(_ count: Int, _ continuation: CheckedContinuation<Void, Never>) {
    left = count
    self.continuation = continuation
  }

  func count() {
    left -= 1
    if left == 0 { continuation.resume() }
  }
}
