internal import Glibc
internal import Programs
internal import Report

/// Clients of WebSockets: many that hear the same, many that hear nothing, and one that hears of another gateway.
extension Suite {
  private static let rounds = 3
  /// A tail is by chance half as long as the next one, or twice: of few long turns the median is one or the other.
  private static let turnsForTails = 100
  static let shortTime = 0.8
  static let subscribers = 500
  static let window = 64
  private static let idleClients = 5_000
  private static let relayed = 500

  struct Fan {
    let rate: Double
    let p99: Double
    let cost: Double
    /// The slowest hundredth of each tenth of a second.
    let tenths: [Double]
  }

  /// Each message is one of another peer in the session, and reaches every subscriber, in order and without a gap: the
  /// clients check that.
  mutating func fanout() throws {
    // The store is on a disk.
    let disk = try WorkPlace(onDisk: true)
    let gateway = try GatewayUnderTest("fanout", port: ports.next(), at: [], in: disk.folder)
    // The sessions beside it store nothing.
    let stage = try stage(gateway, .memory)
    let (nats, mosquitto) = (try others.nats(), try others.mosquitto())
    var (ours, natss, mosquittos): ([Fan], [Fan], [Fan]) = ([], [], [])
    for _ in 0..<Self.rounds {
      ours.append(try fan(gateway, stage))
      natss.append(try fan("nats", nats))
      mosquittos.append(try fan("mqtt", mosquitto))
    }
    let (natsRate, mosquittoRate) = (median(natss.map(\.rate)), median(mosquittos.map(\.rate)))
    table.add("fanout", medianOf: ours.map(\.rate), "/s", goal: .atLeast(max(natsRate, 5 * mosquittoRate)))
    table.add("fanout-nats", medianOf: natss.map(\.rate), "/s")
    table.add("fanout-mosquitto", medianOf: mosquittos.map(\.rate), "/s")
    let best = min(median(natss.map(\.p99)), median(mosquittos.map(\.p99)))
    table.add("fanout-p99", medianOf: ours.map(\.p99), times: 1e3, "ms", goal: .atMost(best * 1e3))
    table.add("fanout-p99-nats", medianOf: natss.map(\.p99), times: 1e3, "ms")
    table.add("fanout-p99-mosquitto", medianOf: mosquittos.map(\.p99), times: 1e3, "ms")
    table.add("fanout-processor-time", medianOf: ours.map(\.cost), times: 1e9, "ns each")
    table.add("fanout-processor-time-nats", medianOf: natss.map(\.cost), times: 1e9, "ns each")
    table.add("fanout-processor-time-mosquitto", medianOf: mosquittos.map(\.cost), times: 1e9, "ns each")
  }

  /// The cost of durable messages: sessions with a durable history and those with one in memory, of one gateway, by
  /// turns.
  mutating func fanoutKept() throws {
    let disk = try WorkPlace(onDisk: true)
    let gateway = try GatewayUnderTest("fanout-kept", port: ports.next(), at: [], in: disk.folder)
    let stages = [try stage(gateway, .memory), try stage(gateway, .durable)]
    var (fans, atHalf): ([[Fan]], [[Double]]) = ([[], []], [[], []])
    for _ in 0..<Self.turnsForTails {
      for at in 0...1 { fans[at].append(try fan(gateway, stages[at], for: Self.shortTime)) }
    }
    let rates = fans.map { median($0.map(\.rate)) }
    let half = rates[0] / Double(Self.subscribers) / 2
    for _ in 0..<Self.turnsForTails { for at in 0...1 { atHalf[at] += try pace(gateway, stages[at], half) } }
    let p99s = fans.map { mean($0.flatMap(\.tenths)) * 1e3 }, p99sAtHalf = atHalf.map { mean($0) * 1e3 }
    table.add("fanout-kept", rates[1], "/s", goal: .atLeast(0.9 * rates[0]))
    table.add("fanout-kept-p99", p99s[1], "ms", goal: .atMost(1.1 * p99s[0]))
    table.add("fanout-kept-at-half-p99", p99sAtHalf[1], "ms", goal: .atMost(1.1 * p99sAtHalf[0]))
    table.add("fanout-kept-processor-time", median(fans[1].map(\.cost)) * 1e9, "ns each")
    table.add("fanout-in-memory", rates[0], "/s")
    table.add("fanout-in-memory-p99", p99s[0], "ms")
    table.add("fanout-in-memory-at-half-p99", p99sAtHalf[0], "ms")
  }

  struct Stage {
    let sending: String
    let receiving: String
  }

  func stage(
    _ gateway: GatewayUnderTest, _ keep: GatewayUnderTest.Keep, keeping limits: [String: Int] = [:]
  ) throws -> Stage {
    let stage = Stage(
      sending: try gateway.session("Speaker", "fan-\(keep)", keep, keeping: limits),
      receiving: try gateway.session("Crowd", "fan-\(keep)", keep, keeping: limits))
    _ = try gateway.waitForMember(of: stage.sending)
    return stage
  }

  func fan(
    _ gateway: GatewayUnderTest, _ stages: Stage..., to subscribers: Int = Self.subscribers, for seconds: Double = 2
  ) throws -> Fan {
    try fan(gateway, stages, to: subscribers, window: Self.window, for: seconds)
  }

  /// In several sessions at once, each with subscribers and messages in flight of its own.
  func fan(
    _ gateway: GatewayUnderTest, _ stages: [Stage], to subscribers: Int, window: Int, for seconds: Double
  ) throws -> Fan {
    let places = try stages.flatMap { try place(gateway, $0).dropFirst() }
    return try fan(
      "vicinity", (gateway.process, gateway.port), [gateway.token] + places, to: subscribers, window: window,
      for: seconds)
  }

  /// The delay of the slowest hundredth in each tenth of a second, of so many messages a second that are due at their times.
  private func pace(_ gateway: GatewayUnderTest, _ stage: Stage, _ rate: Double) throws -> [Double] {
    let load = ["\(gateway.port)", "\(Self.subscribers)", "\(Int(rate))", "\(Self.shortTime)"]
    return try tenths(words([program("socket-load"), "paced"] + load + place(gateway, stage)))
  }

  /// The channel's subscriber, its position, and the source of the messages.
  func place(_ gateway: GatewayUnderTest, _ stage: Stage) throws -> [String] {
    let channel = "\(stage.receiving)/messages"
    return [gateway.token, channel, try gateway.position(of: channel), "\(stage.sending)/messages"]
  }

  private func tenths(_ said: [Substring]) throws -> [Double] {
    try (6..<said.count).map { try number(said, $0) / 1e9 }
  }

  /// The geometric mean: late and timely deliveries count by their ratios.
  private func mean(_ delays: [Double]) -> Double { exp(delays.map(log).reduce(0, +) / Double(delays.count)) }

  func fan(
    _ name: String, _ server: (process: Child, port: Int), _ place: [String] = [],
    to subscribers: Int = Self.subscribers,
    window: Int = Self.window, for seconds: Double = 2
  ) throws -> Fan {
    let before = server.process.processorTime
    let arguments = ["\(server.port)", "\(subscribers)", "\(window)", "\(seconds)"]
    let said = try words([program("socket-load"), "fanout", name] + arguments + place)
    // A fifth of the time is for what is cold; its deliveries are not counted, so they are taken in at the same rate.
    let counted = try number(said, 1)
    let count = try number(said, 0)
    return Fan(
      rate: count / counted, p99: try number(said, 3) / 1e9,
      cost: (server.process.processorTime - before) / (count * (counted + seconds / 5) / counted),
      tenths: try tenths(said))
  }

  mutating func idle() throws {
    let gateway = try gateway("idle")
    let channel = "\(try gateway.session("Quiet", "idle"))/messages"
    let place = [gateway.token, channel, try gateway.position(of: channel)]
    let ours = try held("vicinity", (gateway.process, gateway.port), place)
    let (nats, mosquitto) = (try held("nats", others.nats()), try held("mqtt", others.mosquitto()))
    table.add("idle-memory", ours, "KiB each", goal: .atMost(min(mosquitto, nats / 2)))
    table.add("idle-memory-nats", nats, "KiB each")
    table.add("idle-memory-mosquitto", mosquitto, "KiB each")
  }

  /// The cost of each idle client in the server's own memory.
  private func held(_ name: String, _ server: (process: Child, port: Int), _ place: [String] = []) throws -> Double {
    let before = server.process.memory
    let load = try Child([program("socket-load"), "hold", name, "\(server.port)", "\(Self.idleClients)"] + place)
    let line = try load.line(within: 120)
    guard line == "held" else { throw Failure("\(name): \(line)") }
    pass(2)
    return (server.process.memory - before) * 1_024 / Double(Self.idleClients)
  }

  /// From a POST to one gateway until a client of another one has it.
  mutating func relay() throws {
    // Both keep it on a disk, before the one tells the other and before that tells its client.
    let disk = try WorkPlace(onDisk: true)
    let (from, sending, to, receiving, _) = try pair(in: disk)
    let channel = "\(receiving)/messages"
    let arguments =
      ["\(from.port)", from.token, "\(sending)/messages", "\(to.port)", to.token, channel]
      + [try to.position(of: channel), "\(Self.relayed)"]
    let said = try words([program("socket-load"), "relay"] + arguments)
    table.add("relay", try number(said, 0) / 1e6, "ms", goal: .atMost(3))
    table.add("relay-p99", try number(said, 1) / 1e6, "ms", goal: .atMost(15))
  }
}
