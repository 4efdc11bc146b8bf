internal import Programs
internal import Report
internal import Store

/// Browsers that are peers of one session, each with a token, a WebSocket, a peer and a session of its own: how the gateway's
/// cost grows with them. They check number, order and bytes of each message.
extension Suite {
  /// The goals are those of a thousand peers, and hold for each of fewer.
  static let crowdSizesUsual = [50, 100, 200, 400]
  static let crowdSizeMax = 5_000
  private static let joins = 5
  private static let talkTime = 2
  private static let rate = 100
  /// For what goes on after the last command has been answered.
  private static let settleTime = 2.0
  /// For what is freed then: a quiet gateway looks every ten seconds.
  private static let freeTime = 21.0
  private static let timeMax = 600

  private struct Crowd {
    /// Seconds of processor time, per peer where it has one.
    let pairing: Double
    let forming: Double
    let formingTime: Double
    /// In KiB of each peer: once it is quiet, and at once.
    let memory: Double
    let memoryAtOnce: Double
    let rate: Double
    let messages: Double
    let messageCost: Double
    let deliveryCost: Double
    let p99: Double
    let joinCosts: [Double]
  }

  mutating func crowd() throws {
    let nats = try others.nats()
    let plain = try gateway("plain")
    let stage = try stage(plain, .memory)
    var (crowds, sizes): ([Int: Crowd], [Int]) = ([:], crowdSizes)
    for size in sizes {
      let crowd = try crowd(of: size, gateway("crowd-\(size)"), .memory)
      crowds[size] = crowd
      let subscribers = try fan(plain, stage, to: size)
      add(crowd, size, plain: subscribers.cost, nats: try fan("nats", nats, to: size).rate)
    }
    guard let size = sizes.popLast(), let crowd = crowds[size] else { return }
    if let half = crowds[size / 2] {
      table.add("crowd-forming-growth-\(size)", crowd.forming / half.forming, "×", goal: .atMost(2.2))
      table.add(
        "crowd-memory-growth-\(size)", crowd.memory * Double(size) / (half.memory * Double(size / 2)), "×",
        goal: .atMost(2.2))
    }
    try durableCrowd(of: size, beside: crowd)
  }

  /// Its history is on a disk.
  private mutating func durableCrowd(of size: Int, beside inMemory: Crowd) throws {
    let disk = try WorkPlace(onDisk: true)
    let gateway = try GatewayUnderTest("crowd", port: ports.next(), at: [], in: disk.folder)
    let crowd = try crowd(of: size, gateway, .durable)
    gateway.process.end(asking: true)
    let rows = try Database("\(disk.folder)/crowd/vicinity/gateway/gateway.db", schema: Schema([]))
      .first("SELECT (SELECT count(*) FROM message) + (SELECT count(*) FROM shared_message)") { Double($0.integer(0)) }
    func add(_ name: String, _ value: KeyPath<Crowd, Double>, times scale: Double, _ unit: String) {
      table.add(
        "crowd-durable-\(name)-\(size)", crowd[keyPath: value] * scale, unit,
        goal: .atMost(1.2 * inMemory[keyPath: value] * scale))
    }
    add("forming", \.forming, times: 1, "s")
    add("memory", \.memory, times: 1, "KiB each")
    add("message", \.messageCost, times: 1e6, "µs")
    table.add("crowd-durable-rows-\(size)", (rows ?? 0) / crowd.messages, "per message", goal: .atMost(1))
  }

  private mutating func add(_ crowd: Crowd, _ size: Int, plain: Double, nats: Double) {
    let peers = Double(size)
    table.add("crowd-pairing-\(size)", crowd.pairing * 1e3, "ms each")
    table.add("crowd-forming-\(size)", crowd.forming, "s", goal: .atMost(5 * peers / 1_000))
    table.add("crowd-forming-time-\(size)", crowd.formingTime, "s")
    table.add("crowd-memory-\(size)", crowd.memory, "KiB each", goal: .atMost(24))
    table.add("crowd-memory-at-once-\(size)", crowd.memoryAtOnce, "KiB each")
    table.add("crowd-message-\(size)", crowd.messageCost * 1e6, "µs")
    table.add("crowd-delivery-\(size)", crowd.deliveryCost * 1e9, "ns each", goal: .atMost(1.5 * plain * 1e9))
    table.add("crowd-delivery-plain-\(size)", plain * 1e9, "ns each")
    table.add("crowd-\(size)", crowd.rate, "/s", goal: .atLeast(nats))
    table.add("crowd-nats-\(size)", nats, "/s")
    table.add("crowd-p99-\(size)", crowd.p99 * 1e3, "ms", goal: .atMost(15))
    table.add("crowd-join-\(size)", medianOf: crowd.joinCosts, times: 1e3, "ms", goal: .atMost(2))
  }

  private func crowd(of size: Int, _ gateway: GatewayUnderTest, _ keep: GatewayUnderTest.Keep) throws -> Crowd {
    let load = try Child([program("socket-load"), "crowd", "crowd", keep.rawValue, "\(gateway.port)", gateway.token])
    /// The processor time of a command, and of what it leaves to be done.
    func cost(of command: String, settling: Double = Self.settleTime) throws -> (cost: Double, said: [Substring]) {
      let before = gateway.process.processorTime
      let said = try load.ask(command, within: Self.timeMax)
      pass(settling)
      return (gateway.process.processorTime - before, said)
    }
    let before = gateway.process.memory
    let pairing = try cost(of: "pair \(size + Self.joins)", settling: 0)
    let forming = try cost(of: "join \(size)")
    func growth() -> Double { (gateway.process.memory - before) * 1_024 / Double(size) }
    let memoryAtOnce = growth()
    pass(Self.freeTime)
    let memory = growth()
    let talking = try cost(of: "talk \(Self.talkTime) 0")
    let paced = try cost(of: "talk \(Self.talkTime) \(Self.rate)")
    let joins = try (0..<Self.joins).map { _ in try cost(of: "join 1", settling: Self.settleTime / 4).cost }
    let (messages, deliveries) = (try number(talking.said, 0), try number(talking.said, 1))
    return Crowd(
      pairing: pairing.cost / Double(size + Self.joins), forming: forming.cost,
      formingTime: try number(forming.said, 0),
      memory: memory, memoryAtOnce: memoryAtOnce, rate: try number(talking.said, 2) / number(talking.said, 3),
      messages: try messages + number(paced.said, 0), messageCost: talking.cost / messages,
      deliveryCost: talking.cost / deliveries, p99: try number(paced.said, 5) / 1e9, joinCosts: joins)
  }
}
