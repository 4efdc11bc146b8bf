public import Wire

/// Invitations: each ends once, joined or with a reason, inside its timeout.
extension Engine {
  /// Invites a peer that is nearby. Zero or a negative timeout means 30 seconds.
  public func invite(
    _ peer: PeerID, as type: ServiceType, to endpoint: EndpointID, context: [UInt8], timeout: Duration, at now: Instant
  ) throws(EngineError) -> InvitationID {
    beginMutation(now)
    defer { finishMutation() }
    let local = try local(endpoint)
    guard peer != local.peer.id else { throw EngineError(.invalidParameter, "a peer cannot invite itself") }
    guard context.count <= Limits.contextBytesMax else {
      throw EngineError(
        .invalidParameter, "the context has \(context.count) bytes; at most \(Limits.contextBytesMax) are carried")
    }
    guard let host = hostAdvertising(of: peer, type) else {
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
    _ peer: PeerID, at host: RemoteHost, by call: InvitationTarget, to local: LocalEndpoint, context: [UInt8] = [],
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
      // They invited first, and this is the answer.
      crossing.replace(invitation)
      accept(crossing, with: local)
      return id
    }
    if !sabotage.contains(.waitsForever) { timers.set(.invitation(id), invitation.deadline) }
    ensureLink(host)
    send(invitation)
    return id
  }

  /// Longer than anybody waits, and short enough to be forgotten.
  private static let timeoutMax: Duration = .seconds(3_600)

  public func cancel(_ id: InvitationID, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let invitation = outgoing[id] else { return }
    if invitation.isPending {
      takeBack(invitation, .cancelled)
    } else if let answered = promised.first(where: { $0.replaces === invitation }) {
      // It has become the answer to the other side's invitation, and declines that.
      decline(answered, .cancelled)
    }
  }

  public func accept(_ id: InvitationID, with endpoint: EndpointID, at now: Instant) throws(EngineError) {
    beginMutation(now)
    defer { finishMutation() }
    let invitation = try pending(id)
    let local = try local(endpoint)
    guard local.peer === invitation.peer else {
      throw EngineError(.invalidParameter, "the session is of another peer than the one that was invited")
    }
    accept(invitation, with: local)
  }

  public func decline(_ id: InvitationID, at now: Instant) throws(EngineError) {
    beginMutation(now)
    defer { finishMutation() }
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
    invitation.state = .sent
    if invitation.saidOn != link.id { send(invitation, on: link) }
  }

  /// Sends the invitations behind the first greeting of a bond: the host that takes the link into use reads them before
  /// anything that needs the bond.
  func inviteAtOnce(over link: Link) {
    for invitation in link.host.asked.values { send(invitation, on: link) }
  }

  private func send(_ invitation: OutgoingInvitation, on link: Link) {
    let local = invitation.local
    invitation.saidOn = link.id
    let left = UInt32(max(1, (invitation.deadline - now).nanoseconds / 1_000_000))
    switch invitation.call {
    case .service(let type, let isAdhoc):
      send(
        Invite(
          id: invitation.id.rawValue, type: type, to: invitation.to, adhoc: isAdhoc, group: local.group.label,
          entry: entry(of: local), carrier: local.peer.carrier, standing: local.group.standing, millisecondsLeft: left,
          context: invitation.context),
        on: link)
    case .data(let target):
      send(
        Connect(
          id: invitation.id.rawValue, to: invitation.to, target: target, entry: entry(of: local),
          carrier: local.peer.carrier, standing: local.group.standing, millisecondsLeft: left),
        on: link)
    }
  }

  /// A new link: sends again what may have been lost with the last one.
  func resumeInvitations(with host: RemoteHost) {
    for invitation in host.asked.values { send(invitation) }
    for invitation in host.asking.values where invitation.answeredOn != host.bond?.link?.id {
      if case .accepted = invitation.state, let answer = invitation.answer { give(answer, to: invitation) }
    }
  }

  func openLink(to host: RemoteHost) -> Link? {
    host.bond.flatMap { $0.isOpen ? $0.link : nil }
  }

  private func sendIfOpen(_ frame: some Frame, to host: RemoteHost) {
    if let link = openLink(to: host) { send(frame, on: link) }
  }

  /// Cancels the invitation for the invitee, too.
  func takeBack(_ invitation: OutgoingInvitation, _ reason: Reason) {
    if let link = invitation.saidOn.flatMap({ links[$0] }) {
      send(Cancel(id: invitation.id.rawValue, reason: reason), on: link)
    }
    guard reason == .timedOut else { return end(invitation, reason) }
    // It has arrived there, and a program would have answered: so a person did not.
    if let link = openLink(to: invitation.host), link.id == invitation.saidOn { invitation.ranOut = true }
    end(invitation, invitation.state == .reaching ? .unreachable : .timedOut)
  }

  func handle(_ answer: Answer, from link: Link) throws(ProtocolViolation) {
    guard let invitation = outgoing[InvitationID(rawValue: answer.id)], invitation.host === link.host else {
      sendIfOpen(Confirm(id: answer.id, reason: .gone, rank: 0), to: link.host)
      return
    }
    switch answer.outcome {
    case .declined(let reason):
      // Their own invitation crossed this one and stands.
      guard reason != .duplicate else { return }
      guard invitation.isPending else { return handleWithdrawal(invitation, reason) }
      invitation.ranOut = reason == .timedOut
      end(invitation, reason)
    case .accepted(let acceptance):
      if let said = invitation.confirmation { return sendIfOpen(said, to: link.host) }
      guard invitation.isPending else {
        return sendIfOpen(Confirm(id: answer.id, reason: .cancelled, rank: 0), to: link.host)
      }
      try prove(acceptance.carrier, of: link.host)
      let entry = acceptance.entry
      let isCalled = if case .data(let target) = invitation.call { entry.endpoint == target } else { true }
      guard entry.peer == acceptance.carrier.peer, entry.host == link.host.id, peerID(of: entry.peer) == invitation.to,
        isCalled
      else { throw ProtocolViolation(.protocolViolation, "an invitation accepted by another peer than was invited") }
      if let leaving = predecessor(of: entry, at: link.host) {
        leaving.successor = .answer(acceptance, invitation)
      } else {
        conclude(invitation, acceptance)
      }
    }
  }

  /// A member's earlier incarnation that has left, though its leave has not been read: records are slower than answers.
  func predecessor(of entry: Entry, at host: RemoteHost) -> RemoteMember? {
    host.presences.values.lazy.compactMap { $0.members[entry.endpoint] }
      .first { $0.index != nil && $0.entry.incarnation < entry.incarnation }
  }

  /// A member has left, and all its records are read: its next incarnation may join.
  func succeed(_ successor: Successor, of member: RemoteMember) {
    switch successor {
    case .invite(let request):
      if let link = openLink(to: member.host) { consider(request, from: link) }
    case .answer(let acceptance, let invitation):
      if invitation.isPending {
        conclude(invitation, acceptance)
      } else {
        sendIfOpen(Confirm(id: invitation.id.rawValue, reason: .cancelled, rank: 0), to: member.host)
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
      // A peer that lost its place gets another, further back: so everybody can tell the two apart.
      let lost = group.overflowed[entry.endpoint]?.rank ?? 0
      entry.rank = max(group.rankMax, lost).saturatingSuccessor
      entry.inviter = local.id
    }
    let confirmation = Confirm(id: invitation.id.rawValue, reason: reason, rank: entry.rank)
    invitation.confirmation = confirmation
    sendIfOpen(confirmation, to: invitation.host)
    if reason == .none { local.peer.refusals.lift(entry.endpoint) }
    end(invitation, reason)
    if reason == .none { join(local, entry, isInviter: true, until: invitation.deadline) }
  }

  /// A group's standing, including those that were accepted and not yet confirmed.
  func promisedStanding(of group: Group) -> Standing {
    var standing = group.standing
    for invitation in promised.values {
      guard case .accepted(let local, _) = invitation.state, local.group === group,
        group.members[invitation.request.entry.endpoint] == nil
      else { continue }
      standing.add(invitation.request.standing)
    }
    return standing
  }

  /// The first rule that keeps everybody of two groups from being connected with everybody.
  func obstacle(_ ours: Standing, _ theirs: Standing) -> Reason? {
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
    finishInvitation(invitation, reason)
  }

  /// An own invitation has ended: remembers a person's answer, and reports a failure to the session.
  func finishInvitation(_ invitation: OutgoingInvitation, _ reason: Reason) {
    let (local, peer) = (invitation.local, invitation.to)
    emit(.invitationEnded(invitation.id, reason))
    switch reason {
    case .none:
      local.refusals.lift(peer)
      local.adhoc?.failures[peer] = nil
    case .declined: local.refusals.declined(peer)
    case .timedOut where invitation.ranOut:
      local.refusals.ranOut(peer, restsUntil: now + settings.adhocUnansweredPause)
    default: break
    }
    let isAskedAgain = adhocEnded(invitation, reason)
    // The session sees a peer that is there already, or joining, as a member.
    if reason == .none || reason == .already || isFellow(peer, of: local) { return }
    if isAskedAgain, local.adhoc?.failures[peer] == reason { return }
    if isAskedAgain { local.adhoc?.failures[peer] = reason }
    guard invitation.isCurrent, !sabotage.contains(.hidesFailures) else { return }
    let invitee = InviteeView(
      peer: peer, host: invitation.host.id, name: name(of: invitation), isAdhoc: invitation.call.isAdhoc,
      isAskedAgain: isAskedAgain)
    emit(.inviteeNotConnected(invitee, reason, of: local.id))
  }

  private func name(of invitation: OutgoingInvitation) -> DisplayName? {
    if case .service(let type, _) = invitation.call,
      let seen = discovery.visible[.init(type: type, peer: invitation.to)]
    {
      return seen.name
    }
    return invitation.local.group.members(of: invitation.to).first?.view.name
  }

  /// The invitee cancels its acceptance before it has joined.
  private func handleWithdrawal(_ invitation: OutgoingInvitation, _ reason: Reason) {
    guard invitation.confirmation?.reason == Reason.none, invitation.isCurrent else { return }
    for member in invitation.local.group.members.values
    where member.peer == invitation.to && member.host === invitation.host && member.index == nil {
      dismiss(member, reason)
    }
  }

  /// How late an answer may be because its link was lost.
  static let rememberedMax: Duration = .seconds(60)

  func handleInvitationTimer(_ id: InvitationID) {
    if let invitation = outgoing[id] {
      if invitation.isPending, now >= invitation.deadline {
        takeBack(invitation, .timedOut)
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
        // The invitee accepted and got no answer: it cancels, and says so when it is asked again. A program that had no
        // turn yet answers busy: no person let it run out.
        if case .asked = invitation.state, !invitation.isShown {
          decline(invitation, .busy)
        } else {
          decline(invitation, .timedOut)
        }
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
  /// The standing of the two groups once they are merged.
  fileprivate mutating func add(_ other: Standing) {
    size = UInt32(clamping: UInt64(size) + UInt64(other.size))
    peersMax = min(peersMax, other.peersMax)
    needs.formUnion(other.needs)
  }
}
