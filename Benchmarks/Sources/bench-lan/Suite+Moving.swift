internal import Glibc
internal import Programs
internal import Report

/// Two processes on one machine: messages and files, over its loopback; and one that has nothing to do.
extension Suite {
  private static let rounds = 5
  private static let tripRounds = 9
  private static let fileRounds = 7
  private static let messageBytes = 100

  /// All in one direction, until the last is read.
  mutating func messages() throws {
    let count = 1_000_000
    let (ada, bob) = try pair()
    var (rates, costs): ([Double], [Double]) = ([], [])
    for _ in 0..<Self.rounds {
      let before = ada.processorTime + bob.processorTime
      let (sent, got) = try together(ada, "send \(count) \(Self.messageBytes)", bob, "receive \(count)")
      rates.append(Double(count) / (try moment(got, 0) - moment(sent, 0)))
      costs.append((ada.processorTime + bob.processorTime - before) / Double(count))
    }
    table.add("messages", medianOf: rates, "/s", goal: .atLeast(500_000))
    table.add("messages-processor-time", medianOf: costs, times: 1e6, "µs each")
  }

  /// A message there and one back, beside the same bytes over bare TLS: each time by new processes, since some are
  /// quicker than others of the same program.
  mutating func trips() throws {
    let count = 5_000
    let server = try Child([program("tls-floor"), "serve", "127.0.0.1"])
    let port = try server.line()
    var (ours, slowest, bare, costs): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    var atOnce: [Double] = []
    for _ in 0..<Self.tripRounds {
      let (ada, bob) = try pair()
      let before = ada.processorTime + bob.processorTime
      let (times, _) = try together(ada, "ping \(count) \(Self.messageBytes)", bob, "echo \(count)")
      ours.append(try moment(times, 0))
      slowest.append(try moment(times, 1))
      costs.append((ada.processorTime + bob.processorTime - before) / Double(count))
      let (quick, _) = try together(
        ada, "ping-at-once \(count) \(Self.messageBytes)", bob, "echo-at-once \(count)")
      atOnce.append(try moment(quick, 0))
      let client = try Child([program("tls-floor"), "trips", "127.0.0.1", port, "\(count)", "\(Self.messageBytes)"])
      bare.append(try moment(client.line().split(separator: " "), 0))
    }
    table.add("round-trip", medianOf: ours, times: 1e6, "µs", goal: .atMost(1.5 * median(bare) * 1e6))
    table.add("round-trip-on-the-loop", medianOf: atOnce, times: 1e6, "µs", goal: .atMost(1.5 * median(bare) * 1e6))
    table.add("round-trip-bare", medianOf: bare, times: 1e6, "µs")
    table.add("round-trip-p99", medianOf: slowest, times: 1e6, "µs")
    table.add("round-trip-processor-time", medianOf: costs, times: 1e6, "µs")
  }

  /// A gibibyte from one file into another, held to its hashes, beside `curl`, which checks nothing.
  mutating func files() throws {
    let bytes = 1 << 30
    let place = try WorkPlace()
    try place.fill("source", bytes)
    let (ada, bob) = try pair()
    let server = try place.startServer()
    var (ours, theirs): ([Double], [Double]) = ([], [])
    var (costs, theirCosts): ([Double], [Double]) = ([], [])
    for _ in 0..<Self.fileRounds {
      try place.warm(bytes)
      let before = ada.processorTime + bob.processorTime
      let (sent, got) = try together(ada, "offer \(place.folder)/source", bob, "take \(place.folder)/in")
      ours.append(Double(bytes) / (max(try moment(sent, 1), try moment(got, 1)) - (try moment(sent, 0))))
      costs.append(ada.processorTime + bob.processorTime - before)
      try place.compare("in/source", bytes)

      try place.warm(bytes)
      let (start, served) = (now(), server.process.processorTime)
      let curl = try Child(["curl", "-sSk", "-o", "\(place.folder)/copy", "https://127.0.0.1:\(server.port)/source"])
      let cost = curl.ended()
      theirs.append(Double(bytes) / (now() - start))
      theirCosts.append(cost + server.process.processorTime - served)
      try place.compare("copy", bytes)
    }
    table.add("file", medianOf: ours, times: 1e-6, "MB/s", goal: .atLeast(0.9 * median(theirs) / 1e6))
    table.add("file-by-curl", medianOf: theirs, times: 1e-6, "MB/s")
    table.add("file-processor-time", medianOf: costs, "s")
    table.add("file-processor-time-by-curl", medianOf: theirCosts, "s")
    table.add("file-memory-of-sender", ada.memoryPeak, "MiB", goal: .atMost(64))
    table.add("file-memory-of-receiver", bob.memoryPeak, "MiB", goal: .atMost(64))
  }

  /// A host in a session with ten others, and nobody says anything.
  mutating func idle() throws {
    let links = 10
    let seconds = 20
    let host = try Child([program("lan-partner")])
    guard let port = try host.ask("fixed").first else { throw Failure("a host that does not say where it is") }
    try host.ask("advertise bench")
    let others = try (0..<links).map { _ in
      let other = try Child([program("lan-partner")])
      try other.ask("fixed 127.0.0.1:\(port)")
      try join(other, host)
      return other
    }
    try host.ask("members \(links)")
    for other in others { try other.ask("members \(links)") }
    pass(3)
    let (sleeps, spent) = (host.sleeps, host.processorTime)
    pass(Double(seconds))
    // Each second every link says a sign of life and hears one.
    let due = 2 * links
    table.add("idle-with-10-links", host.memory, "MiB", goal: .atMost(30))
    table.add(
      "idle-wakes", Double(host.sleeps - sleeps) / Double(seconds), "/s", goal: .atMost(Double(due)))
    table.add("idle-processor-time", (host.processorTime - spent) / Double(seconds) * 1e3, "ms/s")
    withExtendedLifetime(others) {}
  }
}
