import Engine
import Wire

/// The malicious host: it sends frames of its own making, as far as it takes to be admitted, and then lies.
///
/// It knows its own keys only. It meets each honest endpoint with another endpoint of its own: honest peers are joined
/// through it only where it is admitted by both and introduces each to the other, as any member may.
final class Intruder {
  let host: SimHost
  let malice: Malice
  var random: Random
  /// Open links by number, in the order in which they opened.
  var lines: [Line] = []
  /// Bytes that it received on any link.
  var received: [[UInt8]] = []
  /// Entries of honest peers' endpoints.
  var entries: [Entry] = []

  final class Line {
    let link: SimLink
    let side: Int
    var rest: [UInt8] = []
    var isGreeted = false
    var endpoint: EndpointID
    var group: GroupID
    var target: Entry?
    var bond: UInt64 = 1
    var sequence: UInt64 = 0
    var invitation: UInt64 = 0
    /// The endpoint of its own that each of its invitations is for.
    var offered: [UInt64: EndpointID] = [:]
    var flows = FlowAttackState()
    var records: UInt64 = 0
    var circuits: UInt32 = 0

    init(link: SimLink, side: Int, endpoint: EndpointID, group: GroupID) {
      self.link = link
      self.side = side
      self.endpoint = endpoint
      self.group = group
    }
  }

  init(host: SimHost, malice: Malice, random: Random) {
    self.host = host
    self.malice = malice
    self.random = random
  }

  var peer: SimPeer { host.peers[0] }

  func id() -> ID128 { ID128(high: random.next(), low: random.next()) }

  func entry(_ endpoint: EndpointID, key: PublicKey, host id: HostID) -> Entry {
    Entry(
      endpoint: endpoint, incarnation: EndpointIncarnation(host: Incarnation(1), count: 1), peer: key, host: id,
      name: peer.name, terms: Terms(encryption: .optional, showsIdentity: false, peersMax: 256), rank: 1,
      inviter: endpoint, addresses: [])
  }

  func carrier(_ key: PublicKey, signedBy signer: PublicKey) -> Carrier {
    let bytes = Carrier.signedBytes(peer: key, host: host.key, incarnation: Incarnation(1))
    return Carrier(peer: key, incarnation: Incarnation(1), signature: host.crypto.sign(bytes, with: signer))
  }

  func head(_ line: Line) -> RecordHead {
    // It may have lied with the last number there is.
    line.sequence = line.sequence == .max ? 1 : line.sequence + 1
    return RecordHead(strand: 1, sequence: line.sequence)
  }
}

extension World {
  func startMalice(_ host: SimHost) {
    guard let malice = host.plan.malice else { return }
    host.intruder = Intruder(
      host: host, malice: malice, random: Random(seed: plan.seed, stream: UInt64(500_000 + host.index)))
    for peer in host.peers { publish(host, peer.id, Self.types[0], peer.name, .empty) }
    events.push(.malice(host: host.index), at: now + 2_000_000_000)
  }

  func maliciousOpened(_ host: SimHost, _ link: SimLink, _ side: Int) {
    guard let intruder = host.intruder else { return }
    let line = Intruder.Line(link: link, side: side, endpoint: EndpointID(intruder.id()), group: GroupID(intruder.id()))
    intruder.lines.append(line)
    line.bond = intruder.random.next() | 1
    send(Hello(incarnation: Incarnation(1), bond: line.bond, expects: 0, ordinal: UInt32(links.count)), line)
  }

  func send(_ frame: some Frame, _ line: Intruder.Line) { send(bytes: frame.encoded(), line) }

  func send(bytes: [UInt8], _ line: Intruder.Line) {
    guard line.link.ends[line.side].isOpen, !bytes.isEmpty else { return }
    transmit(bytes, line.link, line.side)
  }

  func maliciousReceived(_ bytes: [UInt8], _ host: SimHost, _ link: SimLink, _ side: Int) {
    guard let intruder = host.intruder, let line = intruder.lines.last(where: { $0.link === link }) else { return }
    if intruder.received.count < 200 { intruder.received.append(bytes) }
    var rest = line.rest + bytes
    while let head = try? FrameHead.next(in: rest.span.bytes) {
      let body = Array(rest[head.body])
      rest.removeFirst(head.end)
      answer(head.type, body, intruder, line)
    }
    line.rest = rest
  }

  /// As much of an honest host as it takes to stay connected.
  private func answer(_ type: FrameType, _ body: [UInt8], _ intruder: Intruder, _ line: Intruder.Line) {
    let span = body.span.bytes
    switch type {
    case .hello:
      guard !line.isGreeted else { return }
      line.isGreeted = true
      let theirs = (try? Hello(decoding: span))?.bond ?? 1
      send(Attach(bond: line.bond, expects: theirs, received: 0, first: 1, next: 1), line)
    case .ping:
      if let ping = try? Ping(decoding: span) { send(Pong(token: ping.token), line) }
    case .invite:
      guard let invite = try? Invite(decoding: span) else { return }
      intruder.entries.append(invite.entry)
      guard !intruder.malice.isDisjoint(with: .insiders) else { return }
      line.group = invite.group
      line.target = invite.entry
      let acceptance = Acceptance(
        group: invite.group, entry: intruder.entry(line.endpoint, key: intruder.peer.key, host: intruder.host.id),
        carrier: intruder.carrier(intruder.peer.key, signedBy: intruder.peer.key),
        standing: Standing(size: 1, peersMax: 256, needs: []))
      model.letsIn(line.endpoint, by: invite.entry.endpoint)
      send(Answer(id: invite.id, outcome: .accepted(acceptance)), line)
      join(intruder, line)
    case .answer:
      guard let answer = try? Answer(decoding: span), case .accepted(let acceptance) = answer.outcome else { return }
      intruder.entries.append(acceptance.entry)
      line.target = acceptance.entry
      if let offered = line.offered[answer.id] { model.letsIn(offered, by: acceptance.entry.endpoint) }
      send(Confirm(id: answer.id, reason: .none, rank: 2), line)
      join(intruder, line)
    default: hear(type, span, intruder, line)
    }
  }

  private func join(_ intruder: Intruder, _ line: Intruder.Line) {
    guard let target = line.target else { return }
    send(
      Join(
        record: intruder.head(line), index: 1, target: target.endpoint, targetIncarnation: target.incarnation, seen: 0,
        admits: .all,
        entry: intruder.entry(line.endpoint, key: intruder.peer.key, host: intruder.host.id),
        carrier: intruder.carrier(intruder.peer.key, signedBy: intruder.peer.key), tickets: []),
      line)
  }

  // MARK: Attacks

  func act(maliciously host: SimHost) {
    guard let intruder = host.intruder, !isHealed else { return }
    events.push(.malice(host: host.index), at: now + 300_000_000)
    intruder.lines.removeAll { !$0.link.ends[$0.side].isOpen }
    for other in hosts where !other.isMalicious && other.isUp && has(0, other) {
      let lines = intruder.lines.count { $0.link.ends[1 - $0.side].host == other.index }
      let linesMax = intruder.malice.isDisjoint(with: .flows) ? 2 : 1
      if lines < linesMax, intruder.random.chance(perMille: 500) { connect(host.index, other.index, nil) }
    }
    for line in intruder.lines where line.isGreeted {
      let kinds = (0..<Malice.count).map { Malice(rawValue: 1 << $0) }.filter { intruder.malice.contains($0) }
      attack(intruder.random.pick(kinds), intruder, line)
    }
  }

  private func attack(_ kind: Malice, _ intruder: Intruder, _ line: Intruder.Line) {
    tally.faults += 1
    let victims = hosts[line.link.ends[1 - line.side].host].peers
    guard let victim = victims.isEmpty ? nil : intruder.random.pick(victims) else { return }
    transcript.add(now, intruder.host.index) { "attacks \(victim.ref) (\(kind.rawValue))" }
    switch kind {
    case .garbage: send(bytes: intruder.random.bytes(intruder.random.within(1...400)), line)
    case .truncates:
      let whole = Ping(token: 1).encoded()
      send(bytes: Array(whole.prefix(intruder.random.below(whole.count))), line)
      transmitEnd(line)
    case .replays:
      if !intruder.received.isEmpty { send(bytes: intruder.random.pick(intruder.received), line) }
    case .forgesCarriers: forgeCarrier(of: victim, intruder, line)
    case .forgesIntroductions: forgeIntroduction(intruder, line)
    case .floods: flood(victim, intruder, line)
    case .crowds: crowd(victim, intruder, line)
    case .liesAboutSequences: lie(intruder, line)
    case .oversizes: oversize(intruder, line)
    case .floodsCircuits: floodCircuits(intruder, line)
    case .connects: askInPlaceOfOthers(victim, intruder, line)
    case .liesAboutFlows, .floodsFlows, .neverFinishes, .neverReads:
      guard line.target != nil else {
        return invite(victim, intruder, line, key: intruder.peer.key, signer: intruder.peer.key)
      }
      attackFlows(kind, intruder, line)
    default:
      if line.target == nil { invite(victim, intruder, line, key: intruder.peer.key, signer: intruder.peer.key) }
      if line.target != nil {
        send(Leave(record: intruder.head(line), index: 1, reason: .left, seen: 0), line)
        line.target = nil
        line.flows = FlowAttackState()
        line.endpoint = EndpointID(intruder.id())
      }
    }
  }

  private func transmitEnd(_ line: Intruder.Line) {
    line.link.ends[line.side].isOpen = false
    line.link.ends[line.side].hasEnded = true
    send(.end, line.link, line.side, at: now + line.link.latency + 100_000_000)
  }

  private func invite(_ victim: SimPeer, _ intruder: Intruder, _ line: Intruder.Line, key: PublicKey, signer: PublicKey)
  {
    line.invitation += 1
    line.offered[line.invitation] = line.endpoint
    send(
      Invite(
        id: line.invitation, type: Self.types[0], to: victim.id, adhoc: false, group: line.group,
        entry: intruder.entry(line.endpoint, key: key, host: intruder.host.id),
        carrier: intruder.carrier(key, signedBy: signer), standing: Standing(size: 1, peersMax: 256, needs: []),
        millisecondsLeft: 5_000, context: Array("evil".utf8)),
      line)
  }

  /// It has learned who waits for whom, and asks as itself, as the awaited peer, or as its endpoint.
  private func askInPlaceOfOthers(_ victim: SimPeer, _ intruder: Intruder, _ line: Intruder.Line) {
    guard let target = victim.endpoints.first, let friend = hosts.filter({ !$0.isMalicious }).flatMap(\.peers).last
    else { return }
    line.invitation += 1
    let key = intruder.random.chance(perMille: 100) ? friend.key : intruder.peer.key
    var entry = intruder.entry(line.endpoint, key: key, host: intruder.host.id)
    if intruder.random.flip(), let other = friend.endpoints.first { entry.endpoint = other }
    send(
      Connect(
        id: line.invitation, to: victim.id, target: target, entry: entry,
        carrier: intruder.carrier(key, signedBy: intruder.peer.key),
        standing: Standing(size: 1, peersMax: 256, needs: []), millisecondsLeft: 30_000),
      line)
  }

  /// Claims to carry a peer of another host, by a statement that the peer never signed.
  private func forgeCarrier(of victim: SimPeer, _ intruder: Intruder, _ line: Intruder.Line) {
    let others = hosts.filter { !$0.isMalicious && $0.index != victim.ref.host }.flatMap(\.peers)
    guard !others.isEmpty else { return }
    invite(victim, intruder, line, key: intruder.random.pick(others).key, signer: intruder.peer.key)
  }

  /// First gets in; then introduces to each honest endpoint the others, and itself as their introducer.
  private func forgeIntroduction(_ intruder: Intruder, _ line: Intruder.Line) {
    guard let target = line.target else {
      guard let victim = hosts[line.link.ends[1 - line.side].host].peers.first else { return }
      return invite(victim, intruder, line, key: intruder.peer.key, signer: intruder.peer.key)
    }
    let others = intruder.entries.filter { $0.host != target.host }
    var entries = others.isEmpty ? [] : [intruder.random.pick(others)]
    entries.append(target)
    // In its own name, or in that of a trusted member.
    let introducer = intruder.random.flip() ? line.endpoint : entries[0].endpoint
    let incarnation = EndpointIncarnation(host: Incarnation(1), count: 1)
    for entry in entries {
      let bytes = Introduction.signedBytes(
        group: line.group, introducer: introducer, introducerIncarnation: incarnation, entries: [entry])
      let introduction = Introduction(
        group: line.group, introducer: introducer, introducerIncarnation: incarnation, entries: [entry],
        signature: intruder.host.crypto.sign(bytes, with: intruder.peer.key))
      if introducer == line.endpoint { model.names(introducer, entry.endpoint) }
      send(Introduce(record: intruder.head(line), spread: intruder.random.flip(), introduction: introduction), line)
    }
  }

  private func flood(_ victim: SimPeer, _ intruder: Intruder, _ line: Intruder.Line) {
    for number in 0..<intruder.random.within(50...400) {
      switch intruder.random.below(4) {
      case 0: send(Ping(token: UInt64(number)), line)
      case 1: if let type = try? ServiceType("t\(intruder.random.below(1_000_000))") { send(Browse(type: type), line) }
      case 2: invite(victim, intruder, line, key: intruder.peer.key, signer: intruder.peer.key)
      default:
        send(
          CompareCommit(
            id: intruder.random.next() >> 8, from: intruder.peer.id, to: victim.id,
            commitment: Digest(Bytes32(1, 2, 3, UInt64(number)))),
          line)
      }
    }
  }

  /// Thousands of peers behind one host: invited from, advertised, and introduced once it is in.
  private func crowd(_ victim: SimPeer, _ intruder: Intruder, _ line: Intruder.Line) {
    for _ in 0..<100 {
      let key = ring.makeKey(&intruder.random)
      intruder.host.crypto.own(key)
      let name = intruder.peer.name
      let id = PeerID(digest: intruder.host.crypto.hash(PeerID.preimage(of: key)))
      send(Advertised(type: Self.types[0], peer: id, name: name, info: .empty), line)
    }
    guard line.target != nil else {
      return invite(victim, intruder, line, key: intruder.peer.key, signer: intruder.peer.key)
    }
    let entries = (0..<Limits.introductionEntriesMax).map { _ in
      intruder.entry(EndpointID(intruder.id()), key: ring.makeKey(&intruder.random), host: HostID(intruder.id()))
    }
    let incarnation = EndpointIncarnation(host: Incarnation(1), count: 1)
    let bytes = Introduction.signedBytes(
      group: line.group, introducer: line.endpoint, introducerIncarnation: incarnation, entries: entries)
    send(
      Introduce(
        record: intruder.head(line), spread: true,
        introduction: Introduction(
          group: line.group, introducer: line.endpoint, introducerIncarnation: incarnation, entries: entries,
          signature: intruder.host.crypto.sign(bytes, with: intruder.peer.key))),
      line)
  }

  private func lie(_ intruder: Intruder, _ line: Intruder.Line) {
    if line.target == nil, let victim = hosts[line.link.ends[1 - line.side].host].peers.first {
      return invite(victim, intruder, line, key: intruder.peer.key, signer: intruder.peer.key)
    }
    let wild = intruder.random.pick([0, 1, 2, 1 << 20, 1 << 62, UInt64.max])
    switch intruder.random.below(5) {
    case 0: send(Ack(strand: 1, received: wild), line)
    case 1: send(Attach(bond: line.bond, expects: wild | 1, received: wild, first: wild, next: wild), line)
    case 2:
      line.sequence = wild == .max ? wild - 1 : wild
      send(Leave(record: intruder.head(line), index: UInt32(truncatingIfNeeded: wild), reason: .left, seen: wild), line)
    case 3:
      send(
        Verdict(
          record: intruder.head(line), about: UInt32(intruder.random.below(4)), by: .all, reason: .none, seen: wild),
        line)
    default: send(RosterDigest(strand: 1, count: .max, sum: wild), line)
    }
  }

  private func oversize(_ intruder: Intruder, _ line: Intruder.Line) {
    switch intruder.random.below(3) {
    // A length of many gigabytes, a frame of the largest size that is no frame, and a varint without end.
    case 0: send(bytes: [0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0x34], line)
    case 1: send(bytes: [0x80, 0x80, 0x44, 0x34] + intruder.random.bytes(20_000), line)
    default: send(bytes: Array(repeating: 0xFF, count: 64), line)
    }
  }
}
