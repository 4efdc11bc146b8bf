import Testing

@testable internal import Nearby

@Suite("What is stored together")
struct StoringTests {
  private func note(_ name: String, in storing: inout Storing, to told: @escaping (String) -> Void) {
    storing.next.changes.append(.perform { _ in })
    storing.next.afterwards.append { _ in told(name) }
  }

  @Test("What is noted after a batch of the engine is not stored with it, however long it waits for what is under way")
  func later() {
    var storing = Storing()
    var told: [String] = []
    func finish(_ storing: inout Storing) -> UInt64? {
      let load = storing.end()
      for action in load?.afterwards ?? [] { action(true) }
      return load?.batch
    }
    note("alone", in: &storing) { told.append($0) }
    storing.seal()
    var begins = storing.begin()
    #expect(begins && !storing.isDue)
    // While that is written the engine says a batch, and before it is written there is more.
    note("before", in: &storing) { told.append($0) }
    storing.next.batch = 1
    #expect(storing.isDue)
    note("with", in: &storing) { told.append($0) }
    storing.seal()
    note("after", in: &storing) { told.append($0) }
    storing.seal()
    begins = storing.begin()
    #expect(!begins && !storing.isDue)
    var batch = finish(&storing)
    #expect(batch == nil && told == ["alone"])
    begins = storing.begin()
    #expect(begins)
    batch = finish(&storing)
    #expect(batch == 1 && told == ["alone", "before", "with"])
    storing.next.batch = 2
    storing.seal()
    begins = storing.begin()
    #expect(begins)
    batch = finish(&storing)
    #expect(batch == 2 && told == ["alone", "before", "with", "after"])
    begins = storing.begin()
    #expect(!begins && storing.isDue)
  }

  @Test("What will never be stored is told so, wherever it waits")
  func givenUp() {
    var storing = Storing()
    var lost: [String] = []
    func note(_ name: String) {
      storing.next.changes.append(.perform { _ in })
      storing.next.afterwards.append { isStored in if !isStored { lost.append(name) } }
    }
    note("current")
    _ = storing.begin()
    note("sealed")
    storing.next.batch = 1
    storing.seal()
    note("next")
    for action in storing.giveUp() { action(false) }
    #expect(lost == ["current", "sealed", "next"] && storing.current == nil)
  }
}
