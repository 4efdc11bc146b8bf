internal import Engine
internal import Wire

/// Handles the engine's outputs: events go to the programs' mailboxes.
extension HostDriver {
  func handle(_ output: Output) {
    switch output {
    case .found(let by, let type, let peer, let name, let info, let since):
      report(.found(FoundPeer(peer, name, info, awaySince: clock(since))), by, type)
    case .updated(let by, let type, let peer, let name, let info, let since):
      report(.updated(FoundPeer(peer, name, info, awaySince: clock(since))), by, type)
    case .lost(let by, let type, let peer):
      if let found = interests[Interest(peer: by, type: type)]?.found[peer] { report(.lost(found), by, type) }
    case .types(let types):
      if typeBrowsers.isEmpty { break }
      typesInUse = types.map(\.text)
      for browser in typeBrowsers.values { browser.put(latest: typesInUse) }
    case .invitation(let id, let from, let name, let to, let type, let context, let expires):
      let invitation = Invitation(
        id, from: from, name: name.text, type: type.text, context: context, timeLeft: expires - Self.now, loop)
      invited(invitation, to, type)
    case .invitationEnded(let id, let reason):
      ended(id, reason)
    case .inviteeNotConnected(let view, let reason, let local):
      if let port = sessions[local] { report(.notConnected(Invitee(view), reason), port) }
    case .members(let views, let state, let locals):
      update(views, state, ports(of: locals))
    case .suspended(let views, let isSuspended, let locals):
      let ports = ports(of: locals)
      for view in views { report(.suspended(member(view), isSuspended), ports) }
    case .away(let view, let locals):
      let member = member(view)
      members.update(member)
      report(.away(member), ports(of: locals))
    case .message(let from, let locals, let mode, let contentType, let payload):
      guard let member = members.known([from]).first else { return }
      let message = Message(from: member, mode: mode, contentType: contentType?.text, bytes: payload.bytes)
      hostExtension?.observer.heard(message, in: locals.all)
      var ports = ports(of: locals)
      // Late is worse than never: only reliable messages queue for a program that is behind.
      if mode == .unreliable { ports.removeAll { $0.isObserved || $0.state.mailbox.isHigh } }
      report(.message(message), ports, weight: message.bytes.count + SessionState.overhead)
    case .deliveryStatus(let id, let from, let to, let status):
      hostExtension?.observer.settled(id.rawValue, for: to, status, in: from)
      if inquiries[id] != nil {
        if status == .delivered, to.contains(where: { sessions[$0] != nil }) {
          afterCommit { [self] in inform(id, of: to, status, from) }
        } else {
          inform(id, of: to, status, from)
        }
      }
      guard status != .delivered, let port = sessions[from] else { return }
      let members = self.members.known(to)
      if !members.isEmpty { report(.undelivered(to: members, status), port) }
    case .writable(let local):
      writable(local)
    case .clockStepped(let step, let locals):
      report(.clockStepped(by: step), ports(of: locals))
    case .streamOpened(let id, let name, let from, let to):
      opened(id, name, from, to)
    case .streamed(let id, let payload):
      readers[id]?.mailbox.put(payload.bytes)
    case .streamWritable(let id):
      writers[id]?.writable()
    case .streamEnded(let id, let reason):
      ended(id, reason)
    case .resource(let id, let view):
      if restoredFiles == nil { offered(id, view) } else { resume(id, view) }
    case .read(let id, let offset, let count):
      read(id, from: offset, count)
    case .store(let id, let offset, let payload, let digest):
      store(id, at: offset, payload, digest)
    case .rehash(let id, let offset, let count):
      rehash(id, from: offset, count)
    case .keep(let id):
      keep(id)
    case .progress(let id, let progress):
      transfers[id]?.state.progress.put(latest: progress)
    case .resourceEnded(let id, let reason):
      ended(id, reason)
    case .decision(let id, let view, let local, _):
      guard let port = sessions[local] else { return }
      members.update(member(view))
      let decision = TrustDecision(id, member(view), loop)
      decisions[id] = decision
      report(.decision(decision), port)
    case .decisionEnded(let id):
      decisions.removeValue(forKey: id)?.outcome.settle(())
    case .comparison(let id, let local, let remote, let code):
      compared(id, local, remote, code)
    case .comparisonEnded(let id, let reason):
      let own = ownComparisons.removeValue(forKey: id)
      if let comparison = comparisons.removeValue(forKey: id) {
        comparison.outcome.settle(reason)
      } else if let own, let port = sessions[own.session] {
        report(.comparisonFailed(with: own.peer, number: id.rawValue, reason), port)
      }
    case .conflict(let host):
      report(.conflict(host))
    case .mediumChanged(_, _, let reports):
      for one in reports {
        let ports = ports(of: one.locals)
        for view in one.members {
          let member = member(view)
          members.update(member)
          report(.mediumChanged(member), ports)
        }
      }
    case .publish, .withdraw, .publishRoster, .withdrawRoster, .browse, .stopBrowsing, .probe, .dial, .dialAlso,
      .wantsToSend, .datagram, .close, .persist, .publishRelay, .withdrawRelay, .circuitOpened, .circuitBytes,
      .circuitWritable, .circuitEnded:
      preconditionFailure("the network or the store has left undone \(output)")
    }
  }

  /// Converts a moment of the engine's clock to the program's: for one moment always the same.
  private func clock(_ moment: Instant?) -> ContinuousClock.Instant? { moment.map { clock($0) } }

  func clock(_ moment: Instant) -> ContinuousClock.Instant { begun.outside + (moment - begun.inside) }

  private func member(_ view: MemberView) -> Member {
    Member(view, awaySince: clock(view.awaySince), medium: mediumName(of: view.host))
  }

  private func report(_ event: BrowserEvent, _ peer: PeerID, _ type: ServiceType) {
    interests[Interest(peer: peer, type: type)]?.report(event)
  }

  private func invited(_ invitation: Invitation, _ peer: PeerID, _ type: ServiceType) {
    invitations[invitation.id] = invitation.outcome
    // An invitation that nobody reads, or for which the queue has no room, ends by its timeout.
    advertised[Interest(peer: peer, type: type)]?.invitations.put(invitation)
  }

  private func ended(_ id: InvitationID, _ reason: Reason) {
    invitations.removeValue(forKey: id)?.settle(reason)
    guard let joining = joinings.removeValue(forKey: id) else { return }
    // The pair's state is the next output, before which nobody may wait for it.
    if reason == .none, let port = sessions[joining.session] {
      port.state.expect(joining.peer, joining.meeting)
    } else {
      joining.meeting.settle(reason == .none ? .left : reason)
    }
  }

  private func ports(of locals: Locals) -> [SessionPort] { locals.all.compactMap { sessions[$0] } }

  private func update(_ views: [MemberView], _ state: PairState, _ ports: [SessionPort]) {
    if ports.isEmpty { return }
    let members = views.map(member)
    switch state {
    case .connecting:
      add(members, ports)
      report(members, .connecting, ports)
    case .connected:
      let numbers = add(members, ports)
      for port in ports { port.state.connect(numbers, members) }
      report(members, .connected, ports)
    case .notConnected(let reason):
      for member in members { remove(member, reason, ports) }
      return report(members, .notConnected(reason), ports)
    }
    for port in ports where !port.pendingEvents.isEmpty {
      for member in members { deliverPending(of: member, port) }
    }
    if case .connected = state { endAutomatically(connectedIn: ports) }
  }

  @discardableResult
  private func add(_ added: [Member], _ ports: [SessionPort]) -> SlotSet {
    members.add(added) { number in ports.count { $0.insert(number) } }
  }

  private func remove(_ member: Member, _ reason: Reason, _ ports: [SessionPort]) {
    let number = members.number(of: member.id)
    for port in ports { port.state.disconnect(number, member, reason) }
    if let number { members.release(number, times: ports.count { $0.remove(number) }) }
  }

  private func opened(_ id: StreamID, _ name: String, _ from: EndpointID, _ to: EndpointID) {
    guard let port = sessions[to], let member = port.member(from) else { return }
    let state = StreamState(id)
    readers[id] = state
    report(.stream(StreamReader(state, name: name, from: member, loop)), port)
  }

  private func compared(_ id: ComparisonID, _ local: PeerID, _ remote: PeerID, _ code: String) {
    let own = ownComparisons[id]
    let port =
      own.map { sessions[$0.session] }
      ?? sessions.values.first { port in
        port.state.peer == local && port.member(of: remote) != nil
      }
    guard let port, let member = port.member(of: remote) else { return }
    let comparison = Comparison(id, isOwn: own != nil, with: member, code: code, loop)
    comparisons[id] = comparison
    report(.comparison(comparison), port)
  }
}

extension FoundPeer {
  fileprivate init(
    _ id: PeerID, _ name: DisplayName, _ info: DiscoveryInfo, awaySince: ContinuousClock.Instant?
  ) {
    self.init(
      id: id, name: name.text,
      info: Dictionary(info.pairs.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first }),
      awaySince: awaySince)
  }
}
