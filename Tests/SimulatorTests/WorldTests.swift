import Engine
import Testing
import Wire

@testable import Simulator

@Suite struct WorldTests {
  /// Two hosts that are joined at 1 s; what else happens is the test's.
  private func plan(_ change: (inout Plan) -> Void) -> Plan {
    var plan = Plan(.pair, seed: 5)
    plan.hosts = [HostPlan(peers: [PeerPlan()]), HostPlan(peers: [PeerPlan()])]
    plan.active = 30_000
    plan.settling = 20_000
    let (a, b) = (PeerRef(host: 0), PeerRef(host: 1))
    plan.steps = [
      Step(at: 100, act: .advertise(b, type: 0, info: 0)), Step(at: 100, act: .browse(a, type: 0)),
      Step(at: 1_000, act: .invite(a, end: 0, b, type: 0, timeout: 5_000)),
    ]
    change(&plan)
    return plan
  }

  private func lines(_ plan: Plan, with words: String) -> [String] {
    let outcome = Simulation.run(plan, recording: true)
    #expect(outcome.violation == nil)
    return outcome.transcript.filter { $0.contains(words) }
  }

  @Test("In a calm world two hosts connect once and nothing ends")
  func calm() {
    let calm = plan { $0.isCalm = true }
    #expect(lines(calm, with: "is connected").count == 2)
    #expect(lines(calm, with: "not connected").isEmpty)
  }

  @Test("A cable cut for 2 s suspends, one cut for 20 s ends the pair, and it comes back", arguments: [2_000, 20_000])
  func cut(milliseconds: Int) {
    let cut = plan { $0.steps.append(Step(at: 5_000, act: .cut(0, 1, milliseconds: milliseconds, .both))) }
    #expect(lines(cut, with: "is suspended").count == 2)
    #expect(lines(cut, with: "not connected (lost)").count == (milliseconds > 10_000 ? 2 : 0))
    #expect(lines(cut, with: "is connected").count == (milliseconds > 10_000 ? 4 : 2))
  }

  @Test("A cut that no system notices is noticed by the engines")
  func silence() {
    let cut = plan { $0.steps.append(Step(at: 5_000, act: .cut(0, 1, milliseconds: 20_000, .neither))) }
    #expect(lines(cut, with: "not connected (lost)").count == 2)
  }

  @Test("A host that crashed says nothing more, and what it comes back as is new")
  func crash() {
    let crash = plan { $0.steps.append(Step(at: 5_000, act: .crash(1, back: .fresh, after: 8_000))) }
    let outcome = Simulation.run(crash, recording: true)
    #expect(outcome.violation == nil)
    let between = outcome.transcript.drop { !$0.contains("h1   crashes") }.dropFirst()
      .prefix { !$0.contains("h1   comes up") }
    #expect(!between.isEmpty && between.allSatisfy { !$0.contains("  h1   ") })
  }

  @Test("Discovery that works one way only lets one side find the other")
  func oneWay() {
    let hidden = plan {
      $0.steps = [
        Step(at: 0, act: .hide(1, from: 0, milliseconds: 60_000)),
        Step(at: 100, act: .advertise(PeerRef(host: 0), type: 0, info: 0)),
        Step(at: 100, act: .advertise(PeerRef(host: 1), type: 0, info: 0)),
        Step(at: 100, act: .browse(PeerRef(host: 0), type: 0)), Step(at: 100, act: .browse(PeerRef(host: 1), type: 0)),
      ]
    }
    let found = lines(hidden, with: " found ")
    #expect(found.first?.contains("h1 found h0") == true)
    #expect(found.last?.contains("h0 found h1") == true)
    // Only once the world has healed.
    #expect(found.last?.hasPrefix("  30.") == true)
  }

  @Test("A clock that is off and drifts gives moments back as it shows them", arguments: [-500, 0, 37, 500])
  func clocks(drift: Int64) {
    var random = Random(seed: 9)
    let ring = KeyRing()
    let host = SimHost(
      index: 0, plan: HostPlan(), key: ring.makeKey(&random), crypto: ToyCrypto(ring: ring), origin: 77_000_000_000,
      drift: drift, hosts: 1)
    for _ in 0..<1_000 {
      let moment = Int64(random.below(1 << 40))
      let shown = host.local(moment)
      let back = host.world(shown)
      #expect(host.local(back) >= shown)
      #expect(back == 0 || host.local(back - 1) < shown)
    }
  }

  @Test("Nobody signs for another, and a changed text is not what was signed")
  func crypto() {
    var random = Random(seed: 2)
    let ring = KeyRing()
    let (mine, yours) = (ring.makeKey(&random), ring.makeKey(&random))
    let crypto = ToyCrypto(ring: ring)
    crypto.own(mine)
    let signature = crypto.sign([1, 2, 3], with: mine)
    #expect(crypto.verify(signature, of: [1, 2, 3], by: mine))
    #expect(!crypto.verify(signature, of: [1, 2, 4], by: mine))
    #expect(!crypto.verify(signature, of: [1, 2, 3], by: yours))
    #expect(crypto.hash([0]) != crypto.hash([0, 0]))
  }
}
