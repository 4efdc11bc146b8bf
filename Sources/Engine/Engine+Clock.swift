public import Wire

/// The shared clock of a session: hosts measure each other's by requests and replies, and know their error.
///
/// Invariant: nothing is sent while nobody reads the clock. A reply's reading was true at some moment of the round trip, so
/// half of that is its error, and grows with its age.
extension Engine {
  /// Reads the clock of the endpoint's session. Reading it keeps it synchronized for a minute.
  public func readClock(of id: EndpointID, at now: Instant) throws(EngineError) -> ClockReading {
    beginMutation(now)
    defer { finishMutation() }
    let local = try local(id)
    let group = local.group
    var clock = group.clock ?? GroupClock(at: self.now)
    if group.clock == nil || clock.isIdle(at: self.now) {
      clock.quick = GroupClock.quickMax
      clock.hasReply = false
      timers.set(.clock(group.serial), self.now)
    }
    clock.readers.insert(id)
    choosePartner(for: &clock, of: group)
    let reading = clock.read(at: self.now)
    group.clock = clock
    return reading
  }

  /// Reads the clock without keeping it synchronized; later readings are not below this one, either.
  package func peekClock(of id: EndpointID, at now: Instant) -> ClockReading? {
    guard let group = endpoints[id]?.group, var clock = group.clock else { return nil }
    defer { group.clock = clock }
    return clock.look(at: max(self.now, now))
  }

  /// Reviews at once whose clock is followed, after pairs of the group were connected or ended.
  func reviewClock(of group: Group) {
    guard let clock = group.clock, !clock.isIdle(at: now) else { return }
    timers.set(.clock(group.serial), now)
  }

  func handleClockTimer(_ group: Group) {
    guard var clock = group.clock else { return }
    guard !clock.isIdle(at: now) else { return group.clock = clock.resting }
    choosePartner(for: &clock, of: group)
    if let partner = clock.partner { requestClock(&clock, of: group, from: partner) }
    if clock.quick > 0 { clock.quick -= 1 }
    group.clock = clock
    timers.set(.clock(group.serial), now + (clock.quick > 0 ? GroupClock.quickInterval : GroupClock.interval))
  }

  /// The lowest host is followed by the others; it compares its clock with the next, which may be ahead.
  private func choosePartner(for clock: inout GroupClock, of group: Group) {
    let lowest = group.presences.values.lazy.filter { self.keepsClock($0) }.map(\.host.id).min()
    let isFollowing = lowest.map { $0 < hostID } ?? false
    if !isFollowing, clock.source != nil || clock.isFollowing { clock.lead() }
    clock.isFollowing = isFollowing
    guard lowest != clock.partner else { return }
    clock.partner = lowest
    clock.hasReply = false
    clock.quick = GroupClock.quickMax
  }

  /// Whether a host is connected with an endpoint here and replies to requests; its link may be lost for now.
  private func keepsClock(_ presence: Presence) -> Bool {
    guard !presence.host.isSelf, let bond = presence.host.bond, bond.features.contains(.clock) else { return false }
    return presence.isConnected
  }

  private func clockLink(to host: HostID, of group: Group) -> (link: Link, strand: UInt32)? {
    guard let presence = group.presences[host], keepsClock(presence), let strand = presence.strand,
      let bond = presence.host.bond, bond.isOpen, let link = bond.link, !link.isClosing
    else { return nil }
    return (link, strand.id)
  }

  private func requestClock(_ clock: inout GroupClock, of group: Group, from host: HostID) {
    guard let (link, strand) = clockLink(to: host, of: group) else { return }
    // The group's serial, so that the reply finds it.
    let token = UInt64(group.serial) << 32 | number() & 0xFFFF_FFFF
    if clock.requests.count == GroupClock.requestsMax { clock.requests.removeFirst() }
    clock.requests.append(.init(token: token, host: host, sent: now))
    sendTimely(ClockRequest(strand: strand, token: token, time: clock.time(at: now).clockNanoseconds), on: link)
  }

  /// By a datagram where they pass: it overtakes what waits in the link.
  private func sendTimely<F: Frame>(_ frame: F, on link: Link) {
    let size = frame.encodedSize
    guard link.datagramBytesMax >= size else { return send(frame, on: link) }
    emit(.datagram(link.id, compose(size) { frame.write(into: &$0) }))
  }

  /// Whether a datagram was a frame of the clock. One that cannot be read may be forged: no violation.
  func takeClockFrame(_ head: FrameHead, in bytes: RawSpan, from link: Link) -> Bool {
    let body = bytes.extracting(head.body)
    switch head.type {
    case .clockRequest: if let request = try? ClockRequest(decoding: body) { handle(request, from: link) }
    case .clockReply: if let reply = try? ClockReply(decoding: body) { handle(reply, from: link) }
    default: return false
    }
    return true
  }

  func handle(_ request: ClockRequest, from link: Link) {
    let host = link.host
    guard let bond = host.bond, bond.link === link,
      let group = bond.incoming[request.strand]?.group.flatMap({ groups[$0] }),
      clockLink(to: host.id, of: group) != nil
    else { return }
    var clock = group.clock ?? GroupClock(at: now)
    let time = clock.time(at: now)
    sendTimely(
      ClockReply(
        token: request.token, time: time.clockNanoseconds, bound: clock.bound(at: now).clockNanoseconds),
      on: link)
    // The other clock is ahead: it was there before this one.
    let lead = .nanoseconds(Int64(request.time)) - time
    if lead > GroupClock.stepMin, !clock.requests.contains(where: { $0.host == host.id }),
      !sabotage.contains(.keepsOwnClock)
    {
      requestClock(&clock, of: group, from: host.id)
    }
    group.clock = clock
  }

  func handle(_ reply: ClockReply, from link: Link) {
    let host = link.host.id
    guard let group = groups[Int(reply.token >> 32)], var clock = group.clock,
      let place = clock.requests.firstIndex(where: { $0.token == reply.token && $0.host == host })
    else { return }
    let half = (now - clock.requests.remove(at: place).sent) / 2
    let error = (sabotage.contains(.ignoresRoundTrip) ? .zero : half) + .nanoseconds(Int64(reply.bound))
    let origin = now + (.zero - .nanoseconds(Int64(reply.time)) - half)
    if clock.partner == host { clock.hasReply = true }
    guard !sabotage.contains(.keepsOwnClock) || clock.isFollowing else { return }
    let step = clock.take(.init(origin: origin, error: error, taken: now), of: host, at: now)
    clock.compare(with: host, at: origin, within: half)
    group.clock = clock
    if step != .zero { emitStep(step, of: group, clock.readers) }
  }

  /// The endpoint's next group has a clock of its own.
  func leaveClock(of group: Group, _ local: LocalEndpoint) {
    guard let clock = group.clock, clock.readers.contains(local.id) else { return }
    group.clock?.readers.remove(local.id)
    local.group.clock = GroupClock(after: clock, for: local.id, at: now)
    emit(.clockStepped(by: .zero - clock.time(at: now), of: .one(local.id)))
  }

  /// Two groups have become one.
  func mergeClocks(_ group: Group, _ other: Group) {
    guard let theirs = other.clock else { return }
    guard var clock = group.clock else { return group.clock = theirs }
    let readers = (clock.readers, theirs.readers)
    let steps = clock.merge(theirs)
    group.clock = clock
    if steps.own != .zero { emitStep(steps.own, of: group, readers.0) }
    if steps.other != .zero { emitStep(steps.other, of: group, readers.1) }
  }

  private func emitStep(_ step: Duration, of group: Group, _ readers: Set<EndpointID>) {
    var slots = SlotSet()
    for local in group.allLocals where readers.contains(local.id) { slots.insert(local.slot) }
    if let locals = group.locals(in: slots) { emit(.clockStepped(by: step, of: locals)) }
  }
}

extension Duration {
  /// As a frame carries it.
  fileprivate var clockNanoseconds: UInt64 { min(UInt64(max(0, nanoseconds)), Limits.clockNanosecondsMax) }
}
