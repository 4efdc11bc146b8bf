internal import Glibc
internal import Programs
internal import Report

/// Two hosts of the laboratory: how they find each other, connect, and hear of each other's end.
extension Suite {
  private static let rounds = 5
  private static let handshakes = 9
  /// Before an invitation, and before each handshake beside it: whoever has found somebody thinks for a moment, and a
  /// processor that sleeps wakes slowly.
  private static let thought = 0.3

  /// From the call that advertises a peer until the other host has it, beside `avahi-browse`, told of the same record.
  mutating func found(_ rig: LabRig) throws {
    let (ada, bob) = (try rig.partner(on: 0), try rig.partner(on: 1))
    try ada.ask("avahi")
    try bob.ask("avahi")
    var (ours, theirs): ([Double], [Double]) = ([], [])
    for round in 0..<Self.rounds {
      try bob.ask("browse ours\(round)")
      settle()
      let began = try moment(ada.ask("advertise ours\(round)"), 0)
      ours.append(try moment(bob.ask("find"), 0) - began)

      let browser = try rig.start("stdbuf -oL avahi-browse -rp _theirs\(round)._tcp", on: 1)
      settle()
      let start = try moment(ada.ask("advertise theirs\(round)"), 0)
      while !(try browser.line()).hasPrefix("=") {}
      theirs.append(now() - start)
    }
    table.add("found", medianOf: ours, times: 1e3, "ms", goal: .atMost(1.1 * median(theirs) * 1e3))
    table.add("found-by-avahi-browse", medianOf: theirs, times: 1e3, "ms")
  }

  /// Lets the searches run for a while, as on a network where somebody browses.
  private func settle() { pass(0.3) }

  /// From the invitation until it is connected, beside a TLS handshake of the same kind between the same hosts. Each time
  /// the two have never met: new keys, and no ticket. By programs of any tasks, and of such as prefer the hosts' loops.
  mutating func connected(_ rig: LabRig) throws {
    let bob = try rig.partner(on: 1)
    try bob.ask("avahi")
    try bob.ask("advertise bench")
    let ada = try rig.partner(on: 0)
    let server = try rig.start("\(program("tls-floor")) serve \(rig.addresses[1])", on: 1)
    let port = try server.line()
    var (ours, atOnce, handshakes, trips): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    for _ in 0..<Self.handshakes {
      for how in ["", "-at-once"] {
        try ada.ask("avahi")
        let (from, to) = try join(ada, bob, after: Self.thought, how)
        if how.isEmpty { ours.append(to - from) } else { atOnce.append(to - from) }
      }
      let command = "handshakes \(rig.addresses[1]) \(port) 5 \(Int(Self.thought * 1e3))"
      let client = try rig.start("\(program("tls-floor")) \(command)", on: 0)
      let times = try client.line().split(separator: " ")
      handshakes.append(try moment(times, 0))
      trips.append(try moment(times, 1))
    }
    let goal = 2 * median(handshakes) + median(trips)
    table.add("connected", medianOf: ours, times: 1e3, "ms", goal: .atMost(goal * 1e3))
    table.add("connected-on-the-loop", medianOf: atOnce, times: 1e3, "ms", goal: .atMost(goal * 1e3))
    table.add("connected-handshake-bare", medianOf: handshakes, times: 1e3, "ms")
    table.add("connected-round-trip-bare", medianOf: trips, times: 1e3, "ms")
  }

  /// A host whose power goes.
  mutating func parted(_ rig: LabRig) throws {
    let bob = try rig.partner(on: 1)
    try bob.ask("avahi")
    try bob.ask("advertise doomed")
    let ada = try rig.partner(on: 0)
    try ada.ask("avahi")
    try join(ada, bob, by: "doomed")
    try ada.say("parting")
    try rig.kill(1)
    // It says nothing more once it is gone.
    _ = try? bob.line()
    let end = now()
    let times = try ada.answer()
    table.add("host-died-not-connected", try moment(times, 0) - end, "s", goal: .atMost(5))
    table.add("host-died-lost", try moment(times, 1) - end, "s", goal: .atMost(10))
  }
}
