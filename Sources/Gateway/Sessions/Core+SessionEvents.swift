internal import Nearby
internal import Notation
internal import Reactor

/// Events of sessions: one call for each output of the engine, whatever the number of sessions here that it is for.
extension Core {
  // MARK: Events

  func handle(_ pending: PendingSessionEvent) {
    switch pending.kind {
    case .event(let event): handle(event, in: sessions.audience(pending.sessions))
    case .members(let members, let state): publishChange(of: members, to: state, sessions.audience(pending.sessions))
    case .adhoc(let state):
      for model in sessions.models(at: pending.sessions) { adhocStateChanged(DiscoveryStatus(state), in: model) }
    case .closed: for model in sessions.models(at: pending.sessions) { closed(model.id) }
    }
  }

  func list(_ listing: MemberListing, _ state: MemberState) {
    let audience = sessions.audience(listing.sessions)
    for member in listing.members { memberChanged(member, state, audience) }
  }

  private func handle(_ event: SessionEvent, in audience: EventAudience) {
    switch event {
    case .suspended(let member, let isSuspended):
      return change(member, in: audience, "suspended", [.init("suspended", .bool(isSuspended))]) {
        $0.isSuspended = isSuspended
      }
    case .mediumChanged(let member):
      return change(
        member, in: audience, "mediumChanged", member.medium.map { [JSON.Member("medium", .text($0))] } ?? []
      ) { $0.update(member) }
    case .away(let member):
      return change(member, in: audience, member.awaySince == nil ? "here" : "away") {
        $0.setAway(since: member.awaySince)
      }
    case .message(let message): return received(message, in: audience)
    default: break
    }
    for model in audience.sessions { handle(event, in: model) }
  }

  /// Handles an event of one session alone.
  private func handle(_ event: SessionEvent, in model: SessionModel) {
    let id = model.id
    switch event {
    // The delivery status of what a client sends comes by the message's number (`settle`).
    case .member, .suspended, .mediumChanged, .away, .message, .deliveryStatus: break
    case .notConnected(let invitee, let reason): failed(invitee, reason, model)
    case .adhocEnded: start { core in await core.adhocEnded(in: id) }
    case .stream(let reader): opened(reader, in: model)
    case .resource(let resource): offered(resource, in: model)
    case .decision(let decision): start { core in await core.handle(decision: decision, in: id) }
    case .sending(let resource): resumeTransfer(resource, in: model)
    case .comparison(let comparison): handle(comparison, in: model)
    case .comparisonFailed(let peer, let number, let reason): comparisonFailed(with: peer, number, reason, in: model)
    case .clockStepped(let step):
      events.publish(
        "clockStepped", about: "\(model.path)/clock", model.owner,
        [.init("milliseconds", .real(step / .milliseconds(1)))])
    case .undelivered(let members, let status):
      publishEvent(
        "undelivered", of: members, in: [model], seenBy: model.owner,
        [.init("deliveryStatus", .text("\(status)"))])
    }
  }

  private func publishChange(of members: [Member], to state: MemberState, _ audience: EventAudience) {
    var details: [JSON.Member] = []
    if case .notConnected(let reason) = state { details = [.init("reason", .text("\(reason)"))] }
    publishEvent(state.word, of: members, in: audience.sessions, seenBy: audience.owner, details)
  }

  /// A member is in a new state with each of these sessions.
  private func memberChanged(_ member: Member, _ state: MemberState, _ audience: EventAudience) {
    var admitting: SessionModel?
    for model in audience.sessions where !model.invitees.isEmpty { forgetInvitee(member.peer.text, in: model) }
    update(member.id, in: audience) { before in
      var view = before?.view ?? MemberModel.View(member, state)
      view.update(member, state)
      return view
    } then: { known, before, model in
      if state == .connected, before?.view.wasIn != true, model.adhoc != nil, admitting == nil { admitting = model }
      if !model.resourceModels.isEmpty {
        if state == .connected { offerWaiting(to: member, in: model) }
        if known.isGone { cancelWaiting(to: member, in: model) }
      }
      if !known.isPresent { forgetOldMembers(of: model) }
    }
    // A member that nobody has accepted by an invitation is admitted because a session is open to all.
    if let admitting, audit.isFirstAdmission(of: member.id) { addToAudit(.accepted, of: member, in: admitting) }
  }

  /// Changes how these sessions see a member, nil for none that they know, at once for all that see it alike.
  private func update(
    _ id: EndpointID, in audience: EventAudience, _ change: (MemberModel?) -> MemberModel.View?,
    then note: (_ known: MemberModel, _ before: MemberModel?, SessionModel) -> Void
  ) {
    for model in audience.others {
      let before = model.known(id)
      if let view = change(before) { note(show(view, in: model), before, model) }
    }
    if audience.crowds.isEmpty { return }
    let text = id.text
    for (crowd, slots) in audience.crowds {
      let changes = crowd.members.update(text, in: slots) { change($0?.member).map { memberModel(of: $0).content } }
      for (before, item, slots) in changes {
        guard let known = item.member else { continue }
        let difference = MemberCounts(known) - MemberCounts(before?.member)
        slots.forEach { slot in
          guard let model = crowd.session(at: slot) else { return }
          model.counts += difference
          if difference.connected != 0 { sessionCounts.publishSoon(model) }
          note(known, before?.member, model)
        }
      }
    }
  }

  /// Changes how sessions see a member that they know.
  private func change(
    _ member: Member, in audience: EventAudience, _ event: String, _ details: [JSON.Member] = [],
    _ change: (inout MemberModel.View) -> Void
  ) {
    var changed: [SessionModel] = []
    update(member.id, in: audience) { before in
      guard var view = before?.view else { return nil }
      change(&view)
      return view
    } then: { _, _, model in
      changed.append(model)
    }
    publishEvent(event, of: [member], in: changed, seenBy: Owner(of: changed.lazy.map(\.peer)), details)
  }

  /// Limit for the events of one change; where more sessions and members have it, one event stands for all of them.
  private static let eventsPerChangeMax = 16

  private func publishEvent(
    _ event: String, of members: [Member], in models: [SessionModel], seenBy owner: @autoclosure () -> Owner,
    _ details: [JSON.Member]
  ) {
    guard members.count * models.count > Self.eventsPerChangeMax, let model = models.first else {
      for model in models {
        for member in members {
          events.publish(
            event, about: "\(model.members.path)/\(member.id)", model.owner,
            [.init("displayName", .text(member.name))] + details)
        }
      }
      return
    }
    var (about, counts) = (model.members.path, [JSON.Member("members", .number(members.count))])
    if members.count == 1 {
      about += "/\(members[0].id)"
      counts = [.init("displayName", .text(members[0].name))]
    }
    if models.count > 1 { counts.append(.init("sessions", .number(models.count))) }
    events.publish(event, about: about, owner(), counts + details)
  }

  /// The sessions with their present counts.
  var currentSessionList: Collection {
    sessionCounts.publish()
    return sessionList
  }

  // MARK: Members

  /// A peer that did not join has no endpoint here: its place among the members has the peer's ID.
  private func failed(_ invitee: Invitee, _ reason: Reason, _ model: SessionModel) {
    let id = invitee.peer.text
    model.invitees.removeAll { $0 == id }
    model.invitees.append(id)
    if model.invitees.count > Self.goneMembersMax { model.members.remove(model.invitees.removeFirst()) }
    model.members.put(
      id, invitee.json(reason, isVerified: host.knownPeer(invitee.peer) != nil), owner: model.owner,
      facets: ["peer": id, "state": "notConnected", "name": invitee.name.lowercased()])
    events.publish(
      "notConnected", about: "\(model.members.path)/\(id)", model.owner,
      [.init("displayName", .text(invitee.name)), .init("reason", .text("\(reason)"))])
  }

  func forgetInvitee(_ id: String, in model: SessionModel) {
    guard let place = model.invitees.firstIndex(of: id) else { return }
    model.invitees.remove(at: place)
    model.members.remove(id)
  }

  /// Keeps former members for display, up to a limit; past it, makes room for some more at once.
  private func forgetOldMembers(of model: SessionModel) {
    guard model.counts.gone > Self.goneMembersMax else { return }
    let gone = model.members.all.filter { $0.member?.isPresent == false }
    let oldest = gone.sorted { $0.position.offset < $1.position.offset }.dropLast(Self.goneMembersMax * 3 / 4)
    for item in oldest {
      model.counts -= MemberCounts(item.member)
      model.members.remove(item.id)
    }
  }

  static let goneMembersMax = 256

  /// Sets how a session sees a member, and publishes it.
  @discardableResult
  func show(_ view: MemberModel.View, in model: SessionModel) -> MemberModel {
    let known = memberModel(of: view)
    let difference = MemberCounts(known) - MemberCounts(model.known(known.id))
    model.counts += difference
    if difference.connected != 0 { sessionCounts.publishSoon(model) }
    model.members.put(known.id, written: known.bytes, owner: model.owner, facets: known.facets, of: known)
    return known
  }

  private func memberModel(of view: MemberModel.View) -> MemberModel {
    var view = view
    view.isVerified = isVerified(view.member)
    return memberCache.model(of: view)
  }

  func isVerified(_ member: Member) -> Bool { host.knownPeer(member.peer) != nil }
}
