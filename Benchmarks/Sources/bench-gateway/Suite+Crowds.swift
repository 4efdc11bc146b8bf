internal import Programs
internal import Report

/// Browsers at several gateways that are peers of one session, each with a token, a WebSocket, a peer and a session of its own.
extension Suite {
  private static let gateways = 4
  static let crowdsSizeUsual = 10_000
  private static let talkTime = 4
  private static let rate = 20
  private static let timeMax = 1_500
  private static let settleTime = 10.0

  mutating func crowds() throws {
    let size = crowdsSize
    let numbers = (0..<Self.gateways).map { _ in ports.next() }
    let gateways = try numbers.enumerated().map { place, port in
      try GatewayUnderTest("crowds-\(place)", port: port, at: numbers.filter { $0 != port }, in: self.place.folder)
    }
    let load = try Child(
      [program("socket-load"), "crowd", "crowds", "memory"] + gateways.flatMap { ["\($0.port)", $0.token] })
    func processorTime() -> Double { gateways.reduce(0) { $0 + $1.process.processorTime } }
    func memory() -> Double { gateways.reduce(0) { $0 + $1.process.memory } }

    _ = try load.ask("pair \(size)", within: Self.timeMax)
    let before = (processorTime(), memory())
    let forming = try load.ask("join \(size)", within: Self.timeMax)
    let formed = processorTime()
    pass(Self.settleTime)
    table.add("crowds-forming-\(size)", formed - before.0, "s")
    table.add("crowds-forming-time-\(size)", try number(forming, 0), "s")
    table.add("crowds-memory-\(size)", (memory() - before.1) * 1_024 / Double(size), "KiB each")

    let start = (processorTime(), try gateways[0].linkBytes())
    let talking = try load.ask("talk \(Self.talkTime) \(Self.rate)", within: Self.timeMax)
    let messages = try number(talking, 0)
    let bytes = try (gateways[0].linkBytes() - start.1) / messages / Double(Self.gateways - 1)
    table.add("crowds-message-\(size)", (processorTime() - start.0) / messages * 1e3, "ms")
    table.add("crowds-p99-\(size)", try number(talking, 5) / 1e6, "ms")
    // A second copy of a message would have 100 bytes more, and the rest of a frame.
    table.add("crowds-link-bytes-\(size)", bytes, "per message", goal: .atMost(300))
  }
}

extension GatewayUnderTest {
  /// The bytes that it has sent to other gateways. Browsers come from other addresses of the loopback.
  fileprivate func linkBytes() throws -> Double {
    let sockets = "ss -Htnip 'dst 127.0.0.1' | grep -A1 'pid=\(process.process),' | grep -o 'bytes_sent:[0-9]*'"
    let sum = "awk -F: '{ sum += $2 } END { print sum + 0 }'"
    return try number(Child(["sh", "-c", "\(sockets) | \(sum)"]).line().split(separator: " "), 0)
  }
}
