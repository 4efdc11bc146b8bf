import Engine

extension Planner {
  mutating func draw() {
    plan.faults = Faults.drawn(&random)
    switch plan.scenario {
    case .pair: pair()
    case .adhoc: adhoc()
    case .mutualInvitation: mutualInvitation()
    case .discovery: discovery()
    case .answers: answers()
    case .refusals: refusals()
    case .byHand: byHand()
    case .groups: groups()
    case .merge: merge()
    case .sessions: sessions()
    case .removal: removal()
    case .encryption: encryption()
    case .trust: trust()
    case .codes: codes()
    case .full: full()
    case .messages: messages()
    case .backlog: backlog()
    case .unreliable: unreliable()
    case .churn: churn()
    case .partition: partition()
    case .silence: silence()
    case .slow: slow()
    case .restart: restart()
    case .backup: backup()
    case .conflict: conflict()
    case .malicious: malicious()
    case .large: large()
    case .bulk: bulk()
    case .cheats: cheats()
    case .clocks: clocks()
    case .crowd: crowd()
    case .gateways: gateways()
    case .media: media()
    case .walkAway: walkAway()
    case .flapping: flapping()
    case .bridge: bridge()
    case .relayDies: relayDies()
    case .twoRelays: twoRelays()
    case .badRelay: badRelay()
    case .introduced: introduced()
    case .crowd5000: crowd5000()
    }
  }

  private mutating func large() {
    add(hosts: random.within(40...100))
    plan.faults.chunkBytesMax = 65_536
    plan.faults.latencyMax = max(plan.faults.latencyMax, 5)
    everybodyMeets(gap: 60)
    everybodyTalks(from: 8_000, count: 15, Self.chat)
    everybodyStreams(from: 8_000, count: 2)
    everybodyOffers(from: 8_000, count: 2)
    plan.active = 15_000
    plan.settling = 30_000
    plan.steps.removeAll { $0.at >= 15_000 }
  }

  private mutating func crowd5000() {
    plan.faults = Faults()
    add(hosts: 1, peers: 5_000) { host, _ in
      for place in host.peers.indices {
        host.peers[place].answerDelay = 20_000
        host.peers[place].endpoints[0].peersMax = 10_000
      }
    }
    add(hosts: random.within(2...3)) { host, _ in host.peers[0].endpoints[0].peersMax = 10_000 }
    for place in 0..<5_000 {
      let ref = PeerRef(host: 0, peer: place)
      at(place / 10, .advertise(ref, type: 0, info: 0))
      at(3_000 + place * 3, .invite(PeerRef(host: 1), end: 0, ref, type: 0, timeout: 60_000))
    }
    for host in 1..<plan.hosts.count { at(1_000, .advertise(PeerRef(host: host), type: 0, info: 0)) }
    for host in 1..<plan.hosts.count { at(1_000, .browse(PeerRef(host: host), type: 0)) }
    for host in 2..<plan.hosts.count {
      at(2_500, .invite(PeerRef(host: 1), end: 0, PeerRef(host: host), type: 0, timeout: 60_000))
    }
    for place in 0..<5 {
      at(46_000 + place * 100, .send(PeerRef(host: 1), end: 0, Sending(bytes: 100)))
      at(46_050 + place * 100, .send(PeerRef(host: 0, peer: place * 500), end: 0, Sending(bytes: 100, recipients: 1)))
    }
    at(47_000, .cut(0, 1, milliseconds: 2_000, .both))
    plan.active = 50_000
    plan.settling = 30_000
  }
}
