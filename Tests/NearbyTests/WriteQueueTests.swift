import Store
import Testing

@testable internal import Nearby

@Suite("What is stored together")
struct WriteQueueTests {
  private func note(_ name: String, in writes: inout WriteQueue, to told: @escaping (String) -> Void) {
    writes.next.changes.append(DatabaseChange { _ in })
    writes.next.afterwards.append { _ in told(name) }
  }

  @Test(
    "A write added after a batch of the engine is not stored with it, however long it waits for the one in progress")
  func later() {
    var writes = WriteQueue()
    var told: [String] = []
    func finish(_ writes: inout WriteQueue) -> UInt64? {
      let load = writes.end()
      for action in load?.afterwards ?? [] { action(true) }
      return load?.batch
    }
    note("alone", in: &writes) { told.append($0) }
    writes.seal()
    var begins = writes.begin()
    #expect(begins && !writes.isDue)
    // While that is written the engine emits a batch, and before it is written there is more.
    note("before", in: &writes) { told.append($0) }
    writes.next.batch = 1
    #expect(writes.isDue)
    note("with", in: &writes) { told.append($0) }
    writes.seal()
    note("after", in: &writes) { told.append($0) }
    writes.seal()
    begins = writes.begin()
    #expect(!begins && !writes.isDue)
    var batch = finish(&writes)
    #expect(batch == nil && told == ["alone"])
    begins = writes.begin()
    #expect(begins)
    batch = finish(&writes)
    #expect(batch == 1 && told == ["alone", "before", "with"])
    writes.next.batch = 2
    writes.seal()
    begins = writes.begin()
    #expect(begins)
    batch = finish(&writes)
    #expect(batch == 2 && told == ["alone", "before", "with", "after"])
    begins = writes.begin()
    #expect(!begins && writes.isDue)
  }

  @Test("A write that will never be stored fails, wherever it waits")
  func givenUp() {
    var writes = WriteQueue()
    var lost: [String] = []
    func note(_ name: String) {
      writes.next.changes.append(DatabaseChange { _ in })
      writes.next.afterwards.append { isStored in if !isStored { lost.append(name) } }
    }
    note("current")
    _ = writes.begin()
    note("sealed")
    writes.next.batch = 1
    writes.seal()
    note("next")
    for action in writes.giveUp() { action(false) }
    #expect(lost == ["current", "sealed", "next"] && writes.current == nil)
  }
}
