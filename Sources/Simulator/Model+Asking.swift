import Engine
import Wire

/// An invitation in truth, and its end on each side.
struct InvitationRecord {
  var inviter: PeerRef
  var guest: PeerID
  var endpoint: EndpointID
  var host: Int
  var run: Int
  /// How often its endpoint had left before.
  var leaves: Int
  /// By the inviter's clock, including the time that ending takes.
  var endsBy: Instant
  var endedAs: Reason?
  /// The guest's side, once it arrived there.
  var guestRun = 0
  var guestEndsBy = Instant.distantFuture
  var guestEndedAs: Reason?
  var acceptedWith: EndpointID?
  var acceptedLeaves = 0
  /// One side crashed before it had stored the end.
  var isForgotten = false
  /// Its peer has gone.
  var isExcused = false
  /// The endpoint of its connection data, and since when it waits.
  var target: EndpointID?
  var madeAt: Int64 = 0

  func meets(_ other: Self) -> Bool { target == other.endpoint && other.target == endpoint }
}

struct DecisionRecord {
  var endpoint: EndpointID
  var member: EndpointID
  var endsBy: Instant
  var isOver = false
}

struct CodeRecord {
  var local: PeerID
  var remote: PeerID
  var code: String
}

/// Invitations, decisions and comparison codes.
extension Model {
  private static let slack = Duration.milliseconds(2_500)

  static func context(_ number: Int) -> [UInt8] { Array("invitation \(number)".utf8) }

  static func number(ofContext context: [UInt8]) -> Int? {
    let text = String(decoding: context, as: UTF8.self)
    return text.hasPrefix("invitation ") ? Int(text.dropFirst(11)) : nil
  }

  // MARK: Invitations

  func invites(
    _ id: InvitationID, _ guest: PeerID, from endpoint: EndpointID, by peer: SimPeer, timeout: Int, at host: SimHost,
    target: EndpointID? = nil
  ) {
    let record = endpoints[endpoint]
    record?.isSeeking = true
    if record?.choices.isLocked == true { record?.invitedAfterLock.insert(guest) }
    // A new invitation takes a removal back, but not a ban.
    choose(for: endpoint) { choices in
      choices.removed = choices.removed.filter { endpoints[$0.key]?.peer != guest }
    }
    // Invitations that cross become one, and nobody is asked.
    if let record, target == nil {
      for other in invitations where other.guest == peer.id && other.endedAs == nil && other.target == nil {
        if let crossing = endpoints[other.endpoint], crossing.peer == guest { mayMeet(crossing, record) }
      }
    }
    // A peer in ad hoc mode accepts every invitation.
    if let record, target == nil {
      for other in order where other.peer == guest && other.adhoc != nil && other.isOpen { mayMeet(other, record) }
    }
    made[OfHost(host: host.index, run: host.run, id: id)] = invitations.count
    invitations.append(
      InvitationRecord(
        inviter: peer.ref, guest: guest, endpoint: endpoint, host: host.index, run: host.run,
        leaves: record?.leaves ?? 0, endsBy: host.local(now) + .milliseconds(timeout) + Self.slack, target: target,
        madeAt: now))
  }

  /// Two that wait for each other at the same time are joined.
  func connects(
    _ id: InvitationID, _ data: ConnectionData, from endpoint: EndpointID, by peer: SimPeer, timeout: Int,
    at host: SimHost
  ) {
    let number = invitations.count
    invites(id, data.peer, from: endpoint, by: peer, timeout: timeout, at: host, target: data.endpoint)
    for (place, other) in invitations.enumerated() where other.meets(invitations[number]) && other.endedAs == nil {
      guard let here = endpoints[endpoint], let there = endpoints[data.endpoint], isWaiting(other) else { continue }
      mayMeet(here, there)
      invitations[number].acceptedWith = there.id
      invitations[number].acceptedLeaves = there.leaves
      invitations[place].acceptedWith = here.id
      invitations[place].acceptedLeaves = here.leaves
    }
  }

  private func isWaiting(_ attempt: InvitationRecord) -> Bool {
    attempt.endedAs == nil && !attempt.isForgotten && isHostUp[attempt.host] && runs[attempt.host] == attempt.run
  }

  /// The other side's attempt that this one was joined with.
  private func counterpart(of number: Int) -> InvitationRecord? {
    invitations.last { $0.meets(invitations[number]) && $0.acceptedWith == invitations[number].endpoint }
  }

  /// Two that wait for each other, and can reach each other, find each other.
  func checkAttempts() {
    for (number, one) in invitations.enumerated() where one.target != nil && isWaiting(one) {
      guard let other = counterpart(of: number), isWaiting(other) else { continue }
      let waited = now - max(one.madeAt, other.madeAt)
      let isQuiet = !wereDisturbed(one.host, other.host, within: 20_000)
      check(.attemptsMeet, waited < 20_000_000_000 + underWay || !isQuiet) {
        "\(label(one.endpoint)) and \(label(other.endpoint)) have waited for each other for \(waited / 1_000_000) ms"
      }
    }
  }

  func invited(
    _ id: InvitationID, _ from: PeerID, _ to: PeerID, _ context: [UInt8], _ expires: Instant, at host: SimHost
  ) {
    let word = "\(label(to)) is invited by \(label(from))"
    if let place = peerPlaces[from], isMalicious[peers[place].ref.host] { return }
    if context.isEmpty, let inviter = order.first(where: { $0.peer == from && $0.wasAdhoc && $0.isOpen }) {
      return asks(id, inviter, to, at: host)
    }
    guard let number = Self.number(ofContext: context), invitations.indices.contains(number),
      peers[peerPlaces[from] ?? 0].ref == invitations[number].inviter, invitations[number].guest == to
    else { return violate(.onlyTheReal, word + ", which it never did") }
    check(.invitationsEndOnce, invitations[number].guestRun != host.run) { word + " twice by one invitation" }
    let blocks = order.contains { $0.peer == to && $0.isOpen && !$0.choices.blocked.contains(from) }
    check(.refusedStaysRefused, blocks || !order.contains { $0.peer == to && $0.isOpen }) { word + ", which it blocks" }
    got[OfHost(host: host.index, run: host.run, id: id)] = number
    invitations[number].guestRun = host.run
    invitations[number].guestEndsBy = expires + Self.slack
    invitations[number].guestEndedAs = nil
  }

  func isPending(_ id: InvitationID, at host: SimHost) -> Bool {
    let key = OfHost(host: host.index, run: host.run, id: id)
    guard let number = got[key] else { return !overStrangers.contains(key) }
    return invitations[number].guestEndedAs == nil
  }

  func accepts(_ id: InvitationID, with endpoint: EndpointID, at host: SimHost) {
    guard let record = endpoints[endpoint] else { return }
    record.isSeeking = true
    let key = OfHost(host: host.index, run: host.run, id: id)
    if let asking = askings[key] {
      takesBack(asking.inviter, record)
      mayMeet(asking.inviter, record)
    }
    guard let number = got[key] else { return }
    invitations[number].acceptedWith = endpoint
    invitations[number].acceptedLeaves = record.leaves
    guard let inviter = endpoints[invitations[number].endpoint] else { return }
    takesBack(inviter, record)
    mayMeet(inviter, record)
  }

  /// An endpoint that accepts an invitation takes its removal of the inviter back, but not a ban.
  private func takesBack(_ inviter: EndpointRecord, _ record: EndpointRecord) {
    if record.choices.removed[inviter.id] != nil { choose(for: record.id) { $0.removed[inviter.id] = nil } }
  }

  func ended(_ id: InvitationID, _ reason: Reason, at host: SimHost) {
    let key = OfHost(host: host.index, run: host.run, id: id)
    if let number = made[key] {
      check(.invitationsEndOnce, invitations[number].endedAs == nil) {
        "invitation \(number) of \(invitations[number].inviter) ended (\(reason)) after it had (\(invitations[number].endedAs ?? .none))"
      }
      invitations[number].endedAs = reason
      expectFailure(of: number, reason, at: host)
      if reason == .none { meetsByHand(invitations[number], at: host) }
      if reason == .none { joined(number, at: host) } else { parted(number) }
    } else if let number = got[key] {
      check(.invitationsEndOnce, invitations[number].guestEndedAs == nil) {
        "invitation \(number) to \(label(invitations[number].guest)) ended (\(reason)) after it had (\(invitations[number].guestEndedAs ?? .none))"
      }
      invitations[number].guestEndedAs = reason
      if let inviter = endpoints[invitations[number].endpoint] {
        answered(reason, Refusing(guest: invitations[number].guest, inviter: inviter.id), at: host)
      }
      if reason == .none { joined(number, at: host) } else { parted(number) }
    } else if let asking = askings[key] {
      overStrangers.insert(key)
      answered(reason, Refusing(guest: asking.guest, inviter: asking.inviter.id), at: host)
    } else {
      // Ad hoc mode makes its own, and those of strangers are not checked.
      overStrangers.insert(key)
      let isOwn = order.contains { $0.ref.host == host.index && $0.wasAdhoc }
      check(
        .invitationsEndOnce,
        isOwn || isMalicious.contains(true) || isUnsettled[host.index] || plan.hosts[host.index].isDurable
      ) {
        "\(host.label) ends an invitation that nobody knows"
      }
    }
  }

  private func joined(_ number: Int, at host: SimHost) {
    awaitsStore(.joining(invitation: number), at: host.index)
    let invitation = invitations[number]
    guard !invitation.isForgotten, let accepted = invitation.acceptedWith, let guest = endpoints[accepted],
      let inviter = endpoints[invitation.endpoint]
    else { return }
    if invitation.target != nil {
      guard let other = counterpart(of: number), !other.isForgotten, other.endedAs.map({ $0 == .none }) ?? true else {
        return
      }
    }
    // Either may have left before the other's side learned of the end.
    guard inviter.leaves == invitation.leaves, guest.leaves == invitation.acceptedLeaves else { return }
    if !inviter.joinedWith.contains(guest.id) { inviter.joinedWith.append(guest.id) }
    if !guest.joinedWith.contains(inviter.id) { guest.joinedWith.append(inviter.id) }
  }

  /// One side said yes, and the other no, or forgot that it was asked.
  private func parted(_ number: Int) {
    let invitation = invitations[number]
    guard let accepted = invitation.acceptedWith else { return }
    endpoints[accepted]?.joinedWith.removeAll { $0 == invitation.endpoint }
    endpoints[invitation.endpoint]?.joinedWith.removeAll { $0 == accepted }
  }

  /// A host crashed in the middle of these, and has forgotten them.
  func forgetPendingInvitations(of host: SimHost) {
    for (number, invitation) in invitations.enumerated() {
      let isGuest = invitation.acceptedWith.flatMap { endpoints[$0] }?.ref.host == host.index
      let isPending =
        isGuest
        ? invitation.guestRun == host.run && invitation.guestEndedAs == nil
        : invitation.host == host.index && invitation.run == host.run && invitation.endedAs == nil
      if isPending { forgets(number) }
    }
  }

  func forgets(_ number: Int) {
    parted(number)
    invitations[number].isForgotten = true
  }

  func checkInvitations(_ world: World) {
    for (number, record) in invitations.enumerated() where !record.isExcused {
      let host = world.hosts[record.host]
      if record.endedAs == nil, host.isUp, host.run == record.run, host.local(now) > record.endsBy {
        return violate(.invitationsEndInTime, "invitation \(number) of \(record.inviter) has not ended")
      }
      guard let place = peerPlaces[record.guest] else { continue }
      let guest = world.hosts[peers[place].ref.host]
      if record.guestEndedAs == nil, record.guestRun == guest.run, guest.isUp, peers[place].isThere,
        guest.local(now) > record.guestEndsBy
      {
        return violate(.invitationsEndInTime, "invitation \(number) to \(peers[place].ref) has not ended there")
      }
    }
  }

  // MARK: Decisions

  func asked(_ id: DecisionID, _ view: MemberView, _ endpoint: EndpointID, _ expires: Instant, at host: SimHost) {
    let key = OfHost(host: host.index, run: host.run, id: id)
    check(.decisionsEnd, decisions[key] == nil) { "\(host.label) asks twice by one decision" }
    decisions[key] = DecisionRecord(endpoint: endpoint, member: view.endpoint, endsBy: expires + Self.slack)
    decisionOrder.append(key)
    endpoints[endpoint]?.decided[view.endpoint] = nil
  }

  /// False where it is over.
  func decides(_ id: DecisionID, _ admit: Bool, at host: SimHost) -> Bool {
    let key = OfHost(host: host.index, run: host.run, id: id)
    guard let decision = decisions[key], !decision.isOver else { return false }
    guard let asked = endpoints[decision.endpoint] else { return false }
    asked.decided[decision.member] = admit
    if admit { asked.saidYes[decision.member] = asked.leaves } else { asked.everRefused.insert(decision.member) }
    decisions[key]?.isOver = true
    return true
  }

  func decisionEnded(_ id: DecisionID, at host: SimHost) {
    let key = OfHost(host: host.index, run: host.run, id: id)
    guard let decision = decisions[key] else {
      return violate(.decisionsEnd, "\(host.label) ends a decision that it never asked for")
    }
    if !decision.isOver { endpoints[decision.endpoint]?.everRefused.insert(decision.member) }
    decisions[key]?.isOver = true
  }

  func checkDecisions(_ world: World) {
    for key in decisionOrder {
      guard let decision = decisions[key], !decision.isOver else { continue }
      let host = world.hosts[key.host]
      guard host.isUp, host.run == key.run, host.local(now) > decision.endsBy else { continue }
      return violate(.decisionsEnd, "\(label(decision.endpoint)) still has to decide about \(label(decision.member))")
    }
  }

  // MARK: Codes

  func compared(_ local: PeerID, _ remote: PeerID, _ code: String) {
    if !code.isEmpty { codes.append(CodeRecord(local: local, remote: remote, code: code)) }
  }

  /// Both sides of a comparison never have different codes; one may have a code that the other never saw, if their link
  /// is lost in the middle.
  func checkCodes() {
    for code in codes {
      let answers = codes.filter { $0.local == code.remote && $0.remote == code.local }
      let lonely = answers.filter { answer in
        !codes.contains { $0.local == code.local && $0.remote == code.remote && $0.code == answer.code }
      }
      check(.codesAgree, lonely.isEmpty || answers.contains { $0.code == code.code }) {
        "\(label(code.local)) sees \(code.code) for \(label(code.remote)), which sees \(answers.map(\.code))"
      }
    }
  }
}
