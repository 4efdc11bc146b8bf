internal import Nearby

/// Discovery of peers, and lookup of a peer by a word.
extension SessionCommand {
  /// The time in which another peer of the same name should be found as well.
  private static let settling: Duration = .milliseconds(500)

  /// Reports peers that come and go, from now on.
  func follow(_ browser: Browser) {
    tasks.add {
      for await event in browser.events { await self.take(event) }
      await self.ended(browser)
    }
  }

  /// Handles the planned end of a search: the next request for the list begins another one.
  private func ended(_ ended: Browser) {
    guard policy.until != .stopped, browser === ended else { return }
    browser = nil
    nearby = [:]
  }

  private func take(_ happened: BrowserEvent) async {
    var event: Event
    switch happened {
    case .found(let peer) where !shows(peer): return
    case .updated(let peer) where !shows(peer):
      // Its new discovery info does not match the filter.
      guard nearby.removeValue(forKey: peer.id) != nil else { return }
      event = .lost(peer, labels.label(peer.id))
    case .updated(let peer) where nearby[peer.id] == nil:
      nearby[peer.id] = peer
      labels.add(peer.id, peer.name)
      event = .found(peer, labels.label(peer.id))
    case .found(let peer):
      nearby[peer.id] = peer
      labels.add(peer.id, peer.name)
      event = .found(peer, labels.label(peer.id))
    case .updated(let peer):
      let known = nearby.updateValue(peer, forKey: peer.id)
      labels.add(peer.id, peer.name)
      if known?.awaySince == peer.awaySince {
        event = .updated(peer, labels.label(peer.id))
      } else if session.members.contains(where: { $0.peer == peer.id }) {
        // The session reports that.
        return changes.notify()
      } else {
        event = .away(peer, labels.label(peer.id))
      }
    case .lost(let peer):
      guard nearby.removeValue(forKey: peer.id) != nil else { return }
      event = .lost(peer, labels.label(peer.id))
      // A peer that comes back is treated as new.
      switch peerStates[peer.id] {
      case .declined?, .notConnected?: peerStates[peer.id] = nil
      case nil, .nearby?, .invited?, .connecting?, .connected?: break
      }
    }
    if policy.reportsPeers { event.weight = .result }
    await report(event)
    changes.notify()
  }

  private func shows(_ peer: FoundPeer) -> Bool { policy.shows.shows(name: peer.name, info: peer.info) }

  /// Waits until the word matches one nearby peer.
  func find(_ word: String, within time: Duration) async throws -> FoundPeer {
    let clock = ContinuousClock()
    let deadline = clock.now + time
    wake(after: time)
    var settled: ContinuousClock.Instant?
    while true {
      let seen = changes.count
      let isLast = clock.now >= deadline
      switch PeerChoice(word, among: nearby.mapValues(\.name)) {
      case .one(let id):
        guard let peer = nearby[id] else { break }
        // A whole ID matches no other peer.
        if isLast || id.text == word { return peer }
        if let settled, clock.now >= settled { return peer }
        if settled == nil {
          settled = clock.now + Self.settling
          wake(after: Self.settling)
        }
      case .several(let ids):
        throw Failure(.failed, ambiguous(word, ids))
      case .none:
        settled = nil
        if isLast { throw Failure(.notFound, nobody(word, within: time), reason: "timedOut") }
      }
      guard await changes.wait(since: seen) else { throw Failure(.interrupted, "The search was interrupted.") }
    }
  }

  private func wake(after time: Duration) {
    tasks.add { [context, changes] in
      await context.eventThread.wait(for: time)
      changes.notify()
    }
  }

  private func nobody(_ word: String, within time: Duration) -> String {
    let others = nearby.values.map(\.name).sorted().prefix(8).map(PlainText.line).joined(separator: ", ")
    let seen = others.isEmpty ? "Nobody else is there for it either" : "There are: \(others)"
    return "Nobody called '\(PlainText.brief(word))' was found for '\(type)' within \(Quantity.limit(time)). \(seen); "
      + "'vicinity doctor' finds out why peers do not see each other."
  }

  /// Invites a peer and returns once the two are connected.
  func connect(with word: String, within time: Duration) async throws -> Member {
    try await startBrowsing()
    let start = ContinuousClock.now
    let peer = try await find(word, within: time)
    await report(.inviting(peer, labels.label(peer.id)))
    let words = Array((context.invocation.text("context") ?? "").utf8)
    // The timeout is the rest of the time, and at least long enough for an answer.
    let left = max(.seconds(1), time - (ContinuousClock.now - start))
    do {
      try await session.invite(peer.id, as: type, context: words, timeout: left)
    } catch {
      await report(.invitationEnded(nil, peer.id, peer.name, labels.label(peer.id), error.reason ?? .cancelled))
      throw Failure(invitation: error, of: labels.label(peer.id))
    }
    return try await connected(peer)
  }

  /// Waits until the end of a member's connection is reported, for a moment at most.
  func settle(_ member: Member) async {
    let clock = ContinuousClock()
    let deadline = clock.now + Self.settling
    wake(after: Self.settling)
    while clock.now < deadline {
      let seen = changes.count
      if case .notConnected = memberStates[member.peer] { return }
      if await !changes.wait(since: seen) { return }
    }
  }

  /// The session has reported the member, or is about to.
  private func connected(_ peer: FoundPeer) async throws -> Member {
    while true {
      let seen = changes.count
      if let member = session.members.first(where: { $0.peer == peer.id }) { return member }
      if case .notConnected(let reason) = memberStates[peer.id] {
        throw Failure(ExitCode(reason), "\(PlainText.line(peer.name)) is not connected: \(reason.sentence).")
      }
      guard await changes.wait(since: seen) else { throw Failure(.interrupted, "The invitation was interrupted.") }
    }
  }
}

extension Failure {
  fileprivate init(invitation error: NearbyError, of label: String) {
    guard let reason = error.reason else {
      self.init(error)
      return
    }
    self.init(
      ExitCode(reason), "\(label) is not connected: \(reason.sentence)\(reason.cure).", reason: reason.description)
  }
}

extension Reason {
  /// The remedy, where something can be done on this side.
  fileprivate var cure: String {
    switch self {
    case .timedOut: "; ask it to answer, or wait longer with --timeout"
    case .encryption: "; the two disagree about --encryption"
    case .full: "; its session takes no more peers (--peers-max)"
    case .unreachable: "; 'vicinity doctor' looks for the cause"
    default: ""
    }
  }
}
