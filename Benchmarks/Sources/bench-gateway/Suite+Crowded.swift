internal import Programs
internal import Report

/// The cost of slow clients for the others, and for the gateway.
extension Suite {
  private static let slow = 20
  private static let stuck = 1
  /// Messages of 100 bytes, each 340 bytes as JSON: what a slow client would have to read in a second.
  private static let rate = 400
  private static let bytesPerSecond = 340 * rate
  private static let turns = 3
  /// The limit of a WebSocket's send queue, as the gateway is configured.
  private static let queueMax = 4.0

  /// The same crowd in a session whose history lasts: alone, beside those who do not keep up for all of the time, and alone
  /// again.
  mutating func crowded() throws {
    let disk = try WorkPlace(onDisk: true)
    let gateway = try GatewayUnderTest("crowded", port: ports.next(), at: [], in: disk.folder)
    let stage = try stage(gateway, .durable)
    _ = try crowd(gateway, stage, for: 2)
    let turn = max(2, crowdedTime / 10)
    var alone = try (0..<Self.turns).map { _ in try crowd(gateway, stage, for: turn) }
    let memory = gateway.process.memoryPeak
    let laggards = try laggards(gateway, stage)
    let beside = try crowd(gateway, stage, for: crowdedTime)
    laggards.end()
    let more = gateway.process.memoryPeak - memory
    alone += try (0..<Self.turns).map { _ in try crowd(gateway, stage, for: turn) }
    table.add("crowded-time", Double(crowdedTime), "s")
    table.add("crowded-p99-alone", median(alone) * 1e3, "ms")
    table.add("crowded-p99", beside * 1e3, "ms", goal: .atMost(1.2 * median(alone) * 1e3))
    table.add(
      "crowded-memory", more, "MiB more",
      goal: .atMost(Double(Self.slow + Self.stuck) * Self.queueMax))
    let ended = try gateway.count("vicinity_websocket_lags_total")
    table.add("crowded-sent-away", ended, "times")
  }

  /// The delay of the slowest hundredth.
  private func crowd(_ gateway: GatewayUnderTest, _ stage: Stage, for seconds: Int) throws -> Double {
    let load = ["\(gateway.port)", "\(Self.subscribers)", "\(Self.rate)", "\(seconds)"]
    return try number(words([program("socket-load"), "paced"] + load + place(gateway, stage), after: seconds), 3) / 1e9
  }

  private func laggards(_ gateway: GatewayUnderTest, _ stage: Stage) throws -> Child {
    let load = ["\(gateway.port)", "\(Self.slow)", "\(Self.stuck)", "\(Self.bytesPerSecond)"]
    let child = try Child([program("socket-load"), "lag"] + load + place(gateway, stage).dropLast())
    let line = try child.line()
    guard line == "held" else { throw Failure("lag: \(line)") }
    return child
  }
}
