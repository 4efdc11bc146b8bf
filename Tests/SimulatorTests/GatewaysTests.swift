import Engine
import Testing
import Wire

@testable import Simulator

@Suite struct GatewaysTests {
  @Test("Each endpoint of many on one host is told what is for it", arguments: 1...6 as ClosedRange<UInt64>)
  func audiences(seed: UInt64) {
    let outcome = Simulation.run(.gateways, seed: seed)
    #expect(outcome.violation == nil)
    #expect(outcome.tally.messages > 0)
  }

  @Test("A message to all is one event for all endpoints of a host but those that refuse its sender")
  func refusal() {
    let (gateway, other) = (0, PeerRef(host: 1))
    var plan = Plan(.gateways, seed: 3)
    plan.hosts = [HostPlan(peers: Array(repeating: PeerPlan(), count: 4)), HostPlan(peers: [PeerPlan()])]
    plan.active = 20_000
    plan.settling = 10_000
    plan.steps = [Step(at: 0, act: .browse(other, type: 0))]
    for place in 0..<4 {
      let ref = PeerRef(host: gateway, peer: place)
      plan.steps.append(Step(at: 1, act: .advertise(ref, type: 0, info: 0)))
      plan.steps.append(Step(at: 1_000 + place, act: .invite(other, end: 0, ref, type: 0, timeout: 5_000)))
    }
    plan.steps += [
      Step(at: 5_000, act: .block(PeerRef(host: gateway, peer: 1), end: 0, other, true)),
      Step(at: 6_000, act: .block(other, end: 0, PeerRef(host: gateway, peer: 2), true)),
      Step(at: 8_000, act: .send(other, end: 0, Sending())),
    ]
    let outcome = Simulation.run(plan, recording: true)
    #expect(outcome.violation == nil)
    let told = outcome.transcript.filter { $0.contains("message #0 of h1, ") }
    #expect(told.count == 1)
    // Both, in whichever order they joined.
    #expect(
      ["h0, h0.p3", "h0.p3, h0"].contains { told.first?.contains("  h0   \($0): message #0") == true }, "\(told)")
  }
}
