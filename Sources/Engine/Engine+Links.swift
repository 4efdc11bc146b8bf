public import Wire

/// Links: opening, the handshake (`hello`, then `attach`), liveness, and the bytes in and out.
extension Engine {
  /// A link is open and authenticated. `exporter` is the channel's own secret; `dial` says which attempt it answers, and
  /// `circuit` over which circuit it goes.
  public func linkOpened(
    _ id: LinkID, to key: PublicKey, exporter: Digest, dial: DialID?, datagramBytesMax: Int,
    medium: MediumID = .first, circuit: CircuitID? = nil, at now: Instant
  ) {
    beginMutation(now)
    defer { finishMutation() }
    let remote = HostID(digest: crypto.hash(HostID.preimage(of: key)))
    let expected = dial.flatMap { dials.removeValue(forKey: $0) }
    if let expected, let dial, let host = hosts[expected] { ended(dial, of: host, hasFailed: expected != remote) }
    defer { dialStrangers() }
    guard remote != hostID else {
      emit(.close(id, .conflict))
      emit(.conflict(remote))
      return
    }
    let host = host(remote)
    guard host.links.count < Self.linksMax else { return emit(.close(id, .busy)) }
    // A link of their own came while a relay was dialled. A host that is dialled so cannot know: its own may be dead.
    if dial != nil, profile(of: medium).isRelayed, let used = openLink(to: host), !used.profile.isRelayed {
      return emit(.close(id, .duplicate))
    }
    host.key = key
    open(
      id, to: host, exporter: exporter, isDialed: dial != nil, medium: medium,
      relay: circuit.flatMap { takeIntoUse($0) }, datagramBytesMax: datagramBytesMax)
  }

  /// The datagram path of a link was proved, or its size has changed; 0: the link carries no more datagrams.
  public func linkCarriesDatagrams(_ id: LinkID, bytesMax: Int, at now: Instant) {
    beginMutation(now)
    if let link = links[id], !sabotage.contains(.keepsDatagramWay) { link.datagramBytesMax = max(0, bytesMax) }
    finishMutation()
  }

  /// One link is used; some more are opening or closing, or dead and not yet noticed.
  private static let linksMax = 16

  public func linkClosed(_ id: LinkID, at now: Instant) {
    beginMutation(now)
    if let link = links[id] {
      leaveDial(after: link)
      dropped(link)
    }
    finishMutation()
  }

  public func dialFailed(_ id: DialID, at now: Instant) {
    beginMutation(now)
    if let host = dials.removeValue(forKey: id).flatMap({ hosts[$0] }) { ended(id, of: host, hasFailed: true) }
    dialStrangers()
    finishMutation()
  }

  /// Bytes came over a link, cut anywhere.
  public func received(_ bytes: RawSpan, on id: LinkID, at now: Instant) {
    receive(upTo: bytes.byteCount, on: id, at: now) { $0.put(raw: bytes) }
  }

  /// Bytes came over a link: `read` appends as much as there is room for. Nothing is copied from there to an output.
  public func receive(upTo size: Int, on id: LinkID, at now: Instant, _ read: (inout OutputRawSpan) -> Void) {
    beginMutation(now)
    defer { finishMutation() }
    guard let link = links[id], !link.isClosing else { return }
    spare.lend(to: link.inbound)
    guard link.inbound.append(upTo: size, read) > 0 else { return link.inbound.lend(to: spare) }
    heard(link)
    takeFrames(from: link)
  }

  public func receivedDatagram(_ bytes: RawSpan, on id: LinkID, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let link = links[id], let bond = link.host.bond, link.gate.isOpen else { return }
    heard(link)
    // A datagram may come before the records that explain it, or be forged where the medium allows that: no violation.
    guard let head = try? FrameHead.next(in: bytes), head.end == bytes.byteCount else { return }
    if takeClockFrame(head, in: bytes, from: link) { return }
    guard head.type == .datagram || head.type == .typedDatagram,
      let view = try? DatagramView(decoding: bytes.extracting(head.body), isTyped: head.type == .typedDatagram)
    else { return }
    deliver(view, keep(view.payload), over: bond)
  }

  /// Appends the bytes that the link may send now, up to the room there is. When it appends nothing, wait for
  /// `wantsToSend`.
  public func fill(_ out: inout OutputRawSpan, for id: LinkID, at now: Instant) {
    guard let link = links[id] else { return }
    self.now = max(self.now, now)
    let (before, isRoom) = (out.byteCount, out.freeCapacity > 0)
    fill(&out, for: link)
    if isRoom, out.byteCount == before { link.wantsToSend = false }
    wakeLinks()
  }

  // MARK: Opening and closing

  func host(_ id: HostID) -> RemoteHost {
    if let host = hosts[id] { return host }
    let host = RemoteHost(id: id, isSelf: id == hostID)
    if host.isSelf { host.key = hostKey }
    hosts[id] = host
    return host
  }

  func open(
    _ id: LinkID, to host: RemoteHost, exporter: Digest, isDialed: Bool, medium: MediumID = .first,
    relay: HostID? = nil, datagramBytesMax: Int
  ) {
    let bond = host.bond ?? makeBond(with: host)
    // Each link that this side dials has a number of its own, so that the two sides choose the same one.
    let last = max(bond.ordinalLast, host.links.lazy.filter(\.isDialed).map(\.ordinal).max() ?? 0)
    let isStandby = isDialed && isForStandby(medium, of: bond)
    let link = Link(
      id: id, host: host, exporter: exporter, isDialed: isDialed, medium: medium, profile: profile(of: medium),
      relay: relay, datagramBytesMax: datagramBytesMax, ordinal: max(bond.linkOrdinal, last) &+ 1, at: now)
    link.isStandby = isStandby
    if isDialed { bond.ordinalLast = link.ordinal }
    links[id] = link
    host.links.append(link)
    host.found(medium)
    if link.isLoopback { loopback = link }
    greet(link, bond, as: link.role)
    if bond.theirs == 0, !link.isLoopback { inviteAtOnce(over: link) }
    if !link.isLoopback { timers.set(.link(id), now + link.heartbeatInterval) }
  }

  /// Sends a bye, and has the link closed once that is out.
  func close(_ link: Link, _ reason: Reason, _ detail: String = "") {
    guard !link.isClosing else { return }
    send(Bye(reason: reason, detail: Self.shortened(detail)), on: link)
    if link.isClosing { return }
    link.isClosing = true
    detach(link, reason)
    emit(.close(link.id, reason))
  }

  /// A character may have any number of bytes, and an error may quote the other side's text.
  private static func shortened(_ detail: String) -> String {
    var short = detail.prefix(60)
    while short.utf8.count > Limits.detailBytesMax { short.removeLast() }
    return String(short)
  }

  /// The link is gone, without a bye.
  func dropped(_ link: Link) {
    links[link.id] = nil
    link.host.links.removeAll { $0 === link }
    if link === loopback { loopback = nil }
    if !link.isClosing {
      link.isClosing = true
      detach(link, .lost)
      if openLink(to: link.host) == nil { probeAtOnce(link.host) }
    }
    forgetIfUnknown(link.host)
  }

  /// Leaves it to the lower host to dial first, as both have noticed the loss at the same moment.
  private func leaveDial(after link: Link) {
    let (host, pause) = (link.host, link.profile.redialPause)
    if pause > .zero, hostID > host.id, !link.isClosing { host.dialsAgain = max(host.dialsAgain ?? now, now + pause) }
  }

  private func detach(_ link: Link, _ reason: Reason) {
    comparisonsLost(with: link)
    endCircuits(of: link)
    let host = link.host
    note(link, reason)
    if reason == .lost { host.lost(link.medium) }
    if let relay = link.relay, reason == .lost || reason == .timedOut { host.failed(through: relay) }
    if let bond = host.bond {
      if bond.next === link { bond.next = nil }
      if bond.link === link {
        bond.link = nil
        bond.isOpen = false
        if !replaceLink(of: bond) {
          for other in host.links where other.isRetired { close(other, .duplicate) }
          endRosters(of: host.id)
        }
      }
      if bond.link == nil { lostWay(host.id) }
      if bond.link == nil, bond.hasBeenOpen { suspend(bond) }
    }
    if let used = openLink(to: host) { connectCircuits(over: used) }
    // Reconnection goes on if a peer waits here for a peer whose host waits for nobody.
    if reason != .conflict, reason != .idle || !host.asked.isEmpty { ensureLink(host) }
    forgetAwayIfCut(from: host)
  }

  /// Exponential backoff for a host whose links end as soon as they begin.
  private func note(_ link: Link, _ reason: Reason) {
    let wasUseful = now - link.opened >= Self.usefulMin
    if let used = link.host.bond?.link, used !== link {
      if !wasUseful { dialFailed(link.host, isBeside: true) }
    } else if reason != .duplicate {
      if wasUseful { link.host.dialFailures = 0 } else { dialFailed(link.host, isBeside: false) }
    }
  }

  private static let usefulMin: Duration = .seconds(2)

  // MARK: Liveness

  func heard(_ link: Link) {
    link.heard = now
    // A link that is not yet in use ends no suspension, however much comes over it.
    if let bond = link.host.bond, bond.link === link, bond.isOpen { bond.heard = now }
    link.host.probesUnanswered = 0
  }

  func handleLinkTimer(_ link: Link) {
    if link.isClosing { return }
    let silence = now - link.heard
    let silenceMax = sabotage.contains(.noticesLate) ? link.silenceMax * 3 / 2 : link.silenceMax
    if silence >= silenceMax, !sabotage.contains(.neverSilent) {
      emit(.close(link.id, .lost))
      dropped(link)
      return
    }
    let isWaiting = link.host.bond?.link !== link && !link.isRetired && !(link.isStandby && link.hasGreeted)
    if isWaiting, now - link.waitsSince >= settings.greetingMax {
      close(link, .timedOut, "handshake timeout: no hello came")
      return
    }
    if let end = link.closesAt, end <= now {
      close(link, .duplicate)
      return
    }
    if now - link.used >= settings.idleMax, !isWanted(link.host) {
      close(link, .idle)
      return
    }
    if now - link.said >= link.heartbeatInterval || isMeasurementDue(link) { sendHeartbeat(link) }
    // It can wait for a heartbeat; a link that always has something to send has its turn here too.
    if let bond = link.host.bond, bond.link === link, bond.isOpen, let due = bond.comparesRostersAt, due <= now {
      compareRosters(over: bond)
    }
    let end = sabotage.contains(.neverSilent) ? .distantFuture : link.heard + silenceMax
    timers.set(.link(link.id), min(link.said + link.heartbeatInterval, end, link.closesAt ?? end))
  }

  /// Sends a heartbeat. It needs no answer, which could wait behind a long record for longer than the other side's silence
  /// timeout; a ping is one too, and has its answer for the round trip alone.
  private func sendHeartbeat(_ link: Link) {
    link.releaseMemory()
    link.said = now
    if isMeasurementDue(link) {
      let token = number()
      link.roundTrips.begin(token, at: now)
      send(Ping(token: token), on: link)
    } else {
      send(Pong(token: 0), on: link)
    }
    hasSentHeartbeat = true
  }

  private func isMeasurementDue(_ link: Link) -> Bool {
    link.profile.isMeasured && link.hasGreeted && !link.isRetired && link.roundTrips.isDue(at: now)
  }

  /// Timer coalescing: links whose heartbeat is due soon send it now, so that a host wakes once for many links.
  func sendDueHeartbeats() {
    for link in links.values
    where !link.isLoopback && !link.isClosing && now - link.said >= link.heartbeatInterval / 2 {
      sendHeartbeat(link)
    }
    hasSentHeartbeat = false
  }

  // MARK: Bytes in

  func takeFrames(from link: Link) {
    link.inbound.withBytes(from: link.readBytes) { takeFrames(in: $0, from: link) }
  }

  private func takeFrames(in bytes: RawSpan, from link: Link) {
    var offset = 0
    do throws(ProtocolViolation) {
      while !link.isClosing {
        let rest = bytes.extracting(droppingFirst: offset)
        guard let head = try next(in: rest, on: link) else { break }
        offset += head.end
        read(head.end, on: link)
        guard isInTime(head.type, on: link) else { continue }
        let body = rest.extracting(head.body)
        if link.mayRepeat, head.type.isRecord, isRepeated(body, on: link) { continue }
        if try link.gate.admits(head.type, bytes: head.end, isAsked: isAsked(head.type, of: link), at: now) {
          try handle(head.type, body, from: link)
        } else {
          try skip(head.type, body, from: link)
        }
      }
    } catch {
      close(link, error.reason, error.detail)
    }
  }

  /// The last bytes of the frame that was just read.
  func payload(_ bytes: RawSpan, of link: Link) -> Payload {
    Payload(queue: link.inbound, range: link.readBytes - bytes.byteCount..<link.readBytes)
  }

  /// Frames for a bond that has ended, or on a link that is not used any more, are late and ignored.
  private func isInTime(_ type: FrameType, on link: Link) -> Bool {
    switch type {
    case .hello, .bye: true
    case .ping, .pong, .attach: !link.isRetired
    // Circuits go on over their link until it ends, and the other side opens them until it knows that this side uses another.
    case .circuitAccept, .circuitEnd, .circuitData, .circuitGrant: true
    case .circuitOpen: !link.hasGreeted || link.host.bond?.hasBeenOpen == true
    case .invite, .connect, .cancel: !link.hasGreeted || link.host.bond?.link === link
    // The other side uses a link until it knows that this side uses another.
    case .datagram, .typedDatagram:
      !link.hasGreeted
        || (link.host.bond.map { $0.link === link ? $0.isOpen : $0.hasBeenOpen && link.gate.isOpen } ?? false)
    default: !link.hasGreeted || (link.host.bond.map { $0.link === link && $0.isOpen } ?? false)
    }
  }

  private func next(in bytes: RawSpan, on link: Link) throws(ProtocolViolation) -> FrameHead? {
    do throws(WireError) {
      return try FrameHead.next(
        in: bytes, lengthMax: link.gate.isOpen ? Limits.frameLengthMax : Limits.earlyFrameLengthMax)
    } catch {
      throw ProtocolViolation(.protocolViolation, error.description)
    }
  }

  private func handle(_ type: FrameType, _ body: RawSpan, from link: Link) throws(ProtocolViolation) {
    guard link.hasGreeted || type == .hello || type == .bye else {
      throw ProtocolViolation(.protocolViolation, "\(type) before hello")
    }
    switch type {
    case .message, .typedMessage: try handle(message: body, isTyped: type == .typedMessage, from: link)
    case .ack: try handle(try decode(Ack.self, body), from: try bond(of: link))
    case .ping: try handle(try decode(Ping.self, body), from: link)
    case .pong: handle(try decode(Pong.self, body), from: link)
    case .hello: try handle(try decode(Hello.self, body), from: link)
    case .attach: try handle(try decode(Attach.self, body), from: link)
    case .bye: handle(try decode(Bye.self, body), from: link)
    case .browse: try handle(try decode(Browse.self, body), from: link)
    case .browseEnd: handle(try decode(BrowseEnd.self, body), from: link)
    case .advertised: try handle(try decode(Advertised.self, body), from: link)
    case .withdrawn: handle(try decode(Withdrawn.self, body), from: link)
    case .away: try handle(try decode(Away.self, body), from: link)
    case .browseTypes: handle(try decode(BrowseTypes.self, body), from: link)
    case .advertisedTypes: handle(try decode(AdvertisedTypes.self, body), from: link)
    case .invite: try handle(InvitationRequest(try decode(Invite.self, body)), from: link)
    case .answer: try handle(try decode(Answer.self, body), from: link)
    case .confirm: try handle(try decode(Confirm.self, body), from: link)
    case .cancel: handle(try decode(Cancel.self, body), from: link)
    case .connect: try handle(InvitationRequest(try decode(Connect.self, body)), from: link)
    case .join: try handle(try decode(Join.self, body), from: link)
    case .leave: try handle(try decode(Leave.self, body), from: link)
    case .verdict: try handle(try decode(Verdict.self, body), from: link)
    case .introduce: try handle(introduce: body, from: link)
    case .gone: try handle(try decode(Gone.self, body), from: link)
    case .digest: try handle(try decode(RosterDigest.self, body), from: link)
    case .datagram, .typedDatagram: try handle(datagram: body, isTyped: type == .typedDatagram, from: link)
    case .compareCommit: try handle(try decode(CompareCommit.self, body), from: link)
    case .compareReveal: try handle(try decode(CompareReveal.self, body), from: link)
    case .compareEnd: handle(try decode(CompareEnd.self, body), from: link)
    case .identity: try handle(try decode(IdentityFrame.self, body), from: link)
    case .streamOpen: try handle(try decode(StreamOpen.self, body), from: link)
    case .streamEnd: try handle(try decode(StreamEnd.self, body), from: link)
    case .streamStop: try handle(try decode(StreamStop.self, body), from: link)
    case .streamGrant: try handle(try decode(StreamGrant.self, body), from: link)
    case .streamData: try handle(streamData: body, from: link)
    case .resourceOffer: try handle(try decode(ResourceOffer.self, body), from: link)
    case .resourceEnd: try handle(try decode(ResourceEnd.self, body), from: link)
    case .resourceStop: try handle(try decode(ResourceStop.self, body), from: link)
    case .resourceWant: try handle(try decode(ResourceWant.self, body), from: link)
    case .resourceChunk: try handle(resourceChunk: body, from: link)
    case .circuitOpen: try handle(try decode(CircuitOpen.self, body), from: link)
    case .circuitAccept: try handle(try decode(CircuitAccept.self, body), from: link)
    case .circuitEnd: handle(try decode(CircuitEnd.self, body), from: link)
    case .circuitData: try handle(circuitData: body, from: link)
    case .circuitGrant: try handle(try decode(CircuitGrant.self, body), from: link)
    case .heard: try handle(try decode(Heard.self, body), from: link)
    case .clockRequest: handle(try decode(ClockRequest.self, body), from: link)
    case .clockReply: handle(try decode(ClockReply.self, body), from: link)
    }
    if type != .ping && type != .pong { link.used = now }
  }

  /// Counts a record without reading it.
  private func skip(_ type: FrameType, _ body: RawSpan, from link: Link) throws(ProtocolViolation) {
    guard type.isRecord else { return }
    let record: RecordHead
    do throws(WireError) {
      var reader = Reader(body)
      record = try RecordHead(from: &reader)
    } catch {
      throw ProtocolViolation(.protocolViolation, "\(type): \(error)")
    }
    _ = try count(record, bytes: body.byteCount, over: try bond(of: link))
  }

  func decode<F: Frame>(_: F.Type, _ body: RawSpan) throws(ProtocolViolation) -> F {
    do throws(WireError) { return try F(decoding: body) } catch {
      throw ProtocolViolation(.protocolViolation, "\(F.type): \(error)")
    }
  }

  /// The bond that the link's records belong to: none before the link was chosen for it.
  func bond(of link: Link) throws(ProtocolViolation) -> Bond {
    guard let bond = link.host.bond, bond.link === link else {
      throw ProtocolViolation(.protocolViolation, "a record on a link that is not attached")
    }
    return bond
  }

  private func handle(_ bye: Bye, from link: Link) {
    emit(.close(link.id, bye.reason))
    link.isClosing = true
    if bye.reason == .conflict { emit(.conflict(hostID)) }
    // The other side has given up the bond, and not only the link.
    if bye.reason == .slow, let bond = link.host.bond, bond.link === link { lose(bond, .slow) }
    detach(link, bye.reason)
  }

  // MARK: Bytes out

  func send<F: Frame>(_ frame: F, on link: Link) {
    guard !link.isClosing else { return }
    guard link.control.count < Self.controlBytesMax else {
      // The other side asks and does not read the answers.
      emit(.close(link.id, .slow))
      dropped(link)
      return
    }
    let length = frame.length
    link.control.append(F.encodedSize(of: length)) { frame.write(length, into: &$0) }
    wake(link)
  }

  /// Limit of the control queue; a host with more queued does not read.
  private static let controlBytesMax = 2 << 20

  /// Whole frames in order of precedence; the rest of a frame that does not fit waits in the link's `rest`.
  func fill(_ out: inout OutputRawSpan, for link: Link) {
    let before = out.byteCount
    defer { if out.byteCount > before { link.said = now } }
    link.rest.move(link.rest.count, into: &out)
    guard link.rest.count == 0 else { return }
    sendPending(over: link)
    link.control.move(link.control.count, into: &out)
    guard link.control.count == 0, !link.isClosing else { return }
    if let bond = link.host.bond, bond.link === link, bond.isOpen {
      fillAcknowledgements(&out, for: bond)
      fillLossy(&out, for: link)
      fillRecordsAndFlows(&out, for: link, bond)
    }
    if let circuits = link.circuits { fillCircuits(&out, for: link, circuits) }
  }

  private func fillLossy(_ out: inout OutputRawSpan, for link: Link) {
    while let size = link.lossySizes.first, out.freeCapacity > 0 {
      let left = size - link.lossy.move(size, into: &out)
      link.lossy.withBytes { link.rest.append($0.extracting(first: left)) }
      link.lossy.removeFirst(left)
      link.lossySizes.removeFirst()
    }
  }
}
