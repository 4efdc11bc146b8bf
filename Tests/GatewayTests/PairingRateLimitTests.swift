internal import Reactor
internal import Testing

@testable internal import Gateway

@Suite("Wrong codes are counted by where they come from, in simulated time")
struct PairingRateLimitTests {
  private static let start = Instant.now

  /// Whether one from there was let through, which spends it.
  private static func guess(_ budget: inout PairingRateLimit, _ source: PairingRateLimit.Source, _ milliseconds: Int64)
    -> Bool
  {
    let now = start + .milliseconds(milliseconds)
    guard budget.refusal(of: source, at: now) == nil else { return false }
    budget.spend(source, at: now)
    return true
  }

  private static func address(_ text: String) throws -> PairingRateLimit.Source {
    .address(try #require(SocketAddress(text, port: 0)).host)
  }

  @Test("Two guesses a second from one address for an hour get ten a minute, and nobody else is turned away")
  func flood() throws {
    var budget = PairingRateLimit(PairingRateLimit.Limits())
    let (enemy, neighbour, user) = try (
      Self.address("203.0.113.7"), Self.address("203.0.113.8"), Self.address("198.51.100.1")
    )
    var count = 0
    for time in stride(from: Int64(0), to: 3_600_000, by: 500) {
      if Self.guess(&budget, enemy, time) { count += 1 }
      let now = Self.start + .milliseconds(time)
      for source in [.machine, neighbour, user] { #expect(budget.refusal(of: source, at: now) == nil) }
    }
    #expect((590...610).contains(count))
  }

  @Test(
    "A network is one, however many addresses guess",
    arguments: [("203.0.113.", "203.0.114.1"), ("2001:db8:0:1::", "2001:db8:0:2::1")])
  func networks(_ network: String, _ other: String) throws {
    var budget = PairingRateLimit(PairingRateLimit.Limits())
    let count = try (1...200).count { Self.guess(&budget, try Self.address("\(network)\($0)"), Int64($0)) }
    #expect(count == 20)
    let refusal = budget.refusal(of: try Self.address("\(network)250"), at: Self.start + .seconds(1))
    #expect(refusal == PairingRateLimit.Refusal(limit: 20, time: .milliseconds(59_001)))
    #expect(Self.guess(&budget, try Self.address(other), 1_000))
    #expect(Self.guess(&budget, try Self.address("\(network)250"), 60_001))
  }

  @Test("An attacker with all networks gets 120 guesses a minute, 1 in 10,000 in a year, and the machine is let in")
  func everywhere() throws {
    var budget = PairingRateLimit(PairingRateLimit.Limits())
    var count = 0
    for step in 0..<60_000 {
      let source = PairingRateLimit.Source.address(.v4([UInt8(step % 251), UInt8(step % 241), UInt8(step % 239), 1]))
      let time = Int64(step) * 10
      if Self.guess(&budget, source, time) { count += 1 }
      #expect(budget.refusal(of: .machine, at: Self.start + .milliseconds(time)) == nil)
    }
    // Ten minutes, and what the first moment allows.
    #expect(count <= 120 * 11)
    #expect(120.0 * 60 * 24 * 365 / 0x1p40 < 0.0001)
  }

  @Test("The machine's own guesses turn away the machine alone")
  func machine() throws {
    var budget = PairingRateLimit(PairingRateLimit.Limits())
    #expect((0..<100).count { Self.guess(&budget, .machine, Int64($0)) } == 20)
    #expect(Self.guess(&budget, try Self.address("203.0.113.7"), 200))
    #expect(Self.guess(&budget, .machine, 60_001))
  }
}
