internal import Nearby

/// The list of nearby peers: the state of each, invitations, and whether there are enough.
extension SessionCommand {
  /// The redraw interval of the list.
  private static let drawingInterval: Duration = .milliseconds(200)
  /// Limit for rows; more would fill the window.
  private static let rowsMax = 8
  /// The time within which a new search finds all peers.
  private static let searchTimeout: Duration = .seconds(3)

  /// Begins a search for peers, unless there is one.
  func startBrowsing() async throws {
    if browser != nil { return }
    let fresh = try await commandHost.peer.browse(type, until: policy.until)
    browser = fresh
    follow(fresh)
    tasks.add { [type] in await Conditions.report(fresh.states, of: .browser, type) { await self.report($0) } }
  }

  /// Peers that are nearby or in the session, by name.
  var list: [NearbyPeer] {
    let members = Dictionary(session.members.map { ($0.peer, $0) }, uniquingKeysWith: { first, _ in first })
    return Set(nearby.keys).union(members.keys).map { id in
      NearbyPeer(
        id: id, name: nearby[id]?.name ?? members[id]?.name ?? "", label: labels.label(id),
        info: nearby[id]?.info ?? [:],
        state: members[id] == nil ? peerStates[id] ?? .nearby : .connected,
        awaySince: members[id].map(\.awaySince) ?? nearby[id]?.awaySince)
    }.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }

  /// The number of peers in the session, including this one.
  private var peersIn: Int { Set(session.members.map(\.peer)).count + 1 }

  func showList(_ filter: NearbyFilter) async throws {
    try await startBrowsing()
    let peers = list.filter { filter.shows(name: $0.name, info: $0.info) }
    await report(.nearby(peers, gathering, peersIn: peersIn))
  }

  func setState(of peer: PeerID, _ state: MemberState) async {
    switch state {
    case .connecting: peerStates[peer] = .connecting
    case .connected: peerStates[peer] = .connected
    case .notConnected(.declined): peerStates[peer] = .declined
    case .notConnected(let reason): peerStates[peer] = .notConnected(reason)
    }
    guard let gathering, gathering.isEnough(peersIn) != isEnough else { return }
    isEnough.toggle()
    await report(.enough(gathering, peersIn: peersIn))
  }

  // MARK: Inviting

  /// Invites a peer and returns when the invitation is sent; its outcome is reported as an event.
  func invite(_ word: String) async throws {
    try await startBrowsing()
    let names = Dictionary(list.map { ($0.id, $0.name) }, uniquingKeysWith: { first, _ in first })
    switch PeerChoice(word, among: names) {
    case .one(let id): try invite(id)
    case .several(let ids): throw Failure(.notFound, ambiguous(word, ids))
    case .none:
      // A new search may not have found the peer yet.
      tasks.add {
        do {
          let peer = try await self.find(word, within: Self.searchTimeout)
          try await self.invite(peer.id)
        } catch {
          await self.report(.error(Failure(wrapping: error)))
        }
      }
    }
  }

  private func invite(_ id: PeerID) throws {
    let label = labels.label(id)
    if session.members.contains(where: { $0.peer == id }) { throw Failure(.failed, "\(label) is connected already.") }
    switch peerStates[id] {
    case .invited?, .connecting?: throw Failure(.failed, "\(label) is asked already, and has not answered yet.")
    case nil, .nearby?, .connected?, .declined?, .notConnected?: break
    }
    guard let peer = nearby[id] else { throw Failure(.notFound, "\(label) is not nearby any more.") }
    let awaited = peerStates.values.filter { $0 == .invited || $0 == .connecting }.count
    if let gathering, peersIn + awaited >= gathering.peersMax {
      throw Failure(
        .refused, "There is no place for \(label): \(gathering.countText(peersIn)) are in, \(awaited) more are asked.")
    }
    peerStates[id] = .invited
    tasks.add { await self.ask(peer, label) }
  }

  private func ask(_ peer: FoundPeer, _ label: String) async {
    await report(.inviting(peer, label))
    let words = Array((context.invocation.text("context") ?? "").utf8)
    let time = gathering == nil ? nil : context.invocation.duration("timeout")
    do {
      try await session.invite(peer.id, as: type, context: words, timeout: time ?? InviteCommand.defaultTimeout)
    } catch {
      if commandHost.isEnding { return }
      let reason = error.reason ?? .cancelled
      peerStates[peer.id] = reason == .declined ? .declined : .notConnected(reason)
      await report(.invitationEnded(nil, peer.id, peer.name, label, reason))
      if error.reason == nil { await report(.error(Failure(error))) }
    }
  }

  // MARK: Drawing the list

  func gather(_ gathering: Gathering) async throws {
    try await startBrowsing()
    if context.printer.isJSON || context.printer.isQuiet { return }
    guard context.terminal.canDraw else { return await explain(introduction(gathering)) }
    tasks.add {
      var turn = 0
      while await self.draw(turn) {
        await self.context.eventThread.wait(for: Self.drawingInterval)
        turn += 1
      }
    }
  }

  private func introduction(_ gathering: Gathering) -> String {
    "looking for peers of '\(type)': /nearby lists them, /invite NAME asks one; with \(gathering.peersMin) to "
      + "\(gathering.peersMax) peers /done, else /cancel"
  }

  /// Draws the list as it is now; false once it is done.
  private func draw(_ turn: Int) async -> Bool {
    guard let gathering, !commandHost.isEnding, !Task.isCancelled else {
      await context.screen.panel([])
      return false
    }
    let peers = list
    let signs = context.terminal.isUnicode ? ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇"] : ["|", "/", "-", "\\"]
    let end = isEnough ? "/invite NAME, /done or /cancel" : "/invite NAME or /cancel"
    let columns = context.terminal.columns(.error) - 1
    var lines = Event.rows(Array(peers.prefix(Self.rowsMax)), context.terminal.paint(.error), columns: columns)
    if peers.count > Self.rowsMax { lines.append("  and \(peers.count - Self.rowsMax) more: /nearby") }
    let state = "\(signs[turn % signs.count]) looking for peers; \(gathering.countText(peersIn)) are in: \(end)"
    lines.append(state.fitted(to: columns))
    await context.screen.panel(lines)
    return true
  }

  func finishGathering() async throws {
    guard let gathering else {
      throw Failure(.failed, "Nothing is put together here; 'vicinity gather TYPE' begins with a list.")
    }
    guard gathering.isEnough(peersIn) else {
      throw Failure(
        .failed, "Only \(gathering.countText(peersIn)) are in: /invite NAME asks one more, /cancel gives up.")
    }
    self.gathering = nil
    await context.screen.panel([])
    await browser?.stop()
    browser = nil
    nearby = [:]
    await report(.gathered(session.members.map { ($0, label($0)) }))
  }

  /// Ends the session, with a goodbye to all members; nothing was gathered.
  func cancelGathering() async {
    await report(Event("cancelled", .news) { _ in ["given up: nobody is kept"] })
    commandHost.end(.failed)
  }
}
