internal import Glibc
internal import Reactor
internal import Testing

@testable internal import Gateway

@Suite(.serialized) struct HeapTests {
  @Test func `freed memory between blocks that are in use is returned to the system`() throws {
    var (kept, freed): ([UnsafeMutableRawPointer], [UnsafeMutableRawPointer]) = ([], [])
    for _ in 0..<8_000 {
      let block = try #require(malloc(16 << 10))
      memset(block, 1, 16 << 10)
      freed.append(block)
      kept.append(try #require(malloc(64)))
    }
    for block in freed { free(block) }
    let before = try #require(ProcessStatistics.memory?.resident)
    Heap.trim()
    let after = try #require(ProcessStatistics.memory?.resident)
    // The freed blocks have 131 MB; other tests allocate meanwhile.
    #expect(before - after > 40e6, "\(before) → \(after)")
    for block in kept { free(block) }
  }

  @Test func `the heap is trimmed once after work, when it is quiet`() throws {
    let trimmer = HeapTrimmer(on: try Reactor())
    let second: UInt64 = 1_000_000_000
    // Busy, then quiet, then idle.
    #expect(!trimmer.takeDueTrim(at: 5 * second))
    #expect(!trimmer.takeDueTrim(at: 9 * second))
    #expect(trimmer.takeDueTrim(at: 9 * second + second / 2))
    #expect(!trimmer.takeDueTrim(at: 9 * second + second / 2 + 1_000))
    #expect(!trimmer.takeDueTrim(at: 12 * second))
    #expect(trimmer.takeDueTrim(at: 12 * second + second / 10))
  }
}
