internal import Programs
internal import Report

/// Memory of a gateway: of messages that it holds, and of nothing once all is deleted.
extension Suite {
  private static let held = 200_000
  private static let historyBytes = 256 << 20
  private static let peersOfCrowd = 400
  private static let talkTime = 2
  /// A quiet gateway returns freed memory every ten seconds.
  private static let freeTime = 30.0

  mutating func memory() throws {
    let gateway = try gateway("memory")
    pass(Self.freeTime)
    let before = gateway.process.memory

    let load = try Child([program("socket-load"), "crowd", "crowd", "memory", "\(gateway.port)", gateway.token])
    try load.ask("pair \(Self.peersOfCrowd)", within: 120)
    try load.ask("join \(Self.peersOfCrowd)", within: 120)
    try load.ask("talk \(Self.talkTime) 0", within: 120)

    pass(Self.freeTime)
    let withCrowd = gateway.process.memory
    // The sender keeps nothing.
    let limits = ["count": Self.held, "bytes": Self.historyBytes]
    let stage = Stage(
      sending: try gateway.session("Speaker", "held", .none),
      receiving: try gateway.session("Keeper", "held", .memory, keeping: limits))
    _ = try gateway.waitForMember(of: stage.sending)
    var count = 0
    while count < Self.held {
      _ = try acknowledge(gateway, stage)
      let position = try gateway.position(of: "\(stage.receiving)/messages")
      count = min(Self.held, Int(position.split(separator: ".").last ?? "") ?? 0)
    }
    pass(Self.freeTime)
    table.add(
      "memory-of-message", (gateway.process.memory - withCrowd) * 1_048_576 / Double(count), "bytes", goal: .atMost(400)
    )
    table.add("memory-of-all", gateway.process.memory, "MiB")

    load.end(asking: false)
    try gateway.deleteAll()
    pass(Self.freeTime)
    table.add("memory-before", before, "MiB")
    table.add("memory-after-deletion", gateway.process.memory, "MiB", goal: .atMost(1.3 * before + 16))
  }
}

extension GatewayUnderTest {
  /// Deletes all peers and clients but itself.
  fileprivate func deleteAll() throws {
    let own = try text("id", "GET", "/v1/clients/self")
    for (list, kept) in [("/v1/clients", own), ("/v1/peers", "")] {
      while true {
        let items = try ask("GET", "\(list)?limit=1000")["items"] as? [[String: Any]] ?? []
        let ids = items.compactMap { $0["id"] as? String }.filter { $0 != kept }
        if ids.isEmpty { break }
        for id in ids { try ask("DELETE", "\(list)/\(id)") }
      }
    }
  }
}
