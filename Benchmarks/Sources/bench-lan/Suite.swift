internal import Glibc
internal import Programs
internal import Report

/// Measures the real path over a LAN, beside others that do the same without us: each in processes of its own, by turns, and of several
/// runs the median.
struct Suite {
  enum Part: String, CaseIterable {
    case found, connected, relayed, changed, parted, messages, trips, files, idle, circuits
  }

  var table = Table()

  mutating func run(_ parts: [Part]) throws {
    let rigged: Set<Part> = [.found, .connected, .parted, .relayed, .changed]
    if !rigged.isDisjoint(with: parts) {
      let rig = try LabRig(hosts: parts.contains(.relayed) ? 4 : 2)
      // In this order: `parted` powers a host off.
      for part in Part.allCases where rigged.contains(part) && parts.contains(part) { try run(part, rig) }
      try rig.close()
    }
    for part in parts where !rigged.contains(part) { try run(part) }
  }

  private mutating func run(_ part: Part, _ rig: LabRig? = nil) throws {
    switch (part, rig) {
    case (.found, let rig?): try found(rig)
    case (.connected, let rig?): try connected(rig)
    case (.parted, let rig?): try parted(rig)
    case (.relayed, let rig?): try relayed(rig)
    case (.changed, let rig?): try changed(rig)
    case (.messages, _): try messages()
    case (.trips, _): try trips()
    case (.files, _): try files()
    case (.idle, _): try idle()
    case (.circuits, _): try circuits()
    case (.found, nil), (.connected, nil), (.parted, nil), (.relayed, nil), (.changed, nil):
      preconditionFailure("\(part) needs the laboratory")
    }
  }
}

/// A moment that a partner told.
func moment(_ words: [Substring], _ position: Int) throws -> Double { try number(words, position) / 1e9 }

/// Two partners in one session, on one machine: one invites, the other accepts.
func pair() throws -> (Child, Child) {
  let (ada, bob) = (try Child([program("lan-partner")]), try Child([program("lan-partner")]))
  guard let port = try bob.ask("fixed").first else { throw Failure("a host that does not say where it is") }
  try ada.ask("fixed 127.0.0.1:\(port)")
  try bob.ask("advertise bench")
  try join(ada, bob)
  return (ada, bob)
}

/// The first one finds the second one and invites it. Answers when it began to, and when it was connected.
@discardableResult
func join(
  _ ada: Child, _ bob: Child, by type: String = "bench", after pause: Double = 0, _ how: String = ""
) throws -> (from: Double, to: Double) {
  try ada.ask("browse \(type)")
  try ada.ask("find")
  try bob.say("accept\(how)")
  pass(pause)
  let times = try ada.ask("invite\(how) \(type)")
  _ = try bob.answer()
  return (try moment(times, 0), try moment(times, 1))
}

/// Both do their part at the same time.
func together(_ ada: Child, _ hers: String, _ bob: Child, _ his: String) throws -> ([Substring], [Substring]) {
  try bob.say(his)
  try ada.say(hers)
  return (try ada.answer(), try bob.answer())
}
