internal import Foundation
internal import Testing

@testable internal import Gateway

/// Interleavings of requests that seeds choose (docs/simulation.md).
@Suite("Requests in any order of threads", .timeLimit(.minutes(5)))
struct InterleavingTests {
  private static let blocks = 4
  private static let seedsPerBlock: UInt64 = 250

  /// The seeds of `./vic interleavings FIRST [COUNT]`.
  private static var chosen: Range<UInt64>? {
    let numbers = (ProcessInfo.processInfo.environment["VICINITY_INTERLEAVINGS"] ?? "").split(separator: " ")
    guard let first = numbers.first.flatMap({ UInt64($0) }) else { return nil }
    return first..<first + (numbers.count > 1 ? UInt64(numbers[1]) ?? 1 : 1)
  }

  @Test(
    "In 1,000 seeded interleavings nothing deleted comes back, nothing is over a limit, one change per tag is made, quotas add up, and nothing stays reserved",
    arguments: 0..<(chosen == nil ? UInt64(blocks) : 1))
  func holds(block: UInt64) async throws {
    let seeds = Self.chosen ?? block * Self.seedsPerBlock..<(block + 1) * Self.seedsPerBlock
    let violation = try await RaceScenario.run(seeds)
    #expect(violation == nil)
  }

  @Test("A seed chooses the same steps each time, at a gateway of its own")
  func repeats() async throws {
    for seed in [3, 14] as [UInt64] {
      let first = try await RaceScenario.trace(of: seed)
      #expect(first.count > 20)
      #expect(try await RaceScenario.trace(of: seed) == first)
    }
  }

  @Test(
    "With a rule switched off the same seeds find the fault within the first hundred",
    arguments: [
      (GatewaySabotage.reservesNothing, RaceScenario.Rule.limits), (.raisesTheDeleted, .deletedStaysDeleted),
      (.changesAtOnce, .oneChangePerTag),
    ])
  func canary(sabotage: GatewaySabotage, rule: RaceScenario.Rule) async throws {
    let violation = try await RaceScenario.run(0..<100, sabotage)
    let found = try #require(violation, "no seed found it")
    #expect(found.rule == rule, "\(found)")
  }
}
