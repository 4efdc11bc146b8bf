internal import Nearby
internal import Notation
internal import Reactor

/// Events of sessions: one call for each output of the engine, whatever the number of sessions here that it is for.
extension Core {
  // MARK: Events

  /// The time for events in one turn of the loop, as where two crowds join; and how many, and how many bytes of messages,
  /// may wait for the next turn.
  private static let eventsTime: UInt64 = 5_000_000
  private static let pendingEventsMax = 4_096
  private static let pendingBytesMax = 8 << 20

  /// Handles an event later: the host is in the middle of its outputs.
  func enqueue(_ event: SessionEvent, in sessions: [EndpointID]) {
    pendingEvents.append((event, sessions))
    if case .message(let message) = event { pendingBytes += message.bytes.count }
    if pendingEvents.count == 1 { reactor.soon { [weak self] in self?.handleEvents() } }
  }

  private func models(of sessions: [EndpointID]) -> [SessionModel] { sessions.compactMap { sessionsByEndpoint[$0] } }

  func audience(_ sessions: [EndpointID]) -> EventAudience {
    if let latestAudience, latestAudience.endpoints == sessions { return latestAudience.audience }
    let audience = EventAudience(models(of: sessions))
    latestAudience = (sessions, audience)
    return audience
  }

  private func handleEvents() {
    let end = Reactor.now + Self.eventsTime
    var count = 0
    while count < pendingEvents.count,
      Reactor.now < end || pendingEvents.count - count > Self.pendingEventsMax || pendingBytes > Self.pendingBytesMax
    {
      let (event, sessions) = pendingEvents[count]
      let audience = audience(sessions)
      count += 1
      guard case .member(let member, let state) = event else {
        handle(event, in: audience)
        continue
      }
      var members = [member]
      while count < pendingEvents.count, pendingEvents[count].sessions == sessions,
        case .member(let next, state) = pendingEvents[count].event
      {
        members.append(next)
        count += 1
      }
      memberChanged(members, state, audience)
    }
    pendingEvents.removeFirst(count)
    if !pendingEvents.isEmpty { reactor.soon { [weak self] in self?.handleEvents() } }
  }

  private func handle(_ event: SessionEvent, in audience: EventAudience) {
    switch event {
    case .suspended(let member, let isSuspended):
      return change(member, in: audience, "suspended", [.init("suspended", .bool(isSuspended))]) {
        $0.isSuspended = isSuspended
      }
    case .away(let member):
      return change(member, in: audience, member.awaySince == nil ? "here" : "away") {
        $0.setAway(since: member.awaySince)
      }
    case .message(let message):
      pendingBytes -= message.bytes.count
      return received(message, in: audience)
    default: break
    }
    for model in audience.sessions { handle(event, in: model) }
  }

  /// Handles an event of one session alone.
  private func handle(_ event: SessionEvent, in model: SessionModel) {
    let id = model.id
    switch event {
    // The delivery status of what a client sends comes by the message's number (`settle`).
    case .member, .suspended, .away, .message, .deliveryStatus: break
    case .notConnected(let invitee, let reason): failed(invitee, reason, model)
    case .adhocEnded: start { core in await core.adhocEnded(in: id) }
    case .stream(let reader): opened(reader, in: model)
    case .resource(let resource): offered(resource, in: model)
    case .decision(let decision): start { core in await core.handle(decision: decision, in: id) }
    case .sending(let resource): resumeTransfer(resource, in: model)
    case .comparison(let comparison): handle(comparison, in: model)
    case .comparisonFailed(let peer, let number, let reason): comparisonFailed(with: peer, number, reason, in: model)
    case .clockStepped(let step):
      publishEvent(
        "clockStepped", about: "\(model.path)/clock", model.owner,
        [.init("milliseconds", .real(step / .milliseconds(1)))])
    case .undelivered(let members, let status):
      publishEvent("undelivered", of: members, in: [model], [.init("fate", .text("\(status)"))])
    }
  }

  /// These members are in a new state with each of these sessions.
  private func memberChanged(_ members: [Member], _ state: MemberState, _ audience: EventAudience) {
    for member in members { memberChanged(member, state, audience) }
    var details: [JSON.Member] = []
    if case .notConnected(let reason) = state { details = [.init("reason", .text("\(reason)"))] }
    publishEvent(state.word, of: members, in: audience.sessions, details)
  }

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
    if let admitting, noteAdmission(of: member) { audit(.accepted, of: member, in: admitting) }
  }

  /// Whether it is the first time.
  private func noteAdmission(of member: Member) -> Bool {
    if admittedMembers.count >= Self.admittedMembersMax { admittedMembers = [] }
    return admittedMembers.insert(member.id).inserted
  }

  /// Past it all are forgotten, and have a second entry when they come again.
  private static let admittedMembersMax = 65_536

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
      for (item, slots) in crowd.members.items(text, in: slots) {
        guard let view = change(item?.member) else { continue }
        let known = memberModel(of: view)
        crowd.members.put(text, written: known.bytes, facets: known.facets, of: known, in: slots)
        slots.forEach { slot in
          guard let model = crowd.session(at: slot) else { return }
          if model.count(known, before: item?.member) { publishSoon(model) }
          note(known, item?.member, model)
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
    publishEvent(event, of: [member], in: changed, details)
  }

  /// Limit for the events of one change; where more sessions and members have it, one event stands for all of them.
  private static let eventsPerChangeMax = 16

  private func publishEvent(
    _ event: String, of members: [Member], in models: [SessionModel], _ details: [JSON.Member]
  ) {
    guard members.count * models.count > Self.eventsPerChangeMax, let model = models.first else {
      for model in models {
        for member in members {
          publishEvent(
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
    publishEvent(event, about: about, Owner(anyOf: models.map(\.owner)), counts + details)
  }

  // MARK: Counts

  /// How often the counts of connected members are published while the list of sessions is followed. A client that
  /// reads the list gets the present ones.
  private static let countInterval: Duration = .milliseconds(100)

  private func publishSoon(_ model: SessionModel) {
    guard !model.isPublishingDue else { return }
    model.isPublishingDue = true
    dueSessions.append(model)
    scheduleCounts()
  }

  /// Publishes the counts that are due, soon, if anybody is to have them.
  func scheduleCounts() {
    guard !dueSessions.isEmpty, !areCountsScheduled, sessionList.isFollowed else { return }
    areCountsScheduled = true
    let pause = max(.zero, Self.countInterval - (Instant.now - countsPublishedAt))
    reactor.schedule(after: pause) { [weak self] in
      self?.areCountsScheduled = false
      self?.publishCounts()
    }
  }

  private func publishCounts() {
    let due = dueSessions
    if due.isEmpty { return }
    dueSessions = []
    countsPublishedAt = Instant.now
    for model in due {
      model.isPublishingDue = false
      publish(model)
    }
  }

  /// The sessions with their present counts.
  var currentSessionList: Collection {
    publishCounts()
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
      facets: ["peer": id, "state": "notConnected"])
    publishEvent(
      "notConnected", about: "\(model.members.path)/\(id)", model.owner,
      [.init("displayName", .text(invitee.name)), .init("reason", .text("\(reason)"))])
  }

  func forgetInvitee(_ id: String, in model: SessionModel) {
    guard let place = model.invitees.firstIndex(of: id) else { return }
    model.invitees.remove(at: place)
    model.members.remove(id)
  }

  /// Keeps former members for display, up to a limit.
  private func forgetOldMembers(of model: SessionModel) {
    guard model.goneCount > Self.goneMembersMax else { return }
    let gone = model.members.all.filter { $0.member?.isPresent == false }
    guard let oldest = gone.min(by: { $0.position.offset < $1.position.offset }) else { return }
    _ = model.count(nil, before: oldest.member)
    model.members.remove(oldest.id)
  }

  static let goneMembersMax = 256

  /// Sets how a session sees a member, and publishes it.
  @discardableResult
  func show(_ view: MemberModel.View, in model: SessionModel) -> MemberModel {
    let known = memberModel(of: view)
    if model.count(known, before: model.known(known.id)) { publishSoon(model) }
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
