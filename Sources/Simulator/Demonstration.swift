/// A calm story to read: three hosts find each other, talk, lose a cable and get it back.
public enum Demonstration {
  private static let names = ["harbor", "ferry", "island"]

  static var plan: Plan {
    var plan = Plan(.groups, seed: 7)
    plan.hosts = names.map { _ in HostPlan(peers: [PeerPlan()]) }
    let refs = names.indices.map { PeerRef(host: $0) }
    func at(_ milliseconds: Int, _ act: Act) { plan.steps.append(Step(at: milliseconds, act: act)) }
    for (place, ref) in refs.enumerated() {
      at(100 + place * 100, .advertise(ref, type: 0, info: 0))
      at(100 + place * 100, .browse(ref, type: 0))
    }
    at(2_000, .invite(refs[0], end: 0, refs[1], type: 0, timeout: 10_000))
    at(4_000, .invite(refs[1], end: 0, refs[2], type: 0, timeout: 10_000))
    at(6_000, .send(refs[0], end: 0, Sending(bytes: 40)))
    at(6_500, .send(refs[2], end: 0, Sending(bytes: 25, recipients: 1, receipt: true)))
    at(8_000, .cut(0, 1, milliseconds: 2_000, .neither))
    at(9_000, .send(refs[0], end: 0, Sending(bytes: 60, receipt: true)))
    at(15_000, .cut(1, 2, milliseconds: 30_000, .both))
    at(16_000, .send(refs[1], end: 0, Sending(bytes: 60, receipt: true)))
    at(60_000, .send(refs[1], end: 0, Sending(bytes: 30)))
    at(62_000, .leave(refs[2], end: 0))
    plan.steps.sort { $0.at < $1.at }
    plan.active = 65_000
    plan.settling = 10_000
    return plan
  }

  public static func story() -> [String] {
    let outcome = Simulation.run(plan, recording: true)
    var lines = outcome.transcript.map { line in
      var line = line
      for (place, name) in names.enumerated() { line = line.replacing("h\(place)", with: name) }
      return line
    }
    lines.append("")
    lines.append(outcome.violation.map { "A rule was broken: \($0)" } ?? "Every rule of the model holds.")
    return lines
  }
}
