internal import Programs
internal import Report

/// Messages that are there after a power cut: their gateway's folder is on a disk.
extension Suite {
  private static let rounds = 3
  private static let posters = 16
  /// The requests that a gateway takes from one WebSocket at a time.
  private static let windowOfPoster = 64
  private static let rateGoal = 20_000.0

  struct Acknowledged {
    let rate: Double
    let median: Double
    let p99: Double
    let cost: Double
  }

  /// Messages that one peer sends to another one at the same gateway, and both keep: an answer comes when they are stored.
  mutating func kept() throws {
    let disk = try WorkPlace(onDisk: true)
    let gateway = try GatewayUnderTest("kept", port: ports.next(), at: [], in: disk.folder)
    let stage = try stage(gateway, .durable)
    var (closed, open): ([Acknowledged], [Acknowledged]) = ([], [])
    let sync = try disk.syncTime()
    for _ in 0..<Self.rounds {
      closed.append(try acknowledge(gateway, stage))
      open.append(try acknowledge(gateway, stage, at: Self.rateGoal / 2))
    }
    table.add("disk-sync", sync * 1e3, "ms")
    table.add("acknowledged", medianOf: closed.map(\.rate), "/s", goal: .atLeast(Self.rateGoal))
    table.add("acknowledged-p99", medianOf: closed.map(\.p99), times: 1e3, "ms")
    table.add("acknowledged-processor-time", medianOf: closed.map(\.cost), times: 1e6, "µs each")
    table.add("acknowledged-at-half", medianOf: open.map(\.rate), "/s")
    table.add("acknowledged-at-half-median", medianOf: open.map(\.median), times: 1e3, "ms")
    table.add("acknowledged-at-half-p99", medianOf: open.map(\.p99), times: 1e3, "ms", goal: .atMost(25))
  }

  /// As many as are answered, or each at its time, so many in a second.
  func acknowledge(_ gateway: GatewayUnderTest, _ stage: Stage, at rate: Double = 0) throws -> Acknowledged {
    let before = gateway.process.processorTime
    let load = ["\(Self.posters)", "\(Self.windowOfPoster)", "3", "\(rate)"]
    let said = try words(
      [program("socket-load"), "acknowledge", "\(gateway.port)"] + load + [gateway.token, "\(stage.sending)/messages"])
    let (count, seconds) = (try number(said, 0), try number(said, 1))
    return Acknowledged(
      rate: count / seconds, median: try number(said, 2) / 1e9, p99: try number(said, 3) / 1e9,
      cost: (gateway.process.processorTime - before) / (count * (seconds + 0.6) / seconds))
  }
}
