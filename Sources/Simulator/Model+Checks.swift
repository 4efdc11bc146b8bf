import Engine
import Wire

/// Periodic checks, and those at the end.
enum Check {
  case pulse
}

extension World {
  func perform(_ check: Check) {
    model.pulse(self)
    events.push(.check(.pulse), at: now + 1_000_000_000)
  }
}

extension Model {
  func healed(_ world: World) {
    for place in silentSince.indices { silentSince[place] = .max }
    for place in disturbedUntil.indices where disturbedUntil[place] > now { disturbedUntil[place] = now }
  }

  func pulse(_ world: World) {
    checkInvitations(world)
    checkDecisions(world)
    checkAttempts()
    checkDeadAreLost()
    checkStreams()
    checkResources(world)
    checkMemory()
    checkClocks(world)
    checkCircuits(world)
    noteSilence(world)
    for here in order where here.isOpen && here.isWatched && isHostUp[here.ref.host] && !here.isGone {
      matches(here, world)
      for remote in here.pairOrder {
        guard let pair = here.pairs[remote], pair.state == .connected else { continue }
        checkLiveness(here, remote, pair)
        if let there = endpoints[remote] { checkAgreement(here, there, pair) }
      }
      if let since = here.tooManySince {
        check(.neverTooMany, now - since < 10_000_000_000) {
          "\(here.label) has more members than \(here.settings.peersMax)"
        }
      }
    }
  }

  private func matches(_ here: EndpointRecord, _ world: World) {
    guard here.mustMatch, let engine = world.hosts[here.ref.host].engine else { return }
    here.mustMatch = false
    let mine = members(of: here.id)
    let theirs = engine.members(of: here.id)
    let isSame = theirs.allSatisfy { view, state in
      guard let pair = here.pairs[view.endpoint] else { return false }
      return pair.state == (state == .connected ? .connected : .connecting) && pair.awaySince == view.awaySince
    }
    check(.membersMatchEvents, isSame && mine.count == theirs.count) {
      let told = mine.map { "\(label($0)) \(here.pairs[$0].map { "\($0.state)\(Self.words($0.awaySince))" } ?? "")" }
      let members = theirs.map { "\(label($0.endpoint)) \($1)\(Self.words($0.awaySince))" }
      return "\(here.label) was told \(told), and its members are \(members)"
    }
  }

  /// Both sides of a pair soon say the same of it, and a refusal ends it at once.
  private func checkAgreement(_ here: EndpointRecord, _ there: EndpointRecord, _ pair: PairRecord) {
    refuses(here, there, sinceAtLeast: 0)
    let other = there.pairs[here.id]
    guard other?.state != .connected, other?.state != .leaving, isStanding(here), isStanding(there) else { return }
    let settled = now - max(pair.since, other?.since ?? 0)
    guard settled > 8_000_000_000 + underWay, !wereDisturbed(here.ref.host, there.ref.host, within: 12_000),
      !isBehind(here, there), !isBehind(there, here)
    else { return }
    bothSay(here, there)
  }

  /// A host may have sent and fallen silent again between two checks.
  func heard(from: Int, to: Int) {
    silentSince[from * plan.hosts.count + to] = .max
    openSince[from * plan.hosts.count + to] = now
  }

  private func noteSilence(_ world: World) {
    let count = plan.hosts.count
    for from in 0..<count {
      for to in 0..<count where from != to {
        let isUp = world.mediumDownUntil.indices.contains { world.isUp(from: from, to: to, by: $0) }
        let isSilent = !isHostUp[from] && !isMalicious[from] || !isUp
        let place = from * count + to
        silentSince[place] = isSilent ? min(silentSince[place], now) : .max
        if isSilent { disturbed(from, to, until: now) }
      }
    }
  }

  private func checkLiveness(_ here: EndpointRecord, _ remote: EndpointID, _ pair: PairRecord) {
    guard let there = endpoints[remote] else { return }
    if let since = pair.suspendedAt {
      check(.suspensionEnds, now - since < suspensionMax + 3_000_000_000) {
        "\(here.label): \(there.label) has been suspended for \((now - since) / 1_000_000) ms"
      }
    }
    guard here.ref.host != there.ref.host else { return }
    if let dead = deadFor(there.ref.host, at: here.ref.host) {
      check(.silenceIsNoticed, min(dead, now - pair.since) < suspensionMax) {
        "\(here.label): \(there.label) is connected, and its host has been dead for \(dead / 1_000_000) ms"
      }
    }
    let silentSince = max(silentSince[there.ref.host * plan.hosts.count + here.ref.host], pair.since)
    if silentSince < .max {
      let quiet = now - silentSince
      check(.silenceIsNoticed, quiet < suspensionMax + 4_000_000_000) {
        "\(here.label): \(there.label) is connected, and has been silent for \(quiet / 1_000_000) ms"
      }
      check(.silenceIsNoticed, quiet < noticedMax + 2_000_000_000 || pair.suspendedAt != nil) {
        "\(here.label): \(there.label) is not suspended, and has been silent for \(quiet / 1_000_000) ms"
      }
    }
    let isQuiet =
      !wereDisturbed(here.ref.host, there.ref.host, within: 12_000)
      && there.underway[here.ref.host, default: 0] == 0
    if isQuiet, there.leftAt > pair.since, !there.isSeeking, now - there.leftAt > 8_000_000_000 {
      violate(.leavesAreReported, "\(here.label) has not been told that \(there.label) left")
    }
  }

  // MARK: The end

  /// After the healed world has had its time.
  func finish(_ world: World) {
    pulse(world)
    let standing = order.filter { isStanding($0) }
    for here in standing {
      for remote in here.pairOrder where here.pairs[remote]?.state == .connected {
        guard let there = endpoints[remote] else { continue }
        bothSay(here, there)
        checkDirectWays(here, there, world)
      }
    }
    meets(standing)
    checkDeliveryStatuses()
    checkUnreliable()
    finishStreams()
    finishResources()
    checkFound(world)
    checkAwayPeers(world, standing)
    checkClocksAgree(world, standing)
    checkCodes()
    checkConflicts(world)
    for here in standing where refusedSends[here.id] != nil && here.leaves == 0 {
      violate(.writableIsReported, "\(here.label) was refused a send and never told that it can send again")
    }
  }

  private func isStanding(_ record: EndpointRecord) -> Bool {
    record.isOpen && record.isWatched && !record.isGone && isHostUp[record.ref.host]
      && voidUntil[record.ref.host] < .max
  }

  private func bothSay(_ here: EndpointRecord, _ there: EndpointRecord) {
    guard voidUntil[there.ref.host] < .max, there.isWatched else { return }
    let isMutual = isStanding(there) && there.pairs[here.id]?.state == .connected
    check(.bothOrNeither, isMutual) {
      "\(here.label) is connected with \(there.label), which says \(there.pairs[here.id].map { "\($0.state)" } ?? "nothing")"
    }
  }

  /// Everybody who is joined, through whomever, is connected with everybody, unless one of the two may not.
  private func meets(_ standing: [EndpointRecord]) {
    var component: [EndpointID: Int] = [:]
    for (number, start) in standing.enumerated() where component[start.id] == nil {
      var reached = [start]
      component[start.id] = number
      var next = 0
      while next < reached.count {
        let here = reached[next]
        next += 1
        for there in standing where component[there.id] == nil && areJoined(here, there) {
          component[there.id] = number
          reached.append(there)
        }
      }
      for (place, here) in reached.enumerated() {
        for there in reached[(place + 1)...] where here.pairs[there.id]?.state != .connected && !mayBeApart(here, there)
        {
          violate(
            .everybodyMeets,
            "\(here.label) and \(there.label) are in one session and not connected: "
              + "\(here.pairs[there.id].map { "\($0.state)" } ?? "never met")")
        }
      }
    }
  }

  private func areJoined(_ a: EndpointRecord, _ b: EndpointRecord) -> Bool {
    a.pairs[b.id]?.state == .connected || a.joinedWith.contains(b.id) && b.joinedWith.contains(a.id)
      || a.adhoc != nil && a.adhoc == b.adhoc && a.peer != b.peer && !hasRefused(a, b) && !hasRefused(b, a)
  }

  private func hasRefused(_ guest: EndpointRecord, _ inviter: EndpointRecord) -> Bool {
    answers[Refusing(guest: guest.peer, inviter: inviter.id)]?.mayStand ?? false
  }

  private func mayBeApart(_ a: EndpointRecord, _ b: EndpointRecord) -> Bool {
    switch (a.settings.encryption, b.settings.encryption) {
    case (.none, .required), (.required, .none): return true
    default: break
    }
    if haveRefused(a, b) { return true }
    for (here, there) in [(a, b), (b, a)] {
      if here.everBlocked.contains(there.peer) || here.everLocked { return true }
      if here.pairOrder.filter({ here.pairs[$0]?.state == .connected }).count + 1 >= Int(here.settings.peersMax) {
        return true
      }
      if case .ask = here.settings.trust, here.decided[there.id] != true { return true }
      if here.settings.rejoinMax < .seconds(300), here.pairs[there.id]?.wasConnected ?? false { return true }
    }
    return false
  }

  private func checkDeliveryStatuses() {
    for (number, message) in messages.enumerated() where message.sending.mode == .reliable && !message.isForgotten {
      guard let sender = endpoints[message.from], isStanding(sender), !isVoid(message, at: message.host) else {
        continue
      }
      for (place, recipient) in message.to.enumerated() {
        guard let there = endpoints[recipient], !isVoid(message, at: there.ref.host) else { continue }
        let isKnown = message.statuses[place] != nil
        check(
          .everySendHasADeliveryStatus,
          message.receivedIn[place] != 0 || isKnown && message.statuses[place] != .delivered
        ) {
          "#\(number) of \(sender.label) for \(there.label) was neither received nor told \(message.wasForgotten[place] ? "after a crash" : "")"
        }
        check(.everySendHasADeliveryStatus, isKnown || !message.sending.receipt) {
          "\(sender.label) asked for a receipt of #\(number) by \(there.label) and got none"
        }
      }
    }
  }

  /// A host that has had links with both reports the conflict to the two.
  private func checkConflicts(_ world: World) {
    func linked(with host: Int) -> Set<Int> {
      var others: Set<Int> = []
      for link in world.links where link.ends.allSatisfy(\.wasOpen) {
        for side in 0...1 where link.ends[side].host == host { others.insert(link.ends[1 - side].host) }
      }
      return others
    }
    for (index, host) in plan.hosts.enumerated() {
      guard let twin = host.twinOf, !linked(with: twin).isDisjoint(with: linked(with: index)) else { continue }
      check(.conflictIsReported, conflicts.contains(twin)) {
        "h\(twin) was not told that its key is in use on h\(index)"
      }
    }
  }
}
