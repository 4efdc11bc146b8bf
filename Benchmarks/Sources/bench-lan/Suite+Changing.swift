internal import Programs
internal import Report

/// Two hosts that meet in a shared folder and on the LAN, of which one goes and comes back: how long messages pause meanwhile.
extension Suite {
  private static let rounds = 5
  private static let folder = "/run/shared/change"
  /// The time until a link of another medium is on standby.
  private static let settling = 4.0

  /// The result of some seconds of talk: the longest time that a reliable message took, and how many unreliable ones were lost.
  private typealias Talk = (longest: Double, lost: Double)

  mutating func changed(_ rig: LabRig) throws {
    _ = try rig.start("mkdir -m 700 \(Self.folder)", on: 0).ended()
    var (usual, noticed, upgraded, silent): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    var lost = 0.0
    for round in 0..<Self.rounds {
      let (ada, bob) = try pair(rig, round)
      func talk(_ seconds: Int, while happening: () throws -> Void = {}) throws -> Talk {
        try bob.say("listen")
        try ada.say("talk \(seconds * 1_000)")
        pass(0.2)
        try happening()
        let (sent, got) = (try ada.answer(), try bob.answer())
        return (try moment(got, 0), try number(sent, 0) - number(got, 1))
      }
      pass(Self.settling)
      usual.append(try talk(2).longest)
      noticed.append(try talk(2) { try setFolder(false, rig) }.longest)
      try setFolder(true, rig)
      // The upgrade comes five seconds after the loss.
      let upgrade = try talk(8)
      upgraded.append(upgrade.longest)
      lost += upgrade.lost
      try setFolder(false, rig)
      // Nobody would notice a folder that is back at once. It is on standby for five seconds, until it may be an upgrade.
      pass(1)
      try setFolder(true, rig)
      pass(1)
      silent.append(try talk(4) { try rig.lose(1, percent: 100) }.longest)
      try rig.limit(1, to: nil)
    }
    table.add("change-usual", medianOf: usual, times: 1e3, "ms")
    // The round trip of the other medium is within the usual time.
    table.add("change-with-notice", medianOf: noticed, times: 1e3, "ms", goal: .atMost(median(usual) * 1e3 + 50))
    table.add("change-without-notice", medianOf: silent, times: 1e3, "ms", goal: .atMost(3_500))
    table.add("change-upgrade", medianOf: upgraded, times: 1e3, "ms", goal: .atMost(median(usual) * 1e3 + 20))
    table.add("change-upgrade-lost", lost, "messages", goal: .atMost(0))
  }

  private func setFolder(_ isThere: Bool, _ rig: LabRig) throws {
    let (here, away) = (Self.folder, Self.folder + "-away")
    _ = try rig.start(isThere ? "mv \(away) \(here)" : "mv \(here) \(away)", on: 0).ended()
  }

  private func pair(_ rig: LabRig, _ round: Int) throws -> (Child, Child) {
    let (ada, bob) = (try rig.partner(on: 0), try rig.partner(on: 1))
    for one in [ada, bob] { try one.ask("media folder:\(Self.folder) lan") }
    guard let port = try bob.ask("fixed").first else { throw Failure("a host that does not say where it is") }
    try ada.ask("fixed \(rig.addresses[1]):\(port)")
    try bob.ask("advertise change\(round)")
    try join(ada, bob, by: "change\(round)")
    return (ada, bob)
  }
}
