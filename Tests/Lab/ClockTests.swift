import Testing

@testable import lab_rig

extension LabTests {
  @Suite @Laboratory
  struct ClockTests {
    /// The hosts of the laboratory share the machine's clock, so that the true error can be measured.
    @Test func `P-APP-3 Metronomes of three hosts beat together, each within its error bound`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let visitors = try await rig.party("lab-clock")
        for visitor in visitors { try visitor.program.say("clock") }
        await Laboratory.pass(.seconds(3))
        for visitor in visitors { try visitor.program.say("metronome 300") }
        await Laboratory.pass(.seconds(4))
        for visitor in visitors { try visitor.program.say("metronome 0") }
        for visitor in visitors { try visitor.program.say("clock") }
        var bounds: [Double] = []
        for visitor in visitors {
          _ = try await visitor.program.event("clock") { _ in visitor.told("clock").count == 2 }
          let answer = visitor.told("clock").last
          bounds.append(try #require(answer?["boundMilliseconds"].flatMap(Double.init)))
          #expect(answer?["synchronized"] == "true")
        }
        #expect(visitors.filter { $0.told("clock").last?["source"] == nil }.count == 1)
        print("lab-clock: error bounds of \(bounds) ms")
        // The bounds are under a millisecond on a quiet machine.
        #expect(bounds.allSatisfy { $0 <= 5 })
        let beats = visitors.map { visitor in
          Dictionary(
            visitor.told("beat").compactMap { beat -> (Int, Int)? in
              beat["number"].flatMap { Int($0) }.map { ($0, Int(beat.time / 1_000)) }
            }, uniquingKeysWith: { first, _ in first })
        }
        let common = beats[0].keys.filter { number in beats.allSatisfy { $0[number] != nil } }
        #expect(common.count >= 10)
        // A beat comes when its program is next on a processor; the best of them show the clocks.
        let spreads = common.map { number in
          let moments = beats.compactMap { $0[number] }
          return (moments.max() ?? 0) - (moments.min() ?? 0)
        }.sorted()
        print("lab-clock: beats of three hosts lie apart by \(spreads) µs")
        #expect(spreads[spreads.count / 2] < 50_000)
        #expect(spreads[0] < 2_000)
      }
    }
  }
}
