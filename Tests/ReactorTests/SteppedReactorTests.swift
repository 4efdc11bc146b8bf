import Synchronization
import Testing

@testable import Reactor

@Suite struct SteppedReactorTests {
  @Test
  func `jobs of a blocked thread run one at a time when they are stepped, and all the others once it is released`()
    async throws
  {
    let reactor = try Reactor()
    reactor.start()
    defer { reactor.stop() }
    let stepped = try await SteppedReactor.block(reactor)
    let done = Mutex<[Int]>([])
    for number in 0..<3 { reactor.post { done.withLock { $0.append(number) } } }
    #expect(done.withLock { $0 } == [])
    stepped.step()
    #expect(done.withLock { $0 } == [0] && stepped.hasJobs)
    // A handler has its turn before the jobs that wait, and may use the loop.
    stepped.perform { reactor.soon { done.withLock { $0.append(3) } } }
    stepped.step()
    #expect(done.withLock { $0 } == [0, 1])
    await withCheckedContinuation { continuation in
      reactor.post { continuation.resume() }
      stepped.release()
    }
    #expect(done.withLock { $0 } == [0, 1, 2, 3])
  }
}
