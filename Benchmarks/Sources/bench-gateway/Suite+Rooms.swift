internal import Programs
internal import Report

/// Small rooms, beside a server that only passes messages on: one publisher with few subscribers, and many such rooms at once.
extension Suite {
  private static let sizes = [1, 10, 50, 500]
  private static let rooms = 100
  private static let subscribersOfRoom = 10
  /// The messages in flight of each of many rooms; all of them together have as many as keep the server busy.
  private static let windowOfRoom = 4
  private static let fanTime = 1.0
  private static let repeats = 3

  mutating func rooms() throws {
    let gateway = try gateway("rooms")
    let stage = try stage(gateway, .memory)
    let nats = try others.nats()
    for size in Self.sizes {
      var (ours, others): ([Fan], [Fan]) = ([], [])
      for _ in 0..<Self.repeats {
        ours.append(try fan(gateway, stage, to: size, for: Self.fanTime))
        others.append(try fan("nats", nats, to: size, for: Self.fanTime))
      }
      add("room", size, ours, others)
      // Each message is read, checked, sent and kept once, and goes out to each subscriber.
      table.add(
        "room-processor-time-\(size)", medianOf: ours.map { $0.cost * Double(size) }, times: 1e6, "µs",
        goal: .atMost(10 + 0.3 * Double(size)))
    }
    try manyRooms(gateway, nats)
  }

  private mutating func manyRooms(_ gateway: GatewayUnderTest, _ nats: (process: Child, port: Int)) throws {
    let (speaker, crowd) = (try gateway.peer("Speaker"), try gateway.peer("Crowd"))
    let stages = try (0..<Self.rooms).map { room in
      Stage(
        sending: try gateway.session(of: speaker, "room-\(room)", .memory),
        receiving: try gateway.session(of: crowd, "room-\(room)", .memory))
    }
    for stage in stages { _ = try gateway.waitForMember(of: stage.sending) }
    let subjects = [""] + (0..<Self.rooms).flatMap { ["room\($0)", "", "room\($0)"] }
    var (ours, others): ([Fan], [Fan]) = ([], [])
    for _ in 0..<Self.repeats {
      ours.append(
        try fan(gateway, stages, to: Self.subscribersOfRoom, window: Self.windowOfRoom, for: Self.fanTime))
      others.append(
        try fan(
          "nats", nats, subjects, to: Self.subscribersOfRoom, window: Self.windowOfRoom, for: Self.fanTime))
    }
    add("rooms", Self.rooms, ours, others)
    table.add("rooms-processor-time-\(Self.rooms)", medianOf: ours.map(\.cost), times: 1e6, "µs each")
    table.add("rooms-processor-time-nats-\(Self.rooms)", medianOf: others.map(\.cost), times: 1e6, "µs each")
    table.add("rooms-p99-\(Self.rooms)", medianOf: ours.map(\.p99), times: 1e3, "ms")
    table.add("rooms-p99-nats-\(Self.rooms)", medianOf: others.map(\.p99), times: 1e3, "ms")
  }

  private mutating func add(_ name: String, _ size: Int, _ ours: [Fan], _ others: [Fan]) {
    let goal = median(others.map(\.rate))
    table.add("\(name)-\(size)", medianOf: ours.map(\.rate), "/s", goal: .atLeast(goal))
    table.add("\(name)-nats-\(size)", medianOf: others.map(\.rate), "/s")
  }
}
