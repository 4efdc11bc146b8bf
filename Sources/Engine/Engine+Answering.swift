import Wire

/// The invitee's side of invitations: asking the program, answering, and remembering the answer.
extension Engine {
  func handle(_ request: InvitationRequest, from link: Link) throws(ProtocolViolation) {
    let host = link.host
    try prove(request.carrier, of: host)
    guard request.entry.peer == request.carrier.peer, request.entry.host == host.id else {
      throw ProtocolViolation(.protocolViolation, "an invitation in the name of another peer or host")
    }
    if let leaving = predecessor(of: request.entry, at: host) {
      leaving.successor = .invite(request)
    } else {
      consider(request, from: link)
    }
  }

  func consider(_ request: InvitationRequest, from link: Link) {
    if let known = link.host.asking[request.id] {
      if let answer = known.answer { send(answer, on: link) }
      return
    }
    switch request.call {
    case .service(let type, _): consider(request, as: type, from: link)
    case .data(let target): consider(request, to: target, from: link)
    }
  }

  private func consider(_ request: InvitationRequest, as type: ServiceType, from link: Link) {
    let host = link.host
    let inviter = peerID(of: request.entry.peer)
    func decline(_ reason: Reason) { send(Answer(id: request.id, outcome: .declined(reason)), on: link) }
    guard let peer = peers[request.to] else { return decline(.gone) }
    let ends = peer.endpoints.compactMap { endpoints[$0] }
    if ends.contains(where: { $0.blocked.contains(inviter) }) { return decline(.blocked) }
    // The other host may be one that asks without end.
    if request.isAdhoc, peer.refusals.forbid(request.entry.endpoint, at: now), !sabotage.contains(.asksAgain) {
      return decline(peer.refusals.stand(for: request.entry.endpoint) ? .declined : .busy)
    }
    if let standing = ends.first(where: { isConnected($0, with: request.entry.endpoint) }) {
      guard sabotage.contains(.mutualInvitationFault) else { return decline(.already) }
      if let member = standing.group.members[request.entry.endpoint] { lost(alone(member), .lost) }
    }
    if host.asking.values(where: { $0.isPending }).count >= Self.heldMax { return decline(.busy) }

    let invitation = incoming(request, by: inviter, to: peer, from: host)
    if let own = host.asked.first(where: { crosses(invitation, $0) }) {
      // Both invite each other: the lower peer's invitation counts.
      if peer.id < inviter { return decline(.duplicate) }
      return answer(own, by: invitation)
    }
    if let eager = ends.first(where: { $0.adhoc?.type == type }) {
      remember(invitation)
      invitation.answerBy(now + Self.adhocAnswerMax)
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

  func incoming(_ request: InvitationRequest, by inviter: PeerID, to peer: LocalPeer, from host: RemoteHost)
    -> IncomingInvitation
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

  func forget(_ invitation: IncomingInvitation) {
    incoming[invitation.id] = nil
    invitation.host.asking[invitation.request.id] = nil
  }

  /// More pending invitations than this from one host are a flood.
  static let heldMax = 64

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
    give(answer, to: invitation)
    timers.set(.invitation(invitation.id), invitation.deadline)
  }

  func decline(_ invitation: IncomingInvitation, _ reason: Reason) {
    let answer = Answer(id: invitation.request.id, outcome: .declined(reason))
    invitation.answer = answer
    give(answer, to: invitation)
    end(invitation, reason)
  }

  /// Sends the answer behind our `attach`, with which the other side takes the link into use; there is no need to wait
  /// for theirs.
  func give(_ answer: Answer, to invitation: IncomingInvitation) {
    guard let link = invitation.host.bond?.link else { return }
    invitation.answeredOn = link.id
    send(answer, on: link)
  }

  func handle(_ confirm: Confirm, from link: Link) throws(ProtocolViolation) {
    guard
      let invitation = link.host.asking[confirm.id],
      case .accepted(let local, let incarnation) = invitation.state
    else {
      // The same again, where the answer was repeated.
      if link.host.asking[confirm.id]?.endedAs == Reason.none { return }
      if confirm.reason == .none { send(Answer(id: confirm.id, outcome: .declined(.timedOut)), on: link) }
      return
    }
    let isCurrent = local.incarnation == incarnation && endpoints[local.id] === local
    end(invitation, isCurrent ? confirm.reason : .left)
    guard confirm.reason == .none else { return }
    guard isCurrent else { return send(Answer(id: confirm.id, outcome: .declined(.left)), on: link) }
    if confirm.rank > local.rank {
      local.rank = confirm.rank
      local.inviter = invitation.request.entry.endpoint
    }
    join(local, invitation.request.entry, isInviter: false, until: invitation.deadline)
  }

  func handle(_ cancel: Cancel, from link: Link) {
    guard let invitation = link.host.asking[cancel.id], invitation.isPending else { return }
    end(invitation, cancel.reason == .none ? .cancelled : cancel.reason)
  }

  /// A host has restarted: it has forgotten its invitations and numbers new ones from the start.
  func forgetInvitations(from host: RemoteHost) {
    for invitation in host.asking.values {
      end(invitation, .lost)
      forget(invitation)
    }
  }

  func end(_ invitation: IncomingInvitation, _ reason: Reason) {
    guard invitation.isPending else { return }
    invitation.state = .ended
    invitation.endedAs = reason
    promised[invitation.id] = nil
    invitation.forgottenAt = now + Self.rememberedMax
    timers.set(.invitation(invitation.id), invitation.forgottenAt)
    forgetOldest(of: invitation.host)
    if invitation.isShown { emit(.invitationEnded(invitation.id, reason)) }
    noteAnswer(reason, to: invitation)
    adhocAnswered(invitation)
    if let replaced = invitation.replaces {
      finishInvitation(replaced, reason)
      replaced.forgottenAt = now + Self.rememberedMax
      timers.set(.invitation(replaced.id), replaced.forgottenAt)
    }
  }

  /// Remembers a person's answer; an invitation that was never shown was answered by a program.
  private func noteAnswer(_ reason: Reason, to invitation: IncomingInvitation) {
    let (peer, inviting) = (invitation.peer, invitation.request.entry.endpoint)
    let locals = peer.endpoints.compactMap { endpoints[$0] }
    switch reason {
    case .none:
      peer.refusals.lift(inviting)
      for local in locals { local.refusals.lift(invitation.inviter) }
    case .declined where invitation.isShown:
      peer.refusals.declined(inviting)
      for local in locals { local.refusals.declined(invitation.inviter) }
    case .timedOut where invitation.isShown:
      peer.refusals.ranOut(inviting, restsUntil: now + settings.adhocUnansweredPause)
    default: break
    }
  }

  /// Bounds the memory of a host that invites and cancels again and again.
  private func forgetOldest(of host: RemoteHost) {
    guard host.asking.count > Self.rememberedCountMax else { return }
    var ended = host.asking.values(where: { !$0.isPending })[...]
    while ended.count > Self.rememberedCountMax, let oldest = ended.popFirst() { forget(oldest) }
  }

  /// As many as may be pending at once: their answers may all be in flight when the link is lost.
  private static let rememberedCountMax = heldMax
}
