internal import Programs
internal import Report

/// Many WebSockets that subscribe at once to a channel whose history is full, while messages go on and another client asks.
extension Suite {
  private static let newcomers = 500
  private static let history = 10_000
  private static let ratesOfMessages = [0, 100]
  private static let delayMax = 0.05

  mutating func arrival() throws {
    for rate in Self.ratesOfMessages {
      let gateway = try gateway("arrival-\(rate)")
      // Each new message takes the place of the oldest one.
      let stage = try stage(gateway, .memory, keeping: ["count": Self.history])
      let other = try gateway.pair("other")
      let before = gateway.process.processorTime
      let said = try words(
        [
          program("socket-load"), "arrive", "\(gateway.port)", "\(Self.newcomers)", "\(Self.history)", "\(rate)",
          gateway.token, "\(stage.receiving)/messages", "\(stage.sending)/messages", other,
        ])
      let cost = gateway.process.processorTime - before
      func add(_ name: String, _ value: Double, _ unit: String, goal: Figure.Goal = .none) {
        table.add("arrival-\(name)-\(rate)", value, unit, goal: goal)
      }
      add("time", try number(said, 0), "s")
      add("closed", try number(said, 1), "of \(Self.newcomers)", goal: .atMost(0))
      add("others-median", try number(said, 2) / 1e6, "ms")
      add("others-p99", try number(said, 3) / 1e6, "ms")
      add("others-max", try number(said, 4) / 1e6, "ms", goal: .atMost(Self.delayMax * 1e3))
      add("processor-time", cost, "s")
      add("memory", gateway.process.memoryPeak, "MiB")
    }
  }
}
