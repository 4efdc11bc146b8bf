import Wire

/// Bonds: how two hosts agree which link they use, how far each has read, and when the bond is over.
extension Engine {
  // MARK: Greeting

  func makeBond(with host: RemoteHost) -> Bond {
    let bond = Bond(host: host, nonce: entropy.word(crypto), suspensionMax: longestSuspension, at: now)
    host.bond = bond
    // Frames that were sent under another number may not have been read.
    for invitation in host.asked.values { invitation.saidOn = nil }
    return bond
  }

  func greet(_ link: Link, _ bond: Bond, as role: Hello.Role?) {
    send(
      Hello(
        incarnation: incarnation, bond: bond.nonce, expects: bond.theirs, ordinal: link.ordinal,
        features: features,
        addresses: Array(settings.addresses.prefix(Limits.helloAddressesMax)), extensions: Hello.extensions(for: role)),
      on: link)
  }

  static let features: Hello.Features = [.away, .contentTypes, .types, .standby, .clock]

  func handle(_ hello: Hello, from link: Link) throws(ProtocolViolation) {
    let host = link.host
    if link.isRetired {
      // The other side promotes it, and knows nothing of the link that came in its place.
      guard hello.role == .promoted, let bond = host.bond, hello.ordinal > bond.linkOrdinal else { return }
      link.isRetired = false
      link.closesAt = nil
    }
    // It was under way while both sides took a later link into use: its positions are old, and nobody waits for an answer.
    let isLate = host.bond.map { hello.bond == $0.theirs && hello.ordinal < $0.openedOrdinal } ?? false
    link.isPromotionVoid = hello.role == .promoted && isLate
    if link.isPromotionVoid { return }
    if let known = host.incarnation, hello.incarnation < known {
      throw ProtocolViolation(.conflict, Self.newerHost)
    }
    if let known = host.incarnation, hello.incarnation > known {
      host.proved.removeAll()
      forgetInvitations(from: host)
      // A program that was restarted has no end of a stream any more.
      endStreams(.lost) { pair in host.presences.contains { $0.members.contains(pair.member) } }
      // A link with an earlier greeting is over, or leads to another host with the same key; close it with that reason.
      for other in host.links where other !== link && other.hasGreeted { close(other, .conflict, Self.newerHost) }
    }
    host.incarnation = hello.incarnation
    host.learn(fromGreeting: hello.addresses)
    link.features = hello.features
    if !link.readsAway { forgetAwayPeers(at: host) }
    takeRole(of: link, from: hello)
    link.hasGreeted = true

    var bond = host.bond ?? makeBond(with: host)
    if bond.theirs != 0, hello.bond != bond.theirs {
      if bond.hasBeenOpen { bond = replace(bond, keeping: link) } else { bond.theirs = 0 }
    }
    if bond.theirs == 0 {
      // A hello that expects another bond was sent before our newest one was read; it will be repeated.
      guard hello.expects == 0 || hello.expects == bond.nonce else { return }
      bond.theirs = hello.bond
    } else if hello.expects != 0, hello.expects != bond.nonce {
      return  // The same: it was sent before our newest hello was read.
    }
    bond.ordinalLast = max(bond.ordinalLast, link.ordinal)
    if link.isStandby { keepOnStandby(link, for: bond) } else { prefer(link, for: bond, as: hello.role) }
  }

  private static let newerHost = "a newer host has this key"

  /// Ends a bond that the other side has given up or never had, and offers a new one.
  func replace(_ bond: Bond, keeping link: Link) -> Bond {
    let host = bond.host
    if bond.link === link {
      bond.link = nil
      bond.isOpen = false
    }
    lose(bond, .lost, keeping: link)
    let fresh = makeBond(with: host)
    for other in host.links where !other.isClosing { greet(other, fresh, as: other.role) }
    return fresh
  }

  func attach(_ link: Link, to bond: Bond) {
    bond.link = link
    bond.isOpen = false
    // Answers that were sent behind an earlier `attach`, which the other side may have taken for another bond's, are
    // sent again.
    for invitation in bond.host.asking.values { invitation.answeredOn = nil }
    sendAttach(over: link, for: bond)
  }

  func sendAttach(over link: Link, for bond: Bond) {
    link.beginUse()
    link.waitsSince = now
    link.attachSent = (bond.nonce, bond.theirs)
    // The other side may begin at once with large records, though the other link of the two is used in the end.
    if bond.isAccepted { link.gate.open() }
    send(
      Attach(
        bond: bond.nonce, expects: bond.theirs, received: bond.received, first: bond.sendQueue.first,
        next: bond.sendQueue.next),
      on: link)
  }

  func handle(_ attach: Attach, from link: Link) throws(ProtocolViolation) {
    if link.isPromotionVoid {
      link.isPromotionVoid = false
      return
    }
    guard let bond = link.host.bond, bond.link === link || bond.next === link, attach.bond == bond.theirs,
      attach.expects == bond.nonce
    else { return }
    guard !bond.isOpen || bond.next === link else {
      // The promotion of this side and that of the other have crossed, and the other side has answered after all.
      guard link.mayBeAnsweredAgain else { throw ProtocolViolation(.protocolViolation, "attach again") }
      link.mayBeAnsweredAgain = false
      return
    }
    let sendQueue = bond.sendQueue
    // A host that is still in the same run has lost nothing; its positions may be from before the latest records and
    // acknowledgements over the other link.
    let isSameRun = bond.openedTo != nil && bond.openedTo == link.host.incarnation
    let isConsistent =
      attach.received < sendQueue.next && attach.received <= bond.fence
      && (isSameRun
        || attach.received + 1 >= sendQueue.first && attach.first <= bond.received + 1 && attach.next > bond.received)
    // A host may come back as an older version that cannot read the records in the queue.
    let isReadable = link.features.contains(.contentTypes) || !sendQueue.holdsTyped(after: attach.received)
    guard isConsistent && isReadable || sabotage.contains(.believesBackups) else {
      // One of the two has lost state that the other relies on, as from an old backup: begin a new bond.
      _ = replace(bond, keeping: link)
      return
    }
    var received = min(max(attach.received, sendQueue.first - 1), sendQueue.next - 1)
    if sabotage.contains(.repeatsRecords) { received = sendQueue.first - 1 }
    if sabotage.contains(.losesRecord), received + 2 < sendQueue.next, bond.hasBeenOpen { received += 1 }
    if bond.next === link { takeOver(link, of: bond) }
    bond.sendQueue.resume(after: received)
    bond.features = link.features
    bond.isOpen = true
    // Opening counts as activity, though the link may be cut before there is any other.
    bond.heard = now
    bond.fence = .max
    link.used = now
    opened(bond, on: link)
    if bond.sendQueue.hasUnsent { wake(link) }
  }

  private func opened(_ bond: Bond, on link: Link) {
    let wasOpen = bond.hasBeenOpen
    bond.hasBeenOpen = true
    bond.openedTo = link.host.incarnation
    bond.openedOrdinal = max(bond.openedOrdinal, link.ordinal)
    bond.suspendsAt = nil
    bond.suspensionMax = link.profile.suspensionMax
    if wasOpen, bond.medium != link.medium {
      // After a restart it is not known which one it was, and programs are told.
      if bond.medium != nil { bond.mediumChanged = now }
      emit(.mediumChanged(bond.host.id, link.medium, connectedMembers(at: bond.host)))
    }
    bond.medium = link.medium
    dirty.touch(bond: bond.host.id)
    if bond.isSuspended { emitSuspended(bond, false) }
    if bond.host.isVanished { markReachable(bond.host) }
    bond.comparesRostersAt = now + Self.rosterPause
    scheduleBond(bond)
    for other in bond.host.links where other.isRetired && other.closesAt == nil { close(other, .duplicate) }
    acknowledgeAgain(bond)
    expectAwayPeers(at: bond.host)
    sendAwayPeers(over: bond)
    for presence in bond.host.presences.values { announce(presence) }
    resumeInvitations(with: bond.host)
    resumeIdentities(with: bond)
    askForRosters(of: bond.host)
    endRosters(of: bond.host.id)
    resumeFlows(over: bond)
    prepareToDialBeside(bond)
    reviewWay(over: link)
    connectCircuits(over: link)
  }

  // MARK: Ending

  /// No link is left. Where another is about to take over, the pairs are not suspended yet.
  func suspend(_ bond: Bond) {
    let host = bond.host
    let isHopeless = host.links.allSatisfy { $0.isClosing || $0.isRetired || ($0.isStandby && $0.hasGreeted) }
    if !bond.isSuspended, isHopeless, !dialsStandingMedium(host) { emitSuspended(bond, true) }
    expectAnswer(bond)
  }

  func emitSuspended(_ bond: Bond, _ isSuspended: Bool) {
    bond.isSuspended = isSuspended
    for presence in bond.host.presences.values {
      for cohort in presence.cohorts { emitSuspended(cohort, cohort.relations.connected, isSuspended) }
    }
  }

  /// Ends the bond: its connected members become not connected, and unacknowledged messages get their delivery status.
  func lose(_ bond: Bond, _ reason: Reason, keeping kept: Link? = nil) {
    let host = bond.host
    guard host.bond === bond else { return }
    host.bond = nil
    if let link = bond.link {
      bond.link = nil
      close(link, reason)
      // Neither of two links that were being exchanged is of use.
      for other in host.links where other.isRetired { close(other, reason) }
    }
    bond.next = nil
    for other in host.links where other.isStandby && other !== kept { close(other, reason) }
    var refused: [EndpointID] = []
    for presence in host.presences.values {
      refused += presence.strand?.waiting ?? []
      presence.forgetBond()
      for cohort in cohorts(of: presence) where !cohort.members.isEmpty { lost(cohort, reason) }
    }
    let everSent = bond.sendQueue.everSent
    if !sabotage.contains(.forgetsUndelivered) {
      bond.sendQueue.forEach { ordinal, entry in
        if let message = entry.message {
          emit(
            .deliveryStatus(
              message.id, from: message.from, to: message.to, ordinal <= everSent ? .unknown : .undelivered))
        }
      }
    }
    notifyWritable(refused)
    forgetStored(bond)
    ensureLink(host)
    forgetIfUnknown(host)
  }

  private func forgetStored(_ bond: Bond) {
    guard dirty.isKept else { return }
    dirty.touch(bond: bond.host.id)
    bond.sendQueue.forEach { ordinal, _ in dirty.touch(record: ordinal, of: bond.host.id) }
  }

  /// Sets the timer; work that may wait beyond the next heartbeat is done with a later one.
  func scheduleBond(_ bond: Bond) {
    guard let link = bond.link, let due = bond.comparesRostersAt else { return }
    if due < now + link.profile.heartbeatInterval { timers.set(.bond(bond.host.id), due) }
  }

  func handleBondTimer(_ bond: Bond) {
    if !bond.isOpen {
      guard bond.hasBeenOpen, !bond.host.isSelf else { return }
      let end = bond.heard + bond.suspensionMax
      if now >= end { return lose(bond, .lost) }
      if let due = bond.suspendsAt, !bond.isSuspended {
        guard due <= now else { return timers.set(.bond(bond.host.id), min(due, end)) }
        // The link is dead as well, as far as anybody can tell.
        if replaceLink(of: bond) { return }
        emitSuspended(bond, true)
      }
      timers.set(.bond(bond.host.id), end)
      return
    }
    if let progress = waitingSince(bond) {
      let end = progress + settings.backlogAgeMax
      if now >= end { return lose(bond, .slow) }
      timers.set(.bond(bond.host.id), end)
    }
    if let due = bond.acknowledgesAt {
      if due <= now { acknowledge(bond) } else { timers.set(.bond(bond.host.id), due) }
    }
    if let due = bond.comparesRostersAt {
      if due <= now {
        compareRosters(over: bond)
      }
      scheduleBond(bond)
    }
  }

  /// The oldest progress of a strand that waits for an acknowledgement.
  private func waitingSince(_ bond: Bond) -> Instant? {
    var oldest: Instant?
    bond.behind.forEach { _, strand in
      let since = strand.count > Self.recordsMax ? .distantPast : strand.progress
      oldest = min(oldest ?? since, since)
    }
    return oldest
  }

  /// Messages stop far below; a host with so many unread answers and introductions sends and does not read.
  private static let recordsMax = 65_536

  // MARK: Records out

  /// Appends a record for the members at a host in a group, and returns its ordinal.
  @discardableResult
  func record<F: Frame>(_ presence: Presence, _ make: (RecordHead) -> F) -> UInt64? {
    guard let bond = presence.host.bond, bond.hasBeenOpen else { return nil }
    return record(strand(of: presence, bond), over: bond, make)
  }

  @discardableResult
  func record<F: Frame>(_ strand: Strand, over bond: Bond, _ make: (RecordHead) -> F) -> UInt64 {
    let frame = make(RecordHead(strand: strand.id, sequence: strand.last + 1))
    let length = frame.length
    let ordinal = bond.sendQueue.append(
      F.encodedSize(of: length), of: strand, message: nil, at: now, held: waitsForStore(bond)
    ) { frame.write(length, into: &$0) }
    appended(ordinal, to: strand, over: bond)
    return ordinal
  }

  func appended(_ ordinal: UInt64, to strand: Strand, over bond: Bond) {
    if let link = bond.link, bond.isOpen { wake(link) }
    // The strand had nothing in flight, so no timer covers it; between local peers nothing stays in flight.
    if strand.acknowledged + 1 == strand.last, !bond.host.isSelf {
      bond.behind[strand.id] = strand
      timers.set(.bond(bond.host.id), now + settings.backlogAgeMax)
    }
    guard waitsForStore(bond) else { return }
    dirty.touch(bond: bond.host.id)
    dirty.touch(record: ordinal, of: bond.host.id)
  }

  /// Whether records over the bond are stored before they are sent. Records between local peers change both sides at
  /// once: one batch has the record and all its effects, or neither.
  func waitsForStore(_ bond: Bond) -> Bool { settings.isDurable && !bond.host.isSelf }

  func strand(of presence: Presence, _ bond: Bond) -> Strand {
    if let strand = presence.strand { return strand }
    let strand = bond.makeStrand()
    presence.strand = strand
    return strand
  }

  // MARK: Records in

  /// Checks the sequence number of an incoming record (deduplication): a duplicate or a gap is a protocol violation, so
  /// each record is applied once and in order. The sender retransmits from the position that `attach` names.
  func count(_ record: RecordHead, bytes: Int, over bond: Bond) throws(ProtocolViolation) -> IncomingStrand {
    let strand: IncomingStrand
    if let known = bond.incomingStrand(record.strand) {
      strand = known
    } else {
      guard bond.incoming.count < Limits.strandsMax || bond.host.isSelf else {
        throw ProtocolViolation(.busy, "more than \(Limits.strandsMax) strands")
      }
      strand = IncomingStrand(id: record.strand)
      bond.add(strand)
    }
    if sabotage.contains(.repeatsRecords) || sabotage.contains(.losesRecord), record.sequence != strand.received + 1 {
      strand.received = record.sequence - 1
    }
    guard record.sequence == strand.received + 1 else {
      throw ProtocolViolation(
        .protocolViolation, "record \(record.sequence) of strand \(record.strand) where \(strand.received + 1) is next")
    }
    strand.received += 1
    bond.received += 1
    strand.unacknowledgedBytes += bytes
    bond.markUnacknowledged(strand)
    if waitsForStore(bond) {
      dirty.touch(bond: bond.host.id)
    } else {
      bond.stored = bond.received
    }
    if strand.unacknowledgedBytes >= Self.acknowledgedBytesMax || bond.host.isSelf {
      acknowledge(bond)
    } else if bond.acknowledgesAt == nil {
      scheduleAcknowledgement(bond)
    }
    return strand
  }

  func scheduleAcknowledgement(_ bond: Bond) {
    bond.acknowledgesAt = now + settings.acknowledgementDelay
    timers.set(.bond(bond.host.id), now + settings.acknowledgementDelay)
  }

  /// Bytes after which an acknowledgement goes out at once; a sender's window is far larger, so it never waits for an
  /// acknowledgement alone.
  private static let acknowledgedBytesMax = 64 << 10

  func acknowledge(_ bond: Bond) {
    bond.acknowledgesAt = nil
    var isPending = false
    for strand in bond.unacknowledged {
      let ready = waitsForStore(bond) && !sabotage.contains(.acknowledgesUnstored) ? strand.stored : strand.received
      guard ready > strand.acknowledged, strand.pending == nil, !isHeldBack(strand) else { continue }
      // This host's records up to this moment go out before the acknowledgement: a leave, above all.
      strand.pending = (ready, bond.sendQueue.next - 1)
      strand.unacknowledgedBytes = 0
      isPending = true
    }
    if isPending, let link = bond.link {
      bond.hasPendingAcknowledgement = true
      wake(link)
    }
  }

  /// Backpressure: whether the senders to this strand must wait for a slow program of this host.
  private func isHeldBack(_ strand: IncomingStrand) -> Bool {
    guard let group = strand.group.flatMap({ groups[$0] }) else { return false }
    return group.isBehind
  }

  /// Repeats acknowledgements on a new link, since those on the last one may be lost.
  private func acknowledgeAgain(_ bond: Bond) {
    bond.hasPendingAcknowledgement = false
    bond.incoming.forEach { _, strand in
      strand.acknowledged = 0
      strand.pending = nil
      if strand.received > 0 { bond.markUnacknowledged(strand) }
    }
    if bond.received > 0 { scheduleAcknowledgement(bond) }
  }

  func fillAcknowledgements(_ out: inout OutputRawSpan, for bond: Bond) {
    guard bond.hasPendingAcknowledgement else { return }
    var isPending = false
    for strand in bond.unacknowledged {
      guard let pending = strand.pending else { continue }
      let frame = Ack(strand: strand.id, received: pending.received)
      guard bond.sendQueue.unsent > pending.after, out.freeCapacity >= frame.encodedSize else {
        isPending = true
        continue
      }
      frame.write(into: &out)
      strand.acknowledged = pending.received
      strand.pending = nil
      if strand.received > strand.acknowledged, bond.acknowledgesAt == nil { scheduleAcknowledgement(bond) }
    }
    bond.hasPendingAcknowledgement = isPending
    bond.sweepUnacknowledged()
  }

  func handle(_ ack: Ack, from bond: Bond) throws(ProtocolViolation) {
    guard let strand = bond.strand(ack.strand) else {
      throw ProtocolViolation(.protocolViolation, "an acknowledgement of strand \(ack.strand), which is not there")
    }
    guard strand.acknowledge(ack.received, at: now) else {
      throw ProtocolViolation(.protocolViolation, "an acknowledgement of record \(ack.received), which was not sent")
    }
    if !strand.isBehind { bond.behind[strand.id] = nil }
    var ordinal = bond.sendQueue.first
    let host = bond.host.id
    bond.sendQueue.dropAcknowledged { entry in
      dirty.touch(record: ordinal, of: host)
      ordinal += 1
      if let message = entry.message, message.wantsReceipt {
        emit(.deliveryStatus(message.id, from: message.from, to: message.to, .delivered))
      }
    }
    dirty.touch(bond: bond.host.id)
    forgetAcknowledgedEnds(over: bond)
    notifyWritable(strand)
  }
}
