import Engine
import Wire

/// Pairs that are connected, and those that must never be.
extension Model {
  // MARK: Programs

  func opened(_ id: EndpointID, by peer: SimPeer, _ settings: SessionSettings, at host: SimHost) {
    groupLast += 1
    let record = EndpointRecord(
      id: id, ref: peer.ref, peer: peer.id, settings: settings, run: host.run, group: groupLast,
      place: peer.endpoints.count - 1)
    record.isWatched = isWatched(peer.ref)
    check(.onlyTheReal, endpoints[id] == nil) { "\(peer.ref) was given an endpoint that another has" }
    endpoints[id] = record
    order.append(record)
  }

  func leaves(_ id: EndpointID) {
    guard let record = endpoints[id] else { return }
    record.leaves += 1
    record.leftAt = now
    awaitsStore(.leave(id), at: record.ref.host)
    record.isSeeking = false
    record.joinedWith = []
    record.choices.removed = [:]
    groupLast += 1
    record.groupsBefore.append(record.group)
    record.group = groupLast
    // Leaving ends ad hoc mode, which would bring the endpoint back at once.
    record.adhoc = nil
    for remote in record.pairOrder {
      guard let pair = record.pairs[remote], pair.state == .connected || pair.state == .connecting else { continue }
      pair.state = .leaving
      pair.since = now
      pair.suspendedAt = nil
    }
  }

  func closes(_ id: EndpointID) {
    leaves(id)
    endpoints[id]?.isOpen = false
  }

  func startsAdhoc(_ id: EndpointID, _ type: Int) {
    guard let record = endpoints[id] else { return }
    record.adhoc = type
    record.isSeeking = true
    for other in order where other.adhoc == type && other !== record { mayMeet(record, other) }
    for invitation in invitations where invitation.guest == record.peer && invitation.endedAs == nil {
      if let inviter = endpoints[invitation.endpoint] { mayMeet(inviter, record) }
    }
  }

  func stopsAdhoc(_ id: EndpointID) { endpoints[id]?.adhoc = nil }

  func removes(_ member: EndpointID, from id: EndpointID, ban: Bool) {
    guard let there = endpoints[member] else { return }
    choose(for: id) {
      $0.removed[member] = EndpointRecord.Removal(at: now, leaves: there.leaves)
      if ban { $0.banned[there.peer] = now }
    }
    endpoints[id]?.everRefused.insert(member)
    if ban { endpoints[id]?.everBanned.insert(there.peer) }
  }

  func locks(_ id: EndpointID, _ locked: Bool) {
    choose(for: id) { $0.isLocked = locked }
    if locked { endpoints[id]?.everLocked = true }
  }

  func blocks(_ peer: PeerID, from id: EndpointID, _ blocked: Bool) {
    choose(for: id) { $0.blocked = blocked ? $0.blocked.union([peer]) : $0.blocked.subtracting([peer]) }
    if blocked { endpoints[id]?.everBlocked.insert(peer) }
  }

  func choose(for id: EndpointID, _ change: (inout EndpointRecord.Choices) -> Void) {
    guard let record = endpoints[id] else { return }
    awaitsStore(.choice(id, before: record.choices), at: record.ref.host)
    change(&record.choices)
  }

  /// Whether an endpoint's program banned or blocks a peer.
  func refuses(_ peer: PeerID, at id: EndpointID) -> Bool {
    guard let record = endpoints[id] else { return false }
    return record.choices.blocked.contains(peer) || record.choices.banned[peer] != nil
  }

  func mayMeet(_ a: EndpointRecord, _ b: EndpointRecord) {
    unite(a.group, b.group)
  }

  private func unite(_ kept: Int, _ gone: Int) {
    guard kept != gone else { return }
    for record in order {
      if record.group == gone { record.group = kept }
      for place in record.groupsBefore.indices where record.groupsBefore[place] == gone {
        record.groupsBefore[place] = kept
      }
    }
    for place in strangersIn.indices where strangersIn[place].group == gone { strangersIn[place].group = kept }
    for place in namings.indices where namings[place].group == gone { namings[place].group = kept }
    joinThroughStrangers()
  }

  /// An honest program accepted a stranger's endpoint, which is a member of its group now.
  func letsIn(_ stranger: EndpointID, by honest: EndpointID) {
    guard let record = endpoints[honest] else { return }
    let place = StrangersPlace(stranger: stranger, group: record.group)
    if strangersIn.contains(place) { return }
    strangersIn.append(place)
    joinThroughStrangers()
  }

  /// A stranger's endpoint introduces an honest one, and signs for it.
  func names(_ stranger: EndpointID, _ honest: EndpointID) {
    guard let record = endpoints[honest] else { return }
    let naming = StrangersPlace(stranger: stranger, group: record.group)
    if namings.contains(naming) { return }
    namings.append(naming)
    joinThroughStrangers()
  }

  /// A member's introduction is believed: two groups are one where a stranger was admitted to both, or where one of
  /// each was and introduces somebody of the other.
  private func joinThroughStrangers() {
    for one in strangersIn {
      for other in strangersIn where other.group != one.group {
        let isMutual =
          namings.contains(StrangersPlace(stranger: one.stranger, group: other.group))
          && namings.contains(StrangersPlace(stranger: other.stranger, group: one.group))
        if isMutual || one.stranger == other.stranger { return unite(one.group, other.group) }
      }
    }
  }

  private func couldMeet(_ a: EndpointRecord, _ b: EndpointRecord) -> Bool {
    a.group == b.group || a.groupsBefore.contains(b.group) || b.groupsBefore.contains(a.group)
      || a.groupsBefore.contains { b.groupsBefore.contains($0) }
  }

  // MARK: Queries

  func connected(of id: EndpointID) -> [EndpointID] {
    guard let record = endpoints[id] else { return [] }
    return record.pairOrder.filter { record.pairs[$0]?.state == .connected }
  }

  /// Its connected member that is this peer, or one that a malicious host made up where it is that host's.
  func connected(of id: EndpointID, at ref: PeerRef) -> EndpointID? {
    connected(of: id).first { member in
      endpoints[member].map { $0.ref == ref } ?? isMalicious[min(ref.host, isMalicious.count - 1)]
    }
  }

  func members(of id: EndpointID) -> [EndpointID] {
    guard let record = endpoints[id] else { return [] }
    return record.pairOrder.filter {
      let state = record.pairs[$0]?.state
      return state == .connected || state == .connecting
    }
  }

  // MARK: Engine outputs

  func observe(_ view: MemberView, _ state: PairState, _ local: EndpointID, at host: SimHost) {
    guard let here = endpoints[local], here.ref.host == host.index else {
      return violate(.onlyTheReal, "\(host.label) tells an endpoint that it does not have")
    }
    guard here.isWatched else { return }
    // A malicious member may introduce whom it likes; nobody is connected without proof.
    let isClaim = state != .connected && isMalicious.contains(true)
    let there = isClaim ? endpoints[view.endpoint] : checkIdentity(view, here)
    let pair = here.pair(view.endpoint)
    func says() -> String { "\(here.label): \(label(view.endpoint)) is \(Self.words(state)) after \(pair.state)" }
    switch state {
    case .connecting:
      check(.statesInOrder, pair.state != .connecting && pair.state != .connected) { says() }
      if let there, there.leaves > 0, pair.leavesTold == there.leaves, !there.isSeeking, !isMissed(there) {
        violate(.theLeftStayAway, "\(here.label) meets \(there.label) again, which has left")
      }
      // A host that crashed has its members as it stored them, and may not have stored that one has left since.
      pair.leavesMet = (pair.state == .none ? here.metBefore[view.endpoint] : nil) ?? there?.leaves ?? 0
      pair.state = .connecting
      pair.isKnown = pair.isKnown || !here.choices.isLocked
    case .connected:
      check(.statesInOrder, pair.state == .connecting) { says() }
      if let there { mayConnect(here, there, pair) }
      pair.state = .connected
      pair.isKnown = true
      pair.connections += 1
      counts(here)
    case .notConnected(let reason):
      check(.statesInOrder, pair.state != .none && pair.state != .notConnected) { says() }
      if let there, pair.state == .connected { checkCause(here, there, reason) }
      // It may have been back and left again since.
      if let there, reason == .left || reason == .gone {
        awaitsStore(.left(here.id, member: there.id, leavesMet: pair.leavesMet), at: here.ref.host)
        pair.leavesTold = min(there.leaves, pair.leavesMet + 1)
      }
      if let there, reason == .full {
        // There was no room for one of the two.
        here.joinedWith.removeAll { $0 == there.id }
        there.joinedWith.removeAll { $0 == here.id }
      }
      if let there, reason == .slow { disturbed(here.ref.host, there.ref.host, until: now) }
      pair.state = .notConnected
      pair.suspendedAt = nil
      counts(here)
    }
    pair.since = now
    pair.awaySince = view.awaySince
  }

  /// Whether somebody does not know yet that an endpoint left, and may introduce it to a host that forgot that.
  private func isMissed(_ there: EndpointRecord) -> Bool {
    order.contains { other in
      if let met = other.metBefore[there.id], met < there.leaves { return true }
      guard let pair = other.pairs[there.id], pair.leavesTold < there.leaves else { return false }
      // A member that has just lost it may have introduced it before.
      let isJustLost = pair.state == .notConnected && now - pair.since < 10_000_000_000
      return pair.state == .connected || pair.state == .connecting || isJustLost
    }
  }

  func suspended(_ view: MemberView, _ on: Bool, _ local: EndpointID, at host: SimHost, _ world: World) {
    guard let here = endpoints[local], here.isWatched else { return }
    let pair = here.pair(view.endpoint)
    check(.statesInOrder, pair.state == .connected && (pair.suspendedAt != nil) != on) {
      "\(here.label): \(label(view.endpoint)) is \(on ? "suspended" : "back") while \(pair.state)"
    }
    pair.suspendedAt = on ? now : nil
    if on { checkMedia(here, view.endpoint, pair, world) }
    if on, plan.isCalm { violate(.endsHaveCauses, "\(here.label): \(label(view.endpoint)) is suspended in calm") }
  }

  /// The endpoint in truth, nil where a malicious host made it up; its claims about an honest one must be true.
  private func checkIdentity(_ view: MemberView, _ here: EndpointRecord) -> EndpointRecord? {
    check(.onlyTheReal, view.endpoint != here.id) { "\(here.label) is told of itself" }
    guard let place = peerPlaces[view.peer] else {
      check(.onlyTheReal, isMalicious.contains(true)) { "\(here.label) is told of a peer that nobody carries" }
      return nil
    }
    let carrier = peers[place].ref.host
    check(.onlyTheReal, hostIDs[carrier] == view.host) {
      "\(here.label) is told that \(view.host.text.prefix(6)) carries \(peers[place].ref)"
    }
    let there = endpoints[view.endpoint]
    if isMalicious[carrier] { return nil }
    check(.onlyTheReal, there?.peer == view.peer) {
      "\(here.label) is told of an endpoint that \(peers[place].ref) does not have"
    }
    return there
  }

  private func mayConnect(_ here: EndpointRecord, _ there: EndpointRecord, _ pair: PairRecord) {
    let pairing = "\(here.label) and \(there.label)"
    let isAgreed: Bool
    switch (here.settings.encryption, there.settings.encryption) {
    case (.none, .required), (.required, .none): isAgreed = false
    default: isAgreed = true
    }
    check(.encryptionIsAgreed, isAgreed) { "\(pairing) connect, though one requires encryption and the other has none" }
    check(.onlyTheInvited, couldMeet(here, there)) { "\(pairing) connect, and no invitations join them" }
    refuses(here, there, sinceAtLeast: 0)
    // The other side's decision needs time to get here.
    if !wereDisturbed(here.ref.host, there.ref.host, within: 10_000) {
      refuses(there, here, sinceAtLeast: 5_000_000_000)
    }
    if here.choices.isLocked, !pair.isKnown, !here.knownBefore.contains(there.id),
      !here.invitedAfterLock.contains(there.peer)
    {
      violate(.refusedStaysRefused, "\(here.label) is locked and connects with \(there.label)")
    }
    for (asking, asked) in [(here, there), (there, here)] {
      guard case .ask = asking.settings.trust, !isUnsettled[asking.ref.host] else { continue }
      // A yes from before it left may come later than its next question.
      let hasLeft = asking === there && there.leaves > pair.leavesMet
      let hasSaidYes = hasLeft && there.saidYes[here.id, default: -1] >= pair.leavesMet
      check(.trustIsAsked, hasSaidYes || asking.decided[asked.id] == true) {
        "\(pairing) connect, and \(asking.label) has \(asking.decided[asked.id] == nil ? "not said" : "not said yes")"
      }
    }
  }

  func refuses(_ here: EndpointRecord, _ there: EndpointRecord, sinceAtLeast: Int64) {
    // Made for a violation alone: it is asked for each pair.
    var pairing: String { "\(here.label) and \(there.label) are connected after \(here.label)" }
    if let bannedAt = here.choices.banned[there.peer], now - bannedAt >= sinceAtLeast {
      violate(.refusedStaysRefused, "\(pairing) banned the other")
    }
    // Ad hoc mode invites whoever has left and comes back, as a program may.
    if let removal = here.choices.removed[there.id], now - removal.at >= sinceAtLeast,
      !here.wasAdhoc || there.leaves <= removal.leaves
    {
      violate(.refusedStaysRefused, "\(pairing) removed the other")
    }
    if sinceAtLeast == 0, here.choices.blocked.contains(there.peer) {
      violate(.refusedStaysRefused, "\(here.label) blocks \(there.label) and is connected with it")
    }
  }

  private func counts(_ here: EndpointRecord) {
    let count = here.pairOrder.reduce(1) { $0 + (here.pairs[$1]?.state == .connected ? 1 : 0) }
    if count <= Int(here.settings.peersMax) {
      here.tooManySince = nil
    } else if here.tooManySince == nil {
      here.tooManySince = now
    }
  }

  /// A connected pair ends only for a reason that lies in the world or in what a program did.
  private func checkCause(_ here: EndpointRecord, _ there: EndpointRecord, _ reason: Reason) {
    guard !isUnsettled[here.ref.host], !isUnsettled[there.ref.host] else { return }
    let end = "\(here.label): \(there.label) is not connected (\(reason))"
    let wereApart = wereDisturbed(here.ref.host, there.ref.host, within: 25_000)
    let someoneLeft = there.leaves > 0 && now - there.leftAt < 90_000_000_000 || here.leaves > 0 || !there.isOpen
    let hasCause: Bool
    switch reason {
    case .left, .gone, .stopping: hasCause = someoneLeft || wereApart
    case .lost, .unreachable: hasCause = wereApart
    case .removed: hasCause = haveRefused(here, there)
    case .blocked: hasCause = here.everBlocked.contains(there.peer) || there.everBlocked.contains(here.peer)
    case .slow: hasCause = wereApart || isBehind(here, there) || isBehind(there, here)
    case .full:
      hasCause = [here, there].contains { $0.settings.peersMax < 64 }
    case .none, .already, .duplicate, .idle, .protocolViolation, .version, .mismatch: hasCause = false
    default: hasCause = wereApart || someoneLeft
    }
    check(.endsHaveCauses, hasCause && !(plan.isCalm && !someoneLeft)) { end }
  }

  /// Whether one of the two removed, banned or did not trust the other at some time.
  func haveRefused(_ a: EndpointRecord, _ b: EndpointRecord) -> Bool {
    a.everRefused.contains(b.id) || b.everRefused.contains(a.id) || a.everBanned.contains(b.peer)
      || b.everBanned.contains(a.peer)
  }

  func isBehind(_ from: EndpointRecord, _ to: EndpointRecord) -> Bool {
    order.contains {
      guard $0.ref.host == from.ref.host else { return false }
      return $0.underway[to.ref.host, default: 0] > 0 || now - $0.caughtUpAt[to.ref.host, default: .min / 2] <= underWay
    }
  }
}
