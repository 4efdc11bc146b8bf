import Engine
import Wire

/// How things stand when the input begins to speak.
extension FuzzNetwork {
  func set() {
    addPeers()
    let friend = honest.addPeer(crypto.key("peer honest"), name: AttackerState.name("honest"), at: now)
    let mates = [open(0, asks: scene.asks), open(1), open(2)]
    shared = mates[0]
    guarded = mates[2]
    endpoints = [mates[0], mates[1]]
    let friendly = [
      try? honest.openSession(friend, SessionSettings(), at: now),
      try? honest.openSession(friend, SessionSettings(), at: now),
    ]
    program.honest = Set(mates + friendly.compactMap(\.self))
    honestProgram.honest = Set(mates)
    try? engine.startAdvertising(peers[0], type, info: .empty, at: now)
    try? engine.startBrowsing(peers[0], type, at: now)
    let exporter = crypto.hash(Array("honest link".utf8))
    engine.linkOpened(
      honestLink, to: crypto.key("host honest"), exporter: exporter, dial: nil, datagramBytesMax: 1_200, at: now)
    honest.linkOpened(
      honestLink, to: crypto.key("host victim"), exporter: exporter, dial: DialID(rawValue: 1),
      datagramBytesMax: 1_200, at: now)
    engine.sighted(
      SightingID(rawValue: 1),
      Sighting(
        peer: friend, host: honest.hostID, type: type, name: AttackerState.name("honest"), info: .empty,
        addresses: [AttackerState.address("honest")]), at: now)
    try? honest.startAdvertising(friend, type, info: .empty, at: now)
    settle()
    for (mine, theirs) in zip([mates[2], mates[0]], friendly) {
      honestAccepts = theirs
      _ = try? engine.invite(friend, as: type, to: mine, context: [], timeout: .zero, at: now)
      settle()
    }
    if scene.hasFellow {
      try? engine.startAdvertising(peers[1], type, info: .empty, at: now)
      accepts[peers[1]] = mates[1]
      _ = try? engine.invite(peers[1], as: type, to: mates[0], context: [], timeout: .zero, at: now)
      settle()
    }
    setHostile(mates[0])
    advance(100)
    let members = 1 + (scene.hasFellow ? 1 : 0) + (scene.progress == 3 ? 1 : 0)
    precondition(engine.connectedMembers(of: mates[0]).count == members, "the scene is not as it should be")
    if scene.isCalm, let friend = friendly[0] { beginCalmly(mates[2], friend) }
    if scene.isAdhoc { try? engine.startAdhoc(mates[1], type, info: .empty, at: now) }
    settle()
  }

  private func setHostile(_ endpoint: EndpointID) {
    let key = crypto.key("host hostile")
    let hostile = HostID(digest: crypto.hash(HostID.preimage(of: key)))
    engine.sighted(
      SightingID(rawValue: 2),
      Sighting(
        peer: attacker.ownPeer, host: hostile, type: type, name: AttackerState.name("hostile"), info: .empty,
        addresses: [AttackerState.address("hostile")]), at: now)
    if scene.hasRoster {
      engine.sightedRoster(
        SightingID(rawValue: 3), of: hostile, type: type, addresses: [AttackerState.address("hostile")], at: now)
    }
    let link = HostileLink(id: LinkID(rawValue: 2), exporter: crypto.hash(Array("link 2".utf8)))
    links = [link]
    engine.linkOpened(link.id, to: key, exporter: link.exporter, dial: dials.popLast(), datagramBytesMax: 0, at: now)
    if scene.progress == 1 {
      settle()
      give(attacker.hello().encoded())
    }
    if scene.progress >= 2 {
      let tame = Engine(
        host: key, incarnation: Incarnation(1), settings: Settings(), crypto: crypto, seed: crypto.hash([3]), at: now)
      self.tame = tame
      let peer = tame.addPeer(crypto.key("peer hostile"), name: AttackerState.name("hostile"), at: now)
      tame.linkOpened(
        link.id, to: crypto.key("host victim"), exporter: link.exporter, dial: nil, datagramBytesMax: 0, at: now)
      settle()
      if scene.progress >= 3, let own = try? tame.openSession(peer, SessionSettings(), at: now) {
        tame.sighted(
          SightingID(rawValue: 1),
          Sighting(
            peer: peers[0], host: engine.hostID, type: type, name: AttackerState.name("victim"), info: .empty,
            addresses: [AttackerState.address("victim")]), at: now)
        try? tame.startBrowsing(peer, type, at: now)
        accepts[peers[0]] = endpoint
        _ = try? tame.invite(peers[0], as: type, to: own, context: [], timeout: .zero, at: now)
        settle()
      }
    }
  }

  func addPeers() {
    peers = ["zero", "one", "two"].map {
      engine.addPeer(crypto.key("peer " + $0), name: AttackerState.name($0), at: now)
    }
    attacker.peers += peers.prefix(2)
  }

  private func open(_ number: Int, asks: Bool = false) -> EndpointID {
    var settings = SessionSettings()
    settings.streamsMax = 4
    settings.resources.offersMax = 4
    settings.resources.acceptsUnasked = scene.takesAll || number == 2
    if asks { settings.trust = .ask(timeout: .seconds(10)) }
    guard let endpoint = try? engine.openSession(peers[number], settings, at: now) else {
      preconditionFailure("a session could not be opened")
    }
    return endpoint
  }
}
