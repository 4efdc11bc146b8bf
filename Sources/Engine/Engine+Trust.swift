public import Wire

/// A member that waits for a yes or no.
struct Decision {
  var id: DecisionID
  var local: LocalEndpoint
  var member: RemoteMember
  var expires: Instant
}

/// A comparison of codes by two peers: both commit to their nonces before either is revealed, so that nobody can search
/// for a nonce that makes two codes alike.
final class CodeComparison {
  let id: ComparisonID
  /// The number that the initiator gave it.
  private(set) var wireID: UInt64
  private(set) var isOurs: Bool
  let local: PeerID
  let remote: PeerID
  let host: RemoteHost
  let nonce: Digest
  let expires: Instant
  var theirs: Digest?
  var isShown = false

  /// Its number in frames that this side sends.
  var said: UInt64 { wireID << 1 | (isOurs ? 1 : 0) }

  init(
    id: ComparisonID, wireID: UInt64, isOurs: Bool, local: PeerID, remote: PeerID, host: RemoteHost, nonce: Digest,
    expires: Instant
  ) {
    self.id = id
    self.wireID = wireID
    self.isOurs = isOurs
    self.local = local
    self.remote = remote
    self.host = host
    self.nonce = nonce
    self.expires = expires
  }

  /// Goes on as the comparison that the other side has begun.
  func join(_ wireID: UInt64) { (self.wireID, isOurs) = (wireID, false) }
}

/// Trust: decisions about members, security identities, comparison codes.
extension Engine {
  // MARK: Carriers

  /// Verifies a peer's statement that the host carries it.
  func prove(_ carrier: Carrier, of host: RemoteHost, orEarlier: Bool = false) throws(ProtocolViolation) {
    let peer = peerID(of: carrier.peer)
    if host.proved[peer] == carrier.incarnation { return }
    // A record from before its host's restart carries the statement of that time.
    guard let key = host.key, let present = host.incarnation,
      carrier.incarnation == present || (orEarlier && carrier.incarnation < present),
      sabotage.contains(.believesCarriers)
        || crypto.verify(
          carrier.signature,
          of: Carrier.signedBytes(peer: carrier.peer, host: key, incarnation: carrier.incarnation), by: carrier.peer)
    else {
      throw ProtocolViolation(.protocolViolation, "a carrier statement that its peer did not sign")
    }
    if host.proved.count < Self.provedMax { host.proved[peer] = carrier.incarnation }
  }

  /// Beyond this cache size a statement is verified each time.
  private static let provedMax = 16_384

  // MARK: Decisions

  /// Returns whether a session's own policy admits a member now; if not, asks for a decision.
  func requestTrust(in member: RemoteMember, by local: LocalEndpoint) -> Bool {
    guard case .ask(let timeout) = local.settings.trust else { return true }
    if member.cohort.relations.trusted.contains(local.slot) { return true }
    if member.entry.terms.showsIdentity, !member.shownTo.contains(local.slot) { return false }
    guard !decisions.contains(where: { $0.local === local && $0.member === member }) else { return false }
    let decision = Decision(
      id: DecisionID(rawValue: number()), local: local, member: member, expires: now + timeout)
    decisions[decision.id] = decision
    let cohort = alone(member)
    cohort.connectingUntil = max(cohort.connectingUntil ?? now, decision.expires + .seconds(1))
    timers.set(.decision(decision.id), decision.expires)
    emit(.decision(decision.id, member.view, of: local.id, expires: decision.expires))
    return false
  }

  public func decide(_ id: DecisionID, _ admit: Bool, at now: Instant) throws(EngineError) {
    beginMutation(now)
    defer { finishMutation() }
    guard let decision = decisions[id] else {
      throw EngineError(.unavailable, "the decision was made, or nobody waits for it any more")
    }
    conclude(decision, admit)
  }

  private func conclude(_ decision: Decision, _ admit: Bool) {
    decisions[decision.id] = nil
    let slot = SlotSet(decision.local.slot)
    guard admit else { return refuse(decision.member, slot, .untrusted) }
    alone(decision.member).relations.trusted.formUnion(slot)
    judge(decision.member, slot)
    update(alone(decision.member), slot)
  }

  func handleDecisionTimer(_ id: DecisionID) {
    guard let decision = decisions[id] else { return }
    guard decision.expires <= now else { return timers.set(.decision(id), decision.expires) }
    emit(.decisionEnded(id))
    conclude(decision, false)
  }

  /// The member's group has been merged into another.
  func moveDecisions(about old: RemoteMember, to member: RemoteMember) {
    for decision in decisions.values where decision.member === old { decisions[decision.id]?.member = member }
  }

  func endDecisions(about member: RemoteMember) { endDecisions { $0.member === member } }

  func endDecisions(of local: LocalEndpoint) { endDecisions { $0.local === local } }

  private func endDecisions(where isOver: (Decision) -> Bool) {
    for decision in decisions.values where isOver(decision) {
      decisions[decision.id] = nil
      emit(.decisionEnded(decision.id))
    }
  }

  // MARK: Security identities

  private func identityBytes(
    _ exporter: Digest, from: (EndpointID, PeerID), to: (EndpointID, PeerID)
  ) -> [UInt8] {
    transcript("vicinity identity v1", exporter, from.0, to.0, from.1, to.1)
  }

  /// Shows a member that has joined the identities of those of these local endpoints that have one.
  func showIdentities(of slots: SlotSet, to member: RemoteMember) {
    guard let link = openLink(to: member.host), let index = member.index else { return }
    let group = member.presence.group
    for local in group.identified.intersection(slots).slots.compactMap(group.local) where local.id != member.id {
      guard let identity = local.settings.identity, !member.cohort.relations.admitted.contains(local.slot),
        let signature = crypto.sign(
          identityBytes(link.exporter, from: (local.id, local.peer.id), to: (member.id, member.peer)),
          with: identity.id)
      else { continue }
      send(IdentityFrame(from: local.index, to: index, chain: identity.chain, signature: signature), on: link)
    }
  }

  /// Shows identities again on a new link, since a signature is bound to its link.
  func resumeIdentities(with bond: Bond) {
    for presence in bond.host.presences.values {
      for member in presence.members.values where member.index != nil {
        showIdentities(of: presence.group.localSlots, to: member)
      }
    }
  }

  func handle(_ identity: IdentityFrame, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    guard let members = bond.members[identity.from] else {
      if bond.earlyIdentities.count < Self.earlyMax { bond.earlyIdentities.append(identity) }
      return
    }
    try handle(identity, of: members, link)
  }

  /// The records that explain an identity are in flight behind it.
  private static let earlyMax = 16

  func takeEarlyIdentities(of member: RemoteMember, from link: Link) throws(ProtocolViolation) {
    guard let bond = link.host.bond, !bond.earlyIdentities.isEmpty else { return }
    let shown = bond.earlyIdentities.filter { $0.from == member.index }
    bond.earlyIdentities.removeAll { $0.from == member.index }
    for identity in shown { try handle(identity, of: [member], link) }
  }

  private func handle(_ identity: IdentityFrame, of members: [RemoteMember], _ link: Link) throws(ProtocolViolation) {
    guard let local = endpointsByIndex[identity.to] else { return }
    for member in members where member.presence.group === local.group {
      let signed = identityBytes(link.exporter, from: (member.id, member.peer), to: (local.id, local.peer.id))
      guard !identity.chain.isEmpty, crypto.verify(identity.signature, of: signed, byLeafOf: identity.chain) else {
        throw ProtocolViolation(.protocolViolation, "a security identity that its key did not sign")
      }
      guard member.chain.isEmpty || member.chain == identity.chain else {
        throw ProtocolViolation(.protocolViolation, "a second security identity of one endpoint")
      }
      member.showed(identity.chain, to: local.slot)
      judge(member, SlotSet(local.slot))
      update(alone(member), SlotSet(local.slot))
    }
  }

  // MARK: Comparison codes

  /// Begins a comparison with a peer that is a member of a session with the local one.
  public func compare(_ local: PeerID, with remote: PeerID, at now: Instant) throws(EngineError) -> ComparisonID {
    beginMutation(now)
    defer { finishMutation() }
    let peer = try self.local(peer: local)
    let ends = peer.endpoints.compactMap { endpoints[$0] }
    let member = ends.lazy.compactMap { end in
      end.group.members(of: remote).first { $0.isConnected(with: end.slot) }
    }.first
    guard let member, let link = openLink(to: member.host) else {
      throw EngineError(.notConnected, "codes are compared with a peer that is connected in a session")
    }
    let comparison = begin(wireID: nil, local: local, remote: remote, host: member.host)
    send(commitment(of: comparison), on: link)
    return comparison.id
  }

  private func begin(wireID: UInt64?, local: PeerID, remote: PeerID, host: RemoteHost) -> CodeComparison {
    let id = number()
    let comparison = CodeComparison(
      id: ComparisonID(rawValue: id), wireID: wireID ?? id, isOurs: wireID == nil, local: local, remote: remote,
      host: host, nonce: entropy.digest(crypto), expires: now + Self.comparisonMax)
    comparisons[comparison.id] = comparison
    timers.set(.comparison(comparison.id), comparison.expires)
    return comparison
  }

  /// Time enough for two people to find each other in a room.
  private static let comparisonMax: Duration = .seconds(120)
  private static let comparisonsMax = 16

  private func commit(to nonce: Digest) -> Digest { crypto.hash(transcript("vicinity nonce v1", nonce)) }

  private func commitment(of comparison: CodeComparison) -> CompareCommit {
    CompareCommit(
      id: comparison.said, from: comparison.local, to: comparison.remote, commitment: commit(to: comparison.nonce))
  }

  /// On the wire a comparison has twice its number, plus one in the initiator's frames.
  private func comparison(_ said: UInt64, of host: RemoteHost) -> CodeComparison? {
    comparisons.first { $0.wireID == said >> 1 && $0.isOurs == (said & 1 == 0) && $0.host === host }
  }

  func handle(_ commit: CompareCommit, from link: Link) throws(ProtocolViolation) {
    let host = link.host
    if commit.id & 1 == 0 {
      guard let comparison = comparison(commit.id, of: host), comparison.remote == commit.from else { return }
      guard comparison.theirs == nil else { throw ProtocolViolation(.protocolViolation, "a second commitment") }
      comparison.theirs = commit.commitment
      return send(CompareReveal(id: comparison.said, nonce: comparison.nonce), on: link)
    }
    guard peers.contains(commit.to), host.proved[commit.from] != nil,
      comparisons.values.count(where: { $0.host === host }) < Self.comparisonsMax
    else { return send(CompareEnd(id: commit.id ^ 1, reason: .declined), on: link) }
    let own = comparisons.first {
      $0.isOurs && $0.local == commit.to && $0.remote == commit.from && $0.theirs == nil
    }
    // Both began: the lower peer's comparison counts.
    if let own, own.local < own.remote { return send(CompareEnd(id: commit.id ^ 1, reason: .duplicate), on: link) }
    own?.join(commit.id >> 1)
    let comparison =
      own ?? begin(wireID: commit.id >> 1, local: commit.to, remote: commit.from, host: host)
    comparison.theirs = commit.commitment
    send(commitment(of: comparison), on: link)
  }

  func handle(_ reveal: CompareReveal, from link: Link) throws(ProtocolViolation) {
    guard let comparison = comparison(reveal.id, of: link.host), let theirs = comparison.theirs, !comparison.isShown
    else { return }
    guard commit(to: reveal.nonce) == theirs else {
      throw ProtocolViolation(.protocolViolation, "a nonce that is not the one committed to")
    }
    comparison.isShown = true
    if !comparison.isOurs { send(CompareReveal(id: comparison.said, nonce: comparison.nonce), on: link) }
    emit(
      .comparison(
        comparison.id, local: comparison.local, remote: comparison.remote,
        code: code(comparison, theirs: reveal.nonce, link.exporter)))
  }

  private func code(_ comparison: CodeComparison, theirs: Digest, _ exporter: Digest) -> String {
    let isLower = comparison.local < comparison.remote
    let (lower, higher) =
      isLower ? (comparison.local, comparison.remote) : (comparison.remote, comparison.local)
    let (first, second) = isLower ? (comparison.nonce, theirs) : (theirs, comparison.nonce)
    let digest = crypto.hash(transcript("vicinity code v1", exporter, lower, higher, first, second))
    let digits = String(digest.raw.a % 1_000_000)
    let padded = String(repeating: "0", count: 6 - digits.count) + digits
    return padded.prefix(3) + " " + padded.suffix(3)
  }

  /// The owners have compared the codes.
  public func conclude(_ id: ComparisonID, matches: Bool, at now: Instant) throws(EngineError) {
    beginMutation(now)
    defer { finishMutation() }
    guard let comparison = comparisons[id], comparison.isShown else {
      throw EngineError(.unavailable, "the comparison has ended, or has no code yet")
    }
    if !matches, let link = openLink(to: comparison.host) {
      send(CompareEnd(id: comparison.said, reason: .mismatch), on: link)
    }
    finish(comparison, matches ? .none : .mismatch)
  }

  func handle(_ end: CompareEnd, from link: Link) {
    if let comparison = comparison(end.id, of: link.host), end.reason != .duplicate || comparison.isOurs {
      finish(comparison, end.reason == .none ? .cancelled : end.reason)
    }
  }

  private func finish(_ comparison: CodeComparison, _ reason: Reason) {
    comparisons[comparison.id] = nil
    emit(.comparisonEnded(comparison.id, reason))
  }

  /// Ends the comparisons of a lost link, to which their codes are bound.
  func comparisonsLost(with link: Link) {
    guard link.host.bond?.link === link else { return }
    for comparison in comparisons.values where comparison.host === link.host { finish(comparison, .lost) }
  }

  func handleComparisonTimer(_ id: ComparisonID) {
    guard let comparison = comparisons[id] else { return }
    guard comparison.expires <= now else { return timers.set(.comparison(id), comparison.expires) }
    if let link = openLink(to: comparison.host) { send(CompareEnd(id: comparison.said, reason: .timedOut), on: link) }
    finish(comparison, .timedOut)
  }
}
