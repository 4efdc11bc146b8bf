public import Wire

/// Invitations: every one ends once, joined or with a reason, inside its timeout.
extension Engine {
  /// Invites a peer that is nearby. Zero or a negative timeout means 30 seconds.
  public func invite(
    _ peer: PeerID, as type: ServiceType, to endpoint: EndpointID, context: [UInt8], timeout: Duration, at now: Instant
  ) throws(EngineError) -> InvitationID {
    enter(now)
    defer { settle() }
    let local = try local(endpoint)
    guard peer != local.peer.id else { throw EngineError(.invalidParameter, "a peer cannot invite itself") }
    guard context.count <= Limits.contextBytesMax else {
      throw EngineError(
        .invalidParameter, "the context has \(context.count) bytes; at most \(Limits.contextBytesMax) are carried")
    }
    guard let host = whereabouts(of: peer, type) else {
      throw EngineError(.unavailable, "peer \(peer) is not nearby as \(type); browse until it is found")
    }
    guard !local.banned.contains(peer), !local.blocked.contains(peer) else {
      throw EngineError(.invalidParameter, "peer \(peer) is banned or blocked here; lift that first")
    }
    return invite(
      peer, at: host, by: .service(type, isAdhoc: false), to: local, context: context, timeout: timeout)
  }

  @discardableResult
  func invite(
    _ peer: PeerID, at host: RemoteHost, by call: Call, to local: LocalEndpoint, context: [UInt8] = [],
    timeout: Duration
  ) -> InvitationID {
    let id = InvitationID(rawValue: number())
    let span = timeout > .zero ? min(timeout, Self.timeoutMax) : .seconds(30)
    let invitation = OutgoingInvitation(
      id: id, local: local, to: peer, host: host, call: call, context: context, deadline: now + span)
    outgoing[id] = invitation
    let isThere =
      switch call {
      case .service: isConnected(local, with: peer) && !sabotage.contains(.mutualInvitationFault)
      case .data(let target): isConnected(local, with: target)
      }
    if isThere {
      end(invitation, .already)
      return id
    }
    if let crossing = host.asking.first(where: { crosses($0, invitation) }) {
      // They asked first, and this is the answer.
      crossing.replace(invitation)
      accept(crossing, with: local)
      return id
    }
    if !sabotage.contains(.waitsForever) { timers.set(.invitation(id), invitation.deadline) }
    reach(host)
    send(invitation)
    return id
  }

  /// Longer than anybody waits, and short enough to be forgotten.
  private static let timeoutMax: Duration = .seconds(3_600)

  public func cancel(_ id: InvitationID, at now: Instant) {
    enter(now)
    defer { settle() }
    guard let invitation = outgoing[id] else { return }
    if invitation.isPending {
      sayIfOpen(Cancel(id: id.rawValue, reason: .cancelled), to: invitation.host)
      end(invitation, .cancelled)
    } else if let answered = promised.first(where: { $0.replaces === invitation }) {
      // It has become the answer to the other side's, and takes that back.
      decline(answered, .cancelled)
    }
  }

  public func accept(_ id: InvitationID, with endpoint: EndpointID, at now: Instant) throws(EngineError) {
    enter(now)
    defer { settle() }
    let invitation = try pending(id)
    let local = try local(endpoint)
    guard local.peer === invitation.peer else {
      throw EngineError(.invalidParameter, "the session is of another peer than the one that was invited")
    }
    accept(invitation, with: local)
  }

  public func decline(_ id: InvitationID, at now: Instant) throws(EngineError) {
    enter(now)
    defer { settle() }
    decline(try pending(id), .declined)
  }

  private func pending(_ id: InvitationID) throws(EngineError) -> IncomingInvitation {
    guard let invitation = incoming[id], case .asked = invitation.state else {
      throw EngineError(.unavailable, "the invitation has ended or was answered")
    }
    return invitation
  }

  func local(_ id: EndpointID) throws(EngineError) -> LocalEndpoint {
    guard let local = endpoints[id] else {
      throw EngineError(.invalidParameter, "there is no session \(id) on this host")
    }
    return local
  }

  // MARK: The inviter

  func send(_ invitation: OutgoingInvitation) {
    guard let link = openLink(to: invitation.host) else { return }
    let local = invitation.local
    invitation.state = .sent
    let left = UInt32(max(1, (invitation.deadline - now).nanoseconds / 1_000_000))
    switch invitation.call {
    case .service(let type, let isAdhoc):
      say(
        Invite(
          id: invitation.id.rawValue, type: type, to: invitation.to, adhoc: isAdhoc, group: local.group.label,
          entry: entry(of: local), carrier: local.peer.carrier, standing: local.group.standing, millisecondsLeft: left,
          context: invitation.context),
        on: link)
    case .data(let target):
      say(
        Connect(
          id: invitation.id.rawValue, to: invitation.to, target: target, entry: entry(of: local),
          carrier: local.peer.carrier, standing: local.group.standing, millisecondsLeft: left),
        on: link)
    }
  }

  /// The link is there (again): says what may have been lost with the one before.
  func resumeInvitations(with host: RemoteHost) {
    for invitation in host.asked.values { send(invitation) }
    for invitation in host.asking.values {
      if case .accepted = invitation.state, let answer = invitation.answer { sayIfOpen(answer, to: host) }
    }
  }

  func openLink(to host: RemoteHost) -> Link? {
    host.bond.flatMap { $0.isOpen ? $0.link : nil }
  }

  private func sayIfOpen(_ frame: some Frame, to host: RemoteHost) {
    if let link = openLink(to: host) { say(frame, on: link) }
  }

  func take(_ answer: Answer, from link: Link) throws(Violation) {
    guard let invitation = outgoing[InvitationID(rawValue: answer.id)], invitation.host === link.host else {
      sayIfOpen(Confirm(id: answer.id, reason: .gone, rank: 0), to: link.host)
      return
    }
    switch answer.outcome {
    case .declined(let reason):
      // Their own invitation crossed this one and stands.
      guard reason != .duplicate else { return }
      if invitation.isPending { end(invitation, reason) } else { takenBack(invitation, reason) }
    case .accepted(let acceptance):
      if let said = invitation.confirmation { return sayIfOpen(said, to: link.host) }
      guard invitation.isPending else {
        return sayIfOpen(Confirm(id: answer.id, reason: .cancelled, rank: 0), to: link.host)
      }
      try prove(acceptance.carrier, of: link.host)
      let entry = acceptance.entry
      let isCalled = if case .data(let target) = invitation.call { entry.endpoint == target } else { true }
      guard entry.peer == acceptance.carrier.peer, entry.host == link.host.id, peerID(of: entry.peer) == invitation.to,
        isCalled
      else { throw Violation(.protocolViolation, "an invitation accepted by another peer than was invited") }
      if let leaving = predecessor(of: entry, at: link.host) {
        leaving.successor = .answer(acceptance, invitation)
      } else {
        conclude(invitation, acceptance)
      }
    }
  }

  /// A member's earlier incarnation that has left, though its leave has not been read: records are slower than answers.
  func predecessor(of entry: Entry, at host: RemoteHost) -> Member? {
    host.presences.values.lazy.compactMap { $0.members[entry.endpoint] }
      .first { $0.index != nil && $0.entry.incarnation < entry.incarnation }
  }

  /// A member has left, and all that it said is read: its next incarnation has the word.
  func succeed(_ successor: Successor, of member: Member) {
    switch successor {
    case .invite(let request):
      if let link = openLink(to: member.host) { consider(request, from: link) }
    case .answer(let acceptance, let invitation):
      if invitation.isPending {
        conclude(invitation, acceptance)
      } else {
        sayIfOpen(Confirm(id: invitation.id.rawValue, reason: .cancelled, rank: 0), to: member.host)
      }
    case .introduced(let entry):
      let group = member.presence.group.current
      if group.localCount > 0 { learn(entry, in: group, by: .introduction(by: member.id)) }
    }
  }

  private func conclude(_ invitation: OutgoingInvitation, _ acceptance: Acceptance) {
    let local = invitation.local
    let group = local.group
    var entry = acceptance.entry
    let isFellow = endpoints[entry.endpoint]?.group === group || group.members[entry.endpoint] != nil
    let reason: Reason =
      if !invitation.isCurrent { .left } else if local.isLocked {
        .locked
      } else if local.banned.contains(invitation.to) || local.blocked.contains(invitation.to) {
        .removed
      } else if isFellow { .none } else { obstacle(promisedStanding(of: group), acceptance.standing) ?? .none }
    if reason == .none, !isFellow {
      // Who has lost a place gets another, further back: so everybody knows it from the lost one.
      let lost = group.overflowed[entry.endpoint]?.rank ?? 0
      entry.rank = max(group.rankMax, lost).saturatingSuccessor
      entry.inviter = local.id
    }
    let confirmation = Confirm(id: invitation.id.rawValue, reason: reason, rank: entry.rank)
    invitation.confirmation = confirmation
    sayIfOpen(confirmation, to: invitation.host)
    end(invitation, reason)
    if reason == .none { join(local, entry, isInviter: true, until: invitation.deadline) }
  }

  /// A group's standing, with those counted who were accepted and have not been confirmed.
  private func promisedStanding(of group: Group) -> Standing {
    var standing = group.standing
    for invitation in promised.values {
      guard case .accepted(let local, _) = invitation.state, local.group === group,
        group.members[invitation.request.entry.endpoint] == nil
      else { continue }
      standing.add(invitation.request.standing)
    }
    return standing
  }

  /// What stands against everybody of two groups being connected with everybody.
  private func obstacle(_ ours: Standing, _ theirs: Standing) -> Reason? {
    if !sabotage.contains(.ignoresEncryption), !ours.needs.agrees(with: theirs.needs) { return .encryption }
    var both = ours
    both.add(theirs)
    return !sabotage.contains(.overfills) && both.size > both.peersMax ? .full : nil
  }

  func end(_ invitation: OutgoingInvitation, _ reason: Reason) {
    guard invitation.isPending else { return }
    invitation.state = .ended
    invitation.forgottenAt = now + Self.rememberedMax
    timers.set(.invitation(invitation.id), invitation.forgottenAt)
    emit(.invitationEnded(invitation.id, reason))
    adhocEnded(invitation, reason)
  }

  /// How long an answer may be late because its link was lost.
  private static let rememberedMax: Duration = .seconds(60)

  // MARK: The invitee

  func take(_ request: Request, from link: Link) throws(Violation) {
    let host = link.host
    try prove(request.carrier, of: host)
    guard request.entry.peer == request.carrier.peer, request.entry.host == host.id else {
      throw Violation(.protocolViolation, "an invitation in the name of another peer or host")
    }
    if let leaving = predecessor(of: request.entry, at: host) {
      leaving.successor = .invite(request)
    } else {
      consider(request, from: link)
    }
  }

  private func consider(_ request: Request, from link: Link) {
    if let known = link.host.asking[request.id] {
      if let answer = known.answer { say(answer, on: link) }
      return
    }
    switch request.call {
    case .service(let type, _): consider(request, as: type, from: link)
    case .data(let target): consider(request, to: target, from: link)
    }
  }

  private func consider(_ request: Request, as type: ServiceType, from link: Link) {
    let host = link.host
    let inviter = peerID(of: request.entry.peer)
    func decline(_ reason: Reason) { say(Answer(id: request.id, outcome: .declined(reason)), on: link) }
    guard let peer = peers[request.to] else { return decline(.gone) }
    let ends = peer.endpoints.compactMap { endpoints[$0] }
    if ends.contains(where: { $0.blocked.contains(inviter) }) { return decline(.blocked) }
    if let standing = ends.first(where: { isConnected($0, with: request.entry.endpoint) }) {
      guard sabotage.contains(.mutualInvitationFault) else { return decline(.already) }
      if let member = standing.group.members[request.entry.endpoint] { lost(alone(member), .lost) }
    }
    if host.asking.values(where: { $0.isPending }).count >= Self.heldMax { return decline(.busy) }

    let invitation = incoming(request, by: inviter, to: peer, from: host)
    if let own = host.asked.first(where: { crosses(invitation, $0) }) {
      // Both ask for the same: the lower peer's invitation counts.
      if peer.id < inviter { return decline(.duplicate) }
      return answer(own, by: invitation)
    }
    if let eager = ends.first(where: { $0.adhoc?.type == type }) {
      remember(invitation)
      timers.set(.invitation(invitation.id), invitation.deadline)
      return adhocInvited(invitation, eager)
    }
    guard peer.advertised.contains(type) else { return decline(.gone) }
    remember(invitation)
    invitation.isShown = true
    if !sabotage.contains(.waitsForever) { timers.set(.invitation(invitation.id), invitation.deadline) }
    emit(
      .invitation(
        invitation.id, from: inviter, name: request.entry.name, to: peer.id, type: type, context: request.context,
        expires: invitation.deadline))
  }

  func incoming(_ request: Request, by inviter: PeerID, to peer: LocalPeer, from host: RemoteHost) -> IncomingInvitation
  {
    let span = Duration.milliseconds(Int64(min(request.millisecondsLeft, 3_600_000)))
    return IncomingInvitation(
      id: InvitationID(rawValue: number()), request: request, inviter: inviter, host: host, peer: peer,
      deadline: now + span)
  }

  /// An own invitation has become the answer to the other side's.
  func answer(_ own: OutgoingInvitation, by invitation: IncomingInvitation) {
    invitation.replace(own)
    remember(invitation)
    timers.set(.invitation(invitation.id), invitation.deadline)
    accept(invitation, with: own.local)
  }

  private func remember(_ invitation: IncomingInvitation) {
    incoming[invitation.id] = invitation
    invitation.host.asking[invitation.request.id] = invitation
  }

  private func forget(_ invitation: IncomingInvitation) {
    incoming[invitation.id] = nil
    invitation.host.asking[invitation.request.id] = nil
  }

  /// A person who looks at more than this from one host has been flooded.
  private static let heldMax = 64

  func crosses(_ theirs: IncomingInvitation, _ ours: OutgoingInvitation) -> Bool {
    guard case .asked = theirs.state, theirs.inviter == ours.to, theirs.peer === ours.local.peer,
      theirs.host === ours.host, ours.isCurrent
    else { return false }
    return switch (theirs.request.call, ours.call) {
    case (.service(let type, _), .service(let other, _)): type == other
    case (.data(let target), .data(let other)):
      target == ours.local.id && theirs.request.entry.endpoint == other
    default: false
    }
  }

  func accept(_ invitation: IncomingInvitation, with local: LocalEndpoint) {
    let group = local.group
    let theirs = invitation.request.entry
    if isConnected(local, with: theirs.endpoint) { return decline(invitation, .already) }
    if local.isLocked { return decline(invitation, .locked) }
    if local.banned.contains(invitation.inviter) || local.blocked.contains(invitation.inviter) {
      return decline(invitation, .removed)
    }
    let isFellow = group.members[theirs.endpoint] != nil || endpoints[theirs.endpoint]?.group === group
    if !isFellow, let reason = obstacle(promisedStanding(of: group), invitation.request.standing) {
      return decline(invitation, reason)
    }
    let answer = Answer(
      id: invitation.request.id,
      outcome: .accepted(
        Acceptance(
          group: group.label, entry: entry(of: local), carrier: local.peer.carrier, standing: group.standing)))
    invitation.answer = answer
    invitation.state = .accepted(local, local.incarnation)
    promised[invitation.id] = invitation
    sayIfOpen(answer, to: invitation.host)
    timers.set(.invitation(invitation.id), invitation.deadline)
  }

  func decline(_ invitation: IncomingInvitation, _ reason: Reason) {
    let answer = Answer(id: invitation.request.id, outcome: .declined(reason))
    invitation.answer = answer
    sayIfOpen(answer, to: invitation.host)
    end(invitation, reason)
  }

  func take(_ confirm: Confirm, from link: Link) throws(Violation) {
    guard
      let invitation = link.host.asking[confirm.id],
      case .accepted(let local, let incarnation) = invitation.state
    else {
      // The same again, where the answer was given again.
      if link.host.asking[confirm.id]?.endedAs == Reason.none { return }
      if confirm.reason == .none { say(Answer(id: confirm.id, outcome: .declined(.timedOut)), on: link) }
      return
    }
    let isCurrent = local.incarnation == incarnation && endpoints[local.id] === local
    end(invitation, isCurrent ? confirm.reason : .left)
    guard confirm.reason == .none else { return }
    guard isCurrent else { return say(Answer(id: confirm.id, outcome: .declined(.left)), on: link) }
    if confirm.rank > local.rank {
      local.rank = confirm.rank
      local.inviter = invitation.request.entry.endpoint
    }
    join(local, invitation.request.entry, isInviter: false, until: invitation.deadline)
  }

  /// The inviter takes it back.
  func take(_ cancel: Cancel, from link: Link) {
    guard let invitation = link.host.asking[cancel.id], invitation.isPending else { return }
    end(invitation, cancel.reason == .none ? .cancelled : cancel.reason)
  }

  /// The invitee takes back what was agreed on, before it has joined.
  private func takenBack(_ invitation: OutgoingInvitation, _ reason: Reason) {
    guard invitation.confirmation?.reason == Reason.none, invitation.isCurrent else { return }
    for member in invitation.local.group.members.values
    where member.peer == invitation.to && member.host === invitation.host && member.index == nil {
      dismiss(member, reason)
    }
  }

  /// A host came up anew: of what it had asked before it knows nothing, and it counts its invitations from the start.
  func forgetInvitations(from host: RemoteHost) {
    for invitation in host.asking.values {
      end(invitation, .lost)
      forget(invitation)
    }
  }

  private func end(_ invitation: IncomingInvitation, _ reason: Reason) {
    guard invitation.isPending else { return }
    invitation.state = .ended
    invitation.endedAs = reason
    promised[invitation.id] = nil
    invitation.forgottenAt = now + Self.rememberedMax
    timers.set(.invitation(invitation.id), invitation.forgottenAt)
    forgetOldest(of: invitation.host)
    if invitation.isShown { emit(.invitationEnded(invitation.id, reason)) }
    adhocAnswered(invitation)
    if let replaced = invitation.replaces {
      emit(.invitationEnded(replaced.id, reason))
      adhocEnded(replaced, reason)
      replaced.forgottenAt = now + Self.rememberedMax
      timers.set(.invitation(replaced.id), replaced.forgottenAt)
    }
  }

  /// A host that invites and takes back, again and again, is not remembered without bound.
  private func forgetOldest(of host: RemoteHost) {
    guard host.asking.count > Self.rememberedCountMax else { return }
    var ended = host.asking.values(where: { !$0.isPending })[...]
    while ended.count > Self.rememberedCountMax, let oldest = ended.popFirst() { forget(oldest) }
  }

  /// As many as may wait for an answer at once: their answers may all be on their way when the link is lost.
  private static let rememberedCountMax = heldMax

  func invitationDue(_ id: InvitationID) {
    if let invitation = outgoing[id] {
      if invitation.isPending, now >= invitation.deadline {
        sayIfOpen(Cancel(id: id.rawValue, reason: .timedOut), to: invitation.host)
        end(invitation, invitation.state == .reaching ? .unreachable : .timedOut)
      } else if invitation.isPending || now < invitation.forgottenAt {
        timers.set(.invitation(id), invitation.isPending ? invitation.deadline : invitation.forgottenAt)
      } else {
        outgoing[id] = nil
        forgetIfUnknown(invitation.host)
      }
      return
    }
    guard let invitation = incoming[id] else { return }
    if invitation.isPending {
      if now >= invitation.deadline {
        // Who accepted and heard no more takes it back, and says so when it is asked again.
        decline(invitation, .timedOut)
      } else {
        timers.set(.invitation(id), invitation.deadline)
      }
    } else if now < invitation.forgottenAt {
      timers.set(.invitation(id), invitation.forgottenAt)
    } else {
      forget(invitation)
      forgetIfUnknown(invitation.host)
    }
  }
}

extension Standing {
  /// As it is once two groups are one.
  fileprivate mutating func add(_ other: Standing) {
    size = UInt32(clamping: UInt64(size) + UInt64(other.size))
    peersMax = min(peersMax, other.peersMax)
    needs.formUnion(other.needs)
  }
}
