public import Wire

/// Links: opening, greeting, liveness, and the bytes in and out.
extension Engine {
  /// A link is there and authenticated. `exporter` is the channel's own secret; `dial` says which attempt it answers.
  public func linkOpened(
    _ id: LinkID, to key: PublicKey, exporter: Digest, dial: DialID?, datagramBytesMax: Int, at now: Instant
  ) {
    enter(now)
    defer { settle() }
    let remote = HostID(digest: crypto.hash(HostID.preimage(of: key)))
    let expected = dial.flatMap { dials.removeValue(forKey: $0) }
    if let expected, let host = hosts[expected], host.dial == dial {
      host.dial = nil
      if expected != remote { dialFailed(host) }
    }
    defer { dialStrangers() }
    guard remote != hostID else {
      emit(.close(id, .conflict))
      emit(.conflict(remote))
      return
    }
    let host = host(remote)
    guard host.links.count < Self.linksMax else { return emit(.close(id, .busy)) }
    host.key = key
    open(id, to: host, exporter: exporter, isDialed: dial != nil, datagramBytesMax: datagramBytesMax)
  }

  /// One is used; some more are on their way in or out, or dead and not yet missed.
  private static let linksMax = 16

  public func linkClosed(_ id: LinkID, at now: Instant) {
    enter(now)
    if let link = links[id] { dropped(link) }
    settle()
  }

  public func dialFailed(_ id: DialID, at now: Instant) {
    enter(now)
    if let host = dials.removeValue(forKey: id).flatMap({ hosts[$0] }), host.dial == id {
      host.dial = nil
      dialFailed(host)
    }
    dialStrangers()
    settle()
  }

  /// Takes whole frames from the start of `bytes`, and says how many bytes they were: present the rest again with what
  /// comes after it.
  public func received(_ bytes: RawSpan, on id: LinkID, at now: Instant) -> Int {
    enter(now)
    defer { settle() }
    guard let link = links[id] else { return bytes.byteCount }
    heard(link)
    return receive(bytes, on: link)
  }

  public func receivedDatagram(_ bytes: RawSpan, on id: LinkID, at now: Instant) {
    enter(now)
    defer { settle() }
    guard let link = links[id], let bond = link.host.bond, bond.link === link, link.gate.isOpen else { return }
    heard(link)
    // A datagram may come before the records that explain it, or be forged where the medium lets it: no offence.
    guard let head = try? FrameHead.next(in: bytes), head.type == .datagram, head.end == bytes.byteCount,
      let view = try? DatagramView(decoding: bytes.extracting(head.body))
    else { return }
    deliver(view, over: bond)
  }

  /// Appends what the link may send now, up to the room there is. When it appends nothing, wait for `wantsToSend`.
  public func fill(_ out: inout OutputRawSpan, for id: LinkID, at now: Instant) {
    guard let link = links[id] else { return }
    self.now = max(self.now, now)
    let (before, isRoom) = (out.byteCount, out.freeCapacity > 0)
    fill(&out, for: link)
    if isRoom, out.byteCount == before { link.wantsToSend = false }
  }

  // MARK: Opening and closing

  func host(_ id: HostID) -> RemoteHost {
    if let host = hosts[id] { return host }
    let host = RemoteHost(id: id, isSelf: id == hostID)
    if host.isSelf { host.key = hostKey }
    hosts[id] = host
    return host
  }

  func open(_ id: LinkID, to host: RemoteHost, exporter: Digest, isDialed: Bool, datagramBytesMax: Int) {
    let bond = host.bond ?? makeBond(with: host)
    let link = Link(
      id: id, host: host, exporter: exporter, isDialed: isDialed, datagramBytesMax: datagramBytesMax,
      ordinal: bond.linkOrdinal &+ 1, at: now)
    links[id] = link
    host.links.append(link)
    if link.isLoopback { loopback = link }
    greet(link, bond)
    if !link.isLoopback { timers.set(.link(id), now + settings.beat) }
  }

  /// Says goodbye, and has the link closed once that is sent.
  func close(_ link: Link, _ reason: Reason, _ detail: String = "") {
    guard !link.isClosing else { return }
    say(Bye(reason: reason, detail: Self.shortened(detail)), on: link)
    if link.isClosing { return }
    link.isClosing = true
    detach(link, reason)
    emit(.close(link.id, reason))
  }

  /// A character may have any number of bytes, and what is wrong with a text may be told in its own words.
  private static func shortened(_ detail: String) -> String {
    var short = detail.prefix(60)
    while short.utf8.count > Limits.detailBytesMax { short.removeLast() }
    return String(short)
  }

  /// The link is gone, without a word.
  func dropped(_ link: Link) {
    links[link.id] = nil
    link.host.links.removeAll { $0 === link }
    if link === loopback { loopback = nil }
    if !link.isClosing {
      link.isClosing = true
      detach(link, .lost)
    }
    forgetIfUnknown(link.host)
  }

  private func detach(_ link: Link, _ reason: Reason) {
    comparisonsLost(with: link)
    let host = link.host
    if reason != .duplicate { note(link, wasUseful: now - link.opened >= Self.usefulMin) }
    if let bond = host.bond {
      if bond.link === link {
        bond.link = nil
        bond.isOpen = false
        for other in host.links where other.isRetired { close(other, .duplicate) }
      }
      if bond.link == nil, bond.hasBeenOpen { suspend(bond) }
    }
    if reason != .idle, reason != .conflict { reach(host) }
  }

  /// A host whose links end as soon as they begin is dialled less and less often.
  private func note(_ link: Link, wasUseful: Bool) {
    if wasUseful { link.host.dialFailures = 0 } else { dialFailed(link.host) }
  }

  private static let usefulMin: Duration = .seconds(2)

  // MARK: Liveness

  func heard(_ link: Link) {
    link.heard = now
    // A link that is not yet in use ends no suspension, however much is heard on it.
    if let bond = link.host.bond, bond.link === link, bond.isOpen { bond.heard = now }
    link.host.probesMissed = 0
  }

  func linkDue(_ link: Link) {
    if link.isClosing { return }
    let silence = now - link.heard
    if silence >= settings.silenceMax, !sabotage.contains(.neverSilent) {
      emit(.close(link.id, .lost))
      dropped(link)
      return
    }
    if link.host.bond?.link !== link, !link.isRetired, now - link.opened >= settings.greetingMax {
      close(link, .timedOut, "no greeting came")
      return
    }
    if now - link.used >= settings.idleMax, !isWanted(link.host) {
      close(link, .idle)
      return
    }
    // Not an answer to a question: that could wait behind a long record for longer than the other side does.
    if now - link.said >= settings.beat {
      link.rest()
      link.said = now
      say(Pong(token: 0), on: link)
    }
    let end = sabotage.contains(.neverSilent) ? .distantFuture : link.heard + settings.silenceMax
    timers.set(.link(link.id), min(link.said + settings.beat, end))
  }

  // MARK: Bytes in

  func receive(_ bytes: RawSpan, on link: Link) -> Int {
    var consumed = 0
    do throws(Violation) {
      while !link.isClosing {
        let rest = bytes.extracting(droppingFirst: consumed)
        guard let head = try next(in: rest, on: link) else { break }
        consumed += head.end
        guard isInTime(head.type, on: link) else { continue }
        let body = rest.extracting(head.body)
        if try link.gate.admits(head.type, bytes: head.end, at: now) {
          try take(head.type, body, from: link)
        } else {
          try skip(head.type, body, from: link)
        }
      }
    } catch {
      close(link, error.reason, error.detail)
    }
    return link.isClosing ? bytes.byteCount : consumed
  }

  /// What was said for a bond that has ended since, or over a link that is used no more, comes too late and means nothing.
  private func isInTime(_ type: FrameType, on link: Link) -> Bool {
    switch type {
    case .hello, .bye, .ping, .pong: !link.isRetired || type == .bye
    case .attach: !link.isRetired
    default: !link.hasGreeted || (link.host.bond.map { $0.link === link && $0.isOpen } ?? false)
    }
  }

  private func next(in bytes: RawSpan, on link: Link) throws(Violation) -> FrameHead? {
    do throws(WireError) {
      return try FrameHead.next(
        in: bytes, lengthMax: link.gate.isOpen ? Limits.frameLengthMax : Limits.earlyFrameLengthMax)
    } catch {
      throw Violation(.protocolViolation, error.description)
    }
  }

  private func take(_ type: FrameType, _ body: RawSpan, from link: Link) throws(Violation) {
    guard link.hasGreeted || type == .hello || type == .bye else {
      throw Violation(.protocolViolation, "\(type) before hello")
    }
    switch type {
    case .message: try take(message: body, from: link)
    case .ack: try take(try decode(Ack.self, body), from: try bond(of: link))
    case .ping: say(Pong(token: try decode(Ping.self, body).token), on: link)
    case .pong: take(try decode(Pong.self, body), from: link)
    case .hello: try take(try decode(Hello.self, body), from: link)
    case .attach: try take(try decode(Attach.self, body), from: link)
    case .bye: take(try decode(Bye.self, body), from: link)
    case .browse: try take(try decode(Browse.self, body), from: link)
    case .browseEnd: take(try decode(BrowseEnd.self, body), from: link)
    case .advertised: try take(try decode(Advertised.self, body), from: link)
    case .withdrawn: take(try decode(Withdrawn.self, body), from: link)
    case .invite: try take(try decode(Invite.self, body), from: link)
    case .answer: try take(try decode(Answer.self, body), from: link)
    case .confirm: try take(try decode(Confirm.self, body), from: link)
    case .cancel: take(try decode(Cancel.self, body), from: link)
    case .join: try take(try decode(Join.self, body), from: link)
    case .leave: try take(try decode(Leave.self, body), from: link)
    case .verdict: try take(try decode(Verdict.self, body), from: link)
    case .introduce: try take(try decode(Introduce.self, body), from: link)
    case .gone: try take(try decode(Gone.self, body), from: link)
    case .digest: try take(try decode(RosterDigest.self, body), from: link)
    case .datagram: try take(datagram: body, from: link)
    case .compareCommit: try take(try decode(CompareCommit.self, body), from: link)
    case .compareReveal: try take(try decode(CompareReveal.self, body), from: link)
    case .compareEnd: take(try decode(CompareEnd.self, body), from: link)
    case .identity: try take(try decode(IdentityFrame.self, body), from: link)
    }
    if type != .ping && type != .pong { link.used = now }
  }

  /// Counts a record that is not read.
  private func skip(_ type: FrameType, _ body: RawSpan, from link: Link) throws(Violation) {
    guard type != .digest else { return }
    let record: RecordHead
    do throws(WireError) {
      var reader = Reader(body)
      record = try RecordHead(from: &reader)
    } catch {
      throw Violation(.protocolViolation, "\(type): \(error)")
    }
    _ = try count(record, bytes: body.byteCount, over: try bond(of: link))
  }

  private func decode<F: Frame>(_: F.Type, _ body: RawSpan) throws(Violation) -> F {
    do throws(WireError) { return try F(decoding: body) } catch {
      throw Violation(.protocolViolation, "\(F.type): \(error)")
    }
  }

  /// The bond that the link's records belong to: none before the link was chosen for it.
  func bond(of link: Link) throws(Violation) -> Bond {
    guard let bond = link.host.bond, bond.link === link else {
      throw Violation(.protocolViolation, "a record on a link that is not attached")
    }
    return bond
  }

  private func take(_ bye: Bye, from link: Link) {
    emit(.close(link.id, bye.reason))
    link.isClosing = true
    if bye.reason == .conflict { emit(.conflict(hostID)) }
    // It has given up the bond, and not only the link.
    if bye.reason == .slow, let bond = link.host.bond, bond.link === link { lose(bond, .slow) }
    detach(link, bye.reason)
  }

  // MARK: Bytes out

  func say(_ frame: some Frame, on link: Link) {
    guard !link.isClosing else { return }
    guard link.control.count < Self.controlBytesMax else {
      // It asks and does not listen to the answers.
      emit(.close(link.id, .slow))
      dropped(link)
      return
    }
    link.control.append(frame.encodedSize) { frame.write(into: &$0) }
    wake(link)
  }

  /// Frames that wait for a link beside its records; a host that lets more pile up does not read.
  private static let controlBytesMax = 2 << 20

  func fill(_ out: inout OutputRawSpan, for link: Link) {
    let before = out.byteCount
    defer { if out.byteCount > before { link.said = now } }
    let bond = link.host.bond.flatMap { $0.link === link && $0.isOpen && !link.isClosing ? $0 : nil }
    defer { if let bond { link.isWithinRecord = bond.journal.isWithinRecord } }
    if let bond, bond.journal.isWithinRecord {
      bond.journal.fill(&out, oneRecord: true)
      if bond.journal.isWithinRecord { return }
    } else if link.isWithinRecord {
      // The rest of the record is another link's, or nobody's: whatever was said here would be read as part of it.
      return
    }
    fillLossy(&out, for: link, onlyBegun: true)
    guard link.lossySent == 0 else { return }
    let sent = link.control.copy(from: 0, to: link.control.count, into: &out)
    link.control.removeFirst(sent)
    guard let bond, link.control.count == 0 else { return }
    fillAcknowledgements(&out, for: bond)
    fillLossy(&out, for: link, onlyBegun: false)
    guard link.lossySent == 0 else { return }
    while out.freeCapacity > 0, bond.journal.hasUnsent {
      bond.journal.fill(&out, oneRecord: bond.hasPendingAcknowledgement)
      if bond.journal.isWithinRecord { return }
      fillAcknowledgements(&out, for: bond)
    }
  }

  private func fillLossy(_ out: inout OutputRawSpan, for link: Link, onlyBegun: Bool) {
    while let size = link.lossySizes.first, !onlyBegun || link.lossySent > 0, out.freeCapacity > 0 {
      let sent = link.lossy.copy(from: 0, to: size - link.lossySent, into: &out)
      link.lossy.removeFirst(sent)
      link.lossySent += sent
      if link.lossySent == size {
        link.lossySizes.removeFirst()
        link.lossySent = 0
      }
    }
  }
}
