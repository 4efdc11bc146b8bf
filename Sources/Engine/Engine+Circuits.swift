public import Wire

/// Circuits: pipes of bytes between two hosts through a third, with credit for each part of the way.
///
/// Invariants: a circuit belongs to the links that it goes over, and ends with any of them. No more is held for it than
/// was granted. Frames of a circuit that is not there are ignored, since it may have ended meanwhile.
extension Engine {
  // MARK: The medium at an end

  /// Opens a circuit to a host through a relay; answered by `circuitOpened` or `circuitEnded`. Nil where there is no link
  /// to the relay.
  public func openCircuit(to host: HostID, through relay: HostID, at now: Instant) -> CircuitID? {
    beginMutation(now)
    defer { finishMutation() }
    guard relay != hostID, host != hostID, let link = hosts[relay].flatMap(openLink), isWay(link),
      circuits(of: link).legs.count < Self.legsMax
    else { return nil }
    let id = CircuitID(rawValue: number())
    let leg = openLeg(over: link, to: host, from: hostID, far: .medium(id), within: Self.answerTimeMax)
    leg.target = host
    circuits.ends[id] = leg
    return id
  }

  /// Takes as many of the bytes as there is room for, and says how many; `circuitWritable` says when there is room again.
  public func write(_ bytes: RawSpan, to circuit: CircuitID, at now: Instant) -> Int {
    beginMutation(now)
    defer { finishMutation() }
    guard let leg = circuits.ends[circuit], leg.isOpen else { return bytes.byteCount }
    let count = min(bytes.byteCount, leg.room)
    if count < bytes.byteCount { leg.isMediumWaiting = true }
    guard count > 0 else { return 0 }
    leg.queue.append(bytes.extracting(first: count))
    addTurn(leg)
    return count
  }

  /// The medium has taken so many of the bytes that came.
  public func consumed(_ bytes: Int, of circuit: CircuitID, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    if let leg = circuits.ends[circuit] { passOn(bytes, from: leg) }
  }

  /// Ends a circuit; bytes that were written go out before. Nothing is reported of it any more.
  public func endCircuit(_ circuit: CircuitID, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let leg = circuits.ends.removeValue(forKey: circuit) else { return }
    leg.far = .none
    noteFailure(of: leg)
    end(leg, .none)
  }

  /// A link goes over the circuit; returns its relay.
  func takeIntoUse(_ circuit: CircuitID) -> HostID? {
    guard let leg = circuits.ends[circuit] else { return nil }
    leg.target = nil
    return leg.link.host.id
  }

  /// A circuit over which no link came about speaks against its relay.
  private func noteFailure(of leg: CircuitLeg) {
    guard let target = leg.target else { return }
    leg.target = nil
    hosts[target]?.failed(through: leg.link.host.id)
  }

  // MARK: Legs

  func circuits(of link: Link) -> LinkCircuits {
    if let circuits = link.circuits { return circuits }
    let circuits = LinkCircuits(isDialed: link.isDialed)
    link.circuits = circuits
    return circuits
  }

  /// Legs on one link, whoever opened them.
  static let legsMax = 256
  /// The time until the answer of the far end, which may have to be dialled first.
  static let answerTimeMax: Duration = .seconds(6)

  func openLeg(
    over link: Link, to host: HostID, from source: HostID, far: CircuitLeg.Far, within time: Duration
  ) -> CircuitLeg {
    let circuits = circuits(of: link)
    let leg = CircuitLeg(
      on: link, number: circuits.nextNumber(), from: source, isOpenedHere: true, far: far, due: now + time)
    circuits.add(leg)
    expectAnswer(of: leg)
    send(CircuitOpen(circuit: leg.number, to: host), on: link)
    return leg
  }

  func expectAnswer(of leg: CircuitLeg) {
    guard let due = leg.due else { return }
    circuits.pending.append(leg)
    timers.set(.circuits, due)
  }

  private func addTurn(_ leg: CircuitLeg) {
    guard leg.canSend else { return }
    circuits(of: leg.link).addTurn(leg)
    wake(leg.link)
  }

  private func passOn(_ bytes: Int, from leg: CircuitLeg) {
    guard let grant = leg.passOn(bytes), leg.end == nil else { return }
    send(CircuitGrant(circuit: leg.number, bytes: grant), on: leg.link)
  }

  /// Ends a leg towards its link: at once, or behind what is queued.
  func end(_ leg: CircuitLeg, _ reason: Reason) {
    guard leg.end == nil else { return }
    leg.end = reason
    if leg.queue.count == 0 || !leg.isOpen { sendEnd(of: leg) }
  }

  private func sendEnd(of leg: CircuitLeg) {
    remove(leg)
    send(CircuitEnd(circuit: leg.number, reason: leg.end ?? .none), on: leg.link)
  }

  private func remove(_ leg: CircuitLeg) {
    leg.link.circuits?.remove(leg)
    if !leg.isOpen { circuits.pending.removeAll { $0 === leg } }
    leg.queue.removeAll()
  }

  /// A leg has ended from its link's side, or with its link: the far side of it ends as well.
  private func ended(_ leg: CircuitLeg, _ reason: Reason) {
    remove(leg)
    let far = leg.far
    leg.far = .none
    switch far {
    case .leg(let other):
      if reason == .lost, leg.isOpenedHere, !leg.isOpen { return reconnect(other, after: leg.link) }
      circuits.relayedCount -= 1
      other.far = .none
      if reason == .lost { other.queue.removeAll() }
      end(other, reason)
    case .medium(let id):
      circuits.ends[id] = nil
      noteFailure(of: leg)
      emit(.circuitEnded(id, reason))
    case .awaited: circuits.relayedCount -= 1
    case .none: break
    }
  }

  /// The link is gone or about to go: so are its circuits.
  func endCircuits(of link: Link) {
    guard let circuits = link.circuits else { return }
    for leg in circuits.legs.values { ended(leg, .lost) }
    link.circuits = nil
  }

  /// Refuses circuits that were not answered in time.
  func handleCircuitTimer() {
    for leg in circuits.pending {
      guard let due = leg.due, due <= now, leg.link.circuits?.legs[leg.number] === leg else { continue }
      refuse(leg, .unreachable)
    }
    if let next = circuits.pending.compactMap(\.due).min() { timers.set(.circuits, next) }
    expireHearsay()
    wakeLinksWithCircuits()
  }

  /// Ends a circuit in both directions, at once.
  func refuse(_ leg: CircuitLeg, _ reason: Reason) {
    ended(leg, reason)
    leg.end = reason
    if !leg.link.isClosing { send(CircuitEnd(circuit: leg.number, reason: reason), on: leg.link) }
  }

  // MARK: Frames

  func handle(_ open: CircuitOpen, from link: Link) throws(ProtocolViolation) {
    // The side that dialled has the odd numbers.
    guard open.circuit.isMultiple(of: 2) == link.isDialed, link.circuits?.legs[open.circuit] == nil else {
      throw ProtocolViolation(.protocolViolation, "a circuit with the number \(open.circuit), which is taken")
    }
    guard relayMedium != nil, !link.profile.isRelayed else {
      return send(CircuitEnd(circuit: open.circuit, reason: .declined), on: link)
    }
    guard circuits(of: link).legs.count < Self.legsMax else {
      return send(CircuitEnd(circuit: open.circuit, reason: .busy), on: link)
    }
    // It is about to close.
    if link.isRetired { return send(CircuitEnd(circuit: open.circuit, reason: .lost), on: link) }
    guard open.to == hostID else { return relay(open, from: link) }
    // Members alone lead others here, unless strangers are asked to.
    guard looksForRelays || link.gate.isOpen else {
      return send(CircuitEnd(circuit: open.circuit, reason: .declined), on: link)
    }
    let id = CircuitID(rawValue: number())
    let leg = CircuitLeg(on: link, number: open.circuit, from: hostID, isOpenedHere: false, far: .medium(id))
    circuits(of: link).add(leg)
    circuits.ends[id] = leg
    leg.isOpen = true
    send(CircuitAccept(circuit: leg.number), on: link)
    emit(.circuitOpened(id, isDialed: false))
  }

  func handle(_ accept: CircuitAccept, from link: Link) throws(ProtocolViolation) {
    guard let leg = link.circuits?.legs[accept.circuit] else { return }
    guard leg.isOpenedHere, !leg.isOpen else {
      throw ProtocolViolation(.protocolViolation, "an acceptance of circuit \(leg.number), which was not asked for")
    }
    leg.isOpen = true
    if case .leg(let other) = leg.far { other.isOpen = true }
    circuits.pending.removeAll(where: \.isOpen)
    switch leg.far {
    case .leg(let other):
      send(CircuitAccept(circuit: other.number), on: other.link)
    case .medium(let id): emit(.circuitOpened(id, isDialed: true))
    case .awaited, .none: break
    }
  }

  func handle(_ end: CircuitEnd, from link: Link) {
    if let leg = link.circuits?.legs[end.circuit] { ended(leg, end.reason) }
  }

  func handle(_ grant: CircuitGrant, from link: Link) throws(ProtocolViolation) {
    guard let leg = link.circuits?.legs[grant.circuit] else { return }
    leg.credit += Int(grant.bytes)
    guard leg.credit <= Limits.circuitWindowBytes else {
      throw ProtocolViolation(.protocolViolation, "a grant for circuit \(leg.number) of more than was sent")
    }
    addTurn(leg)
  }

  func handle(circuitData body: RawSpan, from link: Link) throws(ProtocolViolation) {
    let view: CircuitDataView
    do throws(WireError) { view = try CircuitDataView(decoding: body) } catch {
      throw ProtocolViolation(.protocolViolation, "circuitData: \(error)")
    }
    guard let leg = link.circuits?.legs[view.circuit], leg.end == nil else { return }
    let count = view.payload.byteCount
    guard leg.isOpen, leg.take(count) || sabotage.contains(.ignoresCircuitCredit) else {
      throw ProtocolViolation(.protocolViolation, "\(count) bytes of circuit \(leg.number) without credit")
    }
    switch leg.far {
    case .leg(let other):
      other.queue.append(view.payload)
      addTurn(other)
    case .medium(let id): emit(.circuitBytes(id, payload(view.payload, of: link)))
    case .awaited, .none: break
    }
  }

  // MARK: Bytes out

  /// Moves bytes of circuits, a frame for each turn.
  func fillCircuits(_ out: inout OutputRawSpan, for link: Link, _ circuits: LinkCircuits) {
    while link.rest.count == 0, out.freeCapacity > 0, circuits.hasUnsent, fillCircuit(&out, for: link, circuits) {}
  }

  /// One frame of the circuit whose turn it is. False where the rate allows none now.
  func fillCircuit(_ out: inout OutputRawSpan, for link: Link, _ circuits: LinkCircuits) -> Bool {
    guard let leg = circuits.first(where: mayPass) else { return false }
    var count = min(leg.queue.count, leg.credit, Limits.circuitDataBytes, link.profile.chunkBytesMax)
    if rate(of: leg) != nil {
      count = min(count, self.circuits.share(of: leg.source))
      self.circuits.spend(count, of: leg.source)
    }
    // A small rest of the room would make small frames.
    let room = out.freeCapacity - Self.circuitHeadBytesMax
    if room >= min(count, Self.circuitPieceBytes) {
      count = min(count, room)
      write(leg, count, into: &out)
    } else {
      link.rest.append(upTo: count + Self.circuitHeadBytesMax) { write(leg, count, into: &$0) }
      link.rest.move(link.rest.count, into: &out)
    }
    leg.credit -= count
    if leg.source != hostID { self.circuits.relayedBytes += UInt64(count) }
    circuits.endTurn()
    sent(count, of: leg)
    return true
  }

  /// The rate that limits a circuit: that of a relay, for all circuits of others.
  private func rate(of leg: CircuitLeg) -> Int? {
    settings.relay.flatMap { $0.bytesPerSecond > 0 && leg.source != hostID ? $0.bytesPerSecond : nil }
  }

  /// Whether the rate allows a piece of the circuit now. What it allows is shared by the hosts that send.
  private func mayPass(_ leg: CircuitLeg) -> Bool {
    guard let rate = rate(of: leg) else { return true }
    func isEnough() -> Bool {
      circuits.share(of: leg.source) >= min(leg.queue.count, leg.credit, Self.circuitPieceBytes, circuits.shareMax)
    }
    if isEnough() { return true }
    var sources = OrderedDictionary<HostID, Bool>()
    for link in links.values { link.circuits?.addSources(to: &sources) }
    sources[hostID] = nil
    circuits.earn(perSecond: rate, at: now, among: sources.keys)
    if isEnough() { return true }
    timers.set(.circuits, now + Self.ratePause)
    return false
  }

  private static let circuitHeadBytesMax = 16
  private static let circuitPieceBytes = 1_024
  private static let ratePause: Duration = .milliseconds(20)

  private func write(_ leg: CircuitLeg, _ count: Int, into out: inout OutputRawSpan) {
    CircuitDataView.writeHead(circuit: leg.number, payloadBytes: count, into: &out)
    leg.queue.move(count, into: &out)
  }

  private func sent(_ count: Int, of leg: CircuitLeg) {
    switch leg.far {
    case .leg(let other): passOn(count, from: other)
    case .medium(let id):
      if leg.isMediumWaiting, leg.queue.count <= Limits.circuitWindowBytes / 2 {
        leg.isMediumWaiting = false
        emit(.circuitWritable(id))
      }
    case .awaited, .none: break
    }
    // There are many circuits, and few of them busy.
    leg.queue.releaseMemory()
    if leg.end != nil, leg.queue.count == 0 { sendEnd(of: leg) }
  }

  private func wakeLinksWithCircuits() {
    guard let rate = settings.relay?.bytesPerSecond, rate > 0 else { return }
    for link in links.values where link.circuits?.hasUnsent == true { wake(link) }
  }

  // MARK: Queries

  /// The circuits between others through this host, and the bytes that have gone over these and former ones.
  public var relayed: (circuits: Int, bytes: UInt64) { (circuits.relayedCount, circuits.relayedBytes) }

  /// Circuits through this host, and the bytes that it holds for circuits.
  package var circuitLoad: (relayed: Int, ofHostMax: Int, bytesMax: Int) {
    var (circuitsMax, bytesMax) = (0, 0)
    for host in hosts.values {
      let legs = host.links.flatMap { $0.circuits?.legs.values ?? [] }
      circuitsMax = max(circuitsMax, legs.count { if case .leg = $0.far { true } else { false } })
      bytesMax = max(bytesMax, legs.map(\.queue.count).max() ?? 0)
    }
    return (circuits.relayedCount, circuitsMax, bytesMax)
  }
}
