import Testing
import Wire

@testable import Engine

/// A checker of a host's events on its pairs: the rules that hold in every transcript.
struct TranscriptChecker {
  struct Pair: Hashable {
    var local: EndpointID
    var member: EndpointID
  }

  private var states: [Pair: PairState] = [:]
  private var suspended: Set<Pair> = []
  private var reported: Set<String> = []
  private var isChecked = true

  /// Connecting, connected, notConnected: each change once and in order; messages only between connected ones.
  mutating func note(_ output: Output, _ host: String) {
    isChecked = false
    switch output {
    case .members(let members, let state, let locals):
      for (member, local) in product(members, locals) {
        let pair = Pair(local: local, member: member.endpoint)
        let isLegal =
          switch (states[pair] ?? .notConnected(.none), state) {
          case (.notConnected, .connecting), (.connecting, .connected), (.connecting, .notConnected),
            (.connected, .notConnected):
            true
          default: false
          }
        if !isLegal { report("\(host) told \(state) after \(states[pair].map { "\($0)" } ?? "nothing")") }
        states[pair] = state
        suspended.remove(pair)
      }
    case .suspended(let members, let isSuspended, let locals):
      for (member, local) in product(members, locals) {
        let pair = Pair(local: local, member: member.endpoint)
        if states[pair] != .connected {
          report("\(host) told suspended \(isSuspended) of a pair that is not connected")
        }
        if suspended.contains(pair) == isSuspended { report("\(host) told suspended \(isSuspended) twice") }
        if isSuspended { suspended.insert(pair) } else { suspended.remove(pair) }
      }
    case .message(let from, let to, _, _, _):
      for local in to.all where states[Pair(local: local, member: from)] != .connected {
        report("\(host) told a message of a member that is not connected")
      }
    default: break
    }
  }

  private func product(_ members: [MemberView], _ locals: Locals) -> [(MemberView, EndpointID)] {
    members.flatMap { member in locals.all.map { (member, $0) } }
  }

  /// The connected members are those that were last reported as connected.
  mutating func check(_ endpoints: [EndpointID], in engine: Engine, _ host: String) {
    if isChecked { return }
    isChecked = true
    for endpoint in endpoints {
      let told = Set(states.filter { $0.key.local == endpoint && $0.value == .connected }.map(\.key.member))
      let there = Set(engine.connectedMembers(of: endpoint))
      if told != there { report("\(host) has \(there.count) connected members and told of \(told.count)") }
    }
  }

  private mutating func report(_ sentence: String) {
    if reported.insert(sentence).inserted { Issue.record(Comment(rawValue: sentence)) }
  }
}
