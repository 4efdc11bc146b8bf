internal import Programs
internal import Report

/// Hosts with no common medium, in a shared folder and on the LAN, and a relay between them that has both.
extension Suite {
  private static let rounds = 5
  private static let trips = 1_000
  /// 100 Mbit/s: the slower leg is then the cable, and not a processor, which four processes share.
  private static let rate = 12_500_000
  private static let fileBytes = 4 * rate
  private static let folder = "/run/shared/bench"

  /// Both legs through the relay, beside each of them alone; and the relay's own messages to a fourth host beside a file that it
  /// passes on.
  mutating func relayed(_ rig: LabRig) throws {
    _ = try rig.start("mkdir -m 700 \(Self.folder)", on: 0).ended()
    let place = try WorkPlace()
    try place.fill("source", Self.fileBytes)
    var (near, far, both): ([Double], [Double], [Double]) = ([], [], [])
    for _ in 0..<Self.rounds {
      near.append(try roundTrip(nearLeg(rig)).median)
      far.append(try roundTrip(farLeg(rig)).median)
      let (ends, relay) = try legs(rig)
      both.append(try withExtendedLifetime(relay) { try roundTrip(ends).median })
    }
    let goal = median(near) + median(far) + 0.3e-3
    table.add("relayed-round-trip", medianOf: both, times: 1e6, "µs", goal: .atMost(goal * 1e6))
    table.add("relayed-round-trip-folder", medianOf: near, times: 1e6, "µs")
    table.add("relayed-round-trip-lan", medianOf: far, times: 1e6, "µs")

    try rig.limit(1, to: Self.rate)
    pass(1)
    var (direct, through, alone, beside): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    for _ in 0..<Self.rounds {
      direct.append(try transfer(farLeg(rig), place))
      let (ends, relay) = try legs(rig)
      let own = try Pair(first: partner(rig, on: 3, "lan", at: [relay.place]).child, second: relay.child)
      try relay.child.ask("advertise own")
      try join(own.first, own.second, by: "own")
      alone.append(try roundTrip(own).slowest)
      through.append(
        try transfer(ends, place) {
          pass(0.5)
          beside.append(try roundTrip(own).slowest)
        })
    }
    try rig.limit(1, to: nil)
    table.add("relayed-file", medianOf: through, times: 1e-6, "MB/s", goal: .atLeast(0.8 * median(direct) / 1e6))
    table.add("relayed-file-lan", medianOf: direct, times: 1e-6, "MB/s")
    table.add("relay-own-p99", medianOf: beside, times: 1e6, "µs", goal: .atMost(1.3 * median(alone) * 1e6))
    table.add("relay-own-p99-alone", medianOf: alone, times: 1e6, "µs")
  }

  /// A hundred circuits through one relay, between ten hosts on each of its media, in a session of all twenty: the memory that it
  /// takes at most while everybody sends to everybody, links included.
  mutating func circuits() throws {
    let (width, count, bytes) = (10, 200, 1_000)
    let place = try WorkPlace()
    let far = try (0..<width).map { _ in try partner("lan relay") }
    for (number, host) in far.enumerated() { try host.child.ask("advertise bench\(number)") }
    let relay = try partner("folder:\(place.folder)/in lan relay", at: far.map { "127.0.0.1:\($0.port)" }).child
    pass(3)
    let before = relay.memory
    let near = try (0..<width).map { _ in try partner("folder:\(place.folder)/in relay").child }
    for (number, host) in far.enumerated() { try join(near[0], host.child, by: "bench\(number)") }
    for host in near.dropFirst() { try join(host, far[0].child, by: "bench0") }
    let hosts = near + far.map(\.child)
    for host in hosts { try host.ask("members \(hosts.count - 1)") }
    for host in hosts { try host.say("converse \(count) \(bytes) \((hosts.count - 1) * count)") }
    for host in hosts { _ = try host.answer() }
    let taken = (relay.memoryPeak - before) * 1_024 / Double(width * width)
    table.add("relay-memory-of-circuit", taken, "KiB", goal: .atMost(64))
  }

  // MARK: Partners

  private struct Pair {
    let first: Child
    let second: Child
  }

  private func partner(_ media: String, at places: [String] = []) throws -> (child: Child, port: Substring) {
    try started(Child([program("lan-partner")]), media, places)
  }

  private func partner(
    _ rig: LabRig, on host: Int, _ media: String, at places: [String] = []
  ) throws -> (child: Child, place: String) {
    let (child, port) = try started(rig.partner(on: host), media, places)
    return (child, "\(rig.addresses[host]):\(port)")
  }

  private func started(
    _ child: Child, _ media: String, _ places: [String]
  ) throws -> (child: Child, port: Substring) {
    try child.ask("media \(media)")
    // A host without the LAN has no port.
    return (child, try child.ask("fixed \(places.joined(separator: " "))").first ?? "")
  }

  private func nearLeg(_ rig: LabRig) throws -> Pair {
    let relay = try partner(rig, on: 2, "folder:\(Self.folder)")
    return try joined(partner(rig, on: 0, "folder:\(Self.folder)").child, relay.child)
  }

  private func farLeg(_ rig: LabRig) throws -> Pair {
    let end = try partner(rig, on: 1, "lan")
    return try joined(partner(rig, on: 2, "lan", at: [end.place]).child, end.child)
  }

  private func legs(_ rig: LabRig) throws -> (ends: Pair, relay: (child: Child, place: String)) {
    let end = try partner(rig, on: 1, "lan relay")
    let relay = try partner(rig, on: 2, "folder:\(Self.folder) lan relay", at: [end.place])
    return (try joined(partner(rig, on: 0, "folder:\(Self.folder) relay").child, end.child), relay)
  }

  private func joined(_ first: Child, _ second: Child) throws -> Pair {
    // Those of the pair before may still be there.
    let type = "bench\(second.process)"
    try second.ask("advertise \(type)")
    try join(first, second, by: type)
    return Pair(first: first, second: second)
  }

  // MARK: Measuring

  /// The median, and the slowest hundredth.
  private func roundTrip(_ pair: Pair) throws -> (median: Double, slowest: Double) {
    let (times, _) = try together(pair.first, "ping \(Self.trips) 100", pair.second, "echo \(Self.trips)")
    return (try moment(times, 0), try moment(times, 1))
  }

  /// Bytes a second of a file; what is measured beside it must be over before it is.
  private func transfer(_ pair: Pair, _ place: WorkPlace, beside measure: () throws -> Void = {}) throws -> Double {
    try pair.second.say("take \(place.folder)/in")
    try pair.first.say("offer \(place.folder)/source")
    try measure()
    let end = now()
    let (sent, got) = (try pair.first.answer(), try pair.second.answer())
    guard try moment(sent, 1) > end else { throw Failure("the file was there before what was measured beside it") }
    try place.compare("in/source", Self.fileBytes)
    return Double(Self.fileBytes) / (max(try moment(sent, 1), try moment(got, 1)) - (try moment(sent, 0)))
  }
}
