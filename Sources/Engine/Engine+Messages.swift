public import Wire

/// Messages: one frame for each host, exactly once and in order where reliable, at once or not at all where not.
extension Engine {
  /// Sends to connected members: to all of the named, or to nobody.
  ///
  /// `unavailable` means that a host is behind; `Output.writable` follows when it has caught up. A host of a version
  /// without content types gets the message without.
  @discardableResult
  public func send(
    _ payload: RawSpan, contentType: ContentType? = nil, from endpoint: EndpointID, to recipients: RecipientIDs,
    _ mode: Mode, receipt: Bool, at now: Instant
  ) throws(EngineError) -> MessageID {
    beginMutation(now)
    defer { finishMutation() }
    let local = try local(endpoint)
    let shares = try shares(of: recipients, local)
    let id = MessageID(rawValue: number())
    switch mode {
    case .reliable:
      try checkRoom(for: payload.byteCount, shares, local)
      for share in shares { post(payload, contentType, share, id, from: local, receipt: receipt) }
    case .unreliable:
      guard payload.byteCount <= Limits.datagramPayloadBytesMax else {
        throw EngineError(
          .invalidParameter,
          "\(payload.byteCount) bytes are too many for an unreliable message; at most \(Limits.datagramPayloadBytesMax)"
        )
      }
      for share in shares { sendUnreliable(payload, contentType, share, from: local) }
    }
    return id
  }

  /// Backpressure from a local endpoint's program that is behind, or its end. Meanwhile nothing that comes for its
  /// group is acknowledged: the senders fill their queues and wait, as they do for a slow host.
  public func setBehind(_ endpoint: EndpointID, _ isBehind: Bool, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let local = endpoints[endpoint] else { return }
    local.group.note(local, isBehind: isBehind)
    guard !local.group.isBehind else { return }
    for bond in hosts.values.compactMap(\.bond) where bond.received > 0 && bond.acknowledgesAt == nil {
      scheduleAcknowledgement(bond)
    }
  }

  private func shares(of recipients: RecipientIDs, _ local: LocalEndpoint) throws(EngineError) -> [Group.Share] {
    switch recipients {
    case .all:
      let shares = local.group.shares(for: local.slot)
      guard !shares.isEmpty else { throw EngineError(.notConnected, "nobody is connected in this session") }
      return shares
    case .only(let endpoints):
      guard !endpoints.isEmpty else { throw EngineError(.invalidParameter, "a message to nobody") }
      return try sharesByHost(of: endpoints, local)
    }
  }

  private func sharesByHost(of endpoints: [EndpointID], _ local: LocalEndpoint) throws(EngineError) -> [Group.Share] {
    var named = OrderedDictionary<HostID, [RemoteMember]>()
    var missing: [EndpointID] = []
    var seen: Set<EndpointID> = []
    for endpoint in endpoints where seen.insert(endpoint).inserted {
      if let member = local.group.members[endpoint], member.isConnected(with: local.slot) {
        named[member.host.id, default: []].append(member)
      } else {
        missing.append(endpoint)
      }
    }
    guard missing.isEmpty else {
      throw EngineError(
        .notConnected, "\(missing.count) of the recipients are not connected; nothing was sent", endpoints: missing)
    }
    return named.values.flatMap { members in
      let presence = members[0].presence
      // The shorter form is equivalent if nobody is left out.
      let isAll = members.count == presence.connectedCount(with: local.slot) || sabotage.contains(.tellsEveryone)
      return (isAll ? presence.addressings(for: local.slot) : presence.addressings(for: members)).map {
        Group.Share(presence: presence, addressing: $0)
      }
    }
  }

  // MARK: Reliable

  private func checkRoom(for size: Int, _ shares: [Group.Share], _ local: LocalEndpoint) throws(EngineError) {
    guard size <= Limits.messagePayloadBytesMax else {
      throw EngineError(
        .invalidParameter,
        "\(size) bytes are too many for a message; at most \(Limits.messagePayloadBytesMax): send a resource")
    }
    var isFull = false
    for share in shares {
      guard let strand = share.presence.strand else { continue }
      let fits =
        strand.byteCount == 0
        || (strand.byteCount + size <= settings.backlogBytesMax && strand.count < settings.backlogCountMax)
      guard !fits, !sabotage.contains(.hoards) else { continue }
      isFull = true
      if !strand.waiting.contains(local.id) { strand.waiting.append(local.id) }
    }
    if isFull {
      throw EngineError(queueFull: "the queue is full: a host is behind; go on when the session is writable")
    }
  }

  private func post(
    _ payload: RawSpan, _ contentType: ContentType?, _ share: Group.Share, _ id: MessageID, from local: LocalEndpoint,
    receipt: Bool
  ) {
    let presence = share.presence
    guard let bond = presence.host.bond else { return }
    let strand = strand(of: presence, bond)
    let head = RecordHead(strand: strand.id, sequence: strand.last + 1)
    let selection = share.addressing.selection
    let contentType = bond.features.contains(.contentTypes) ? contentType : nil
    let size = MessageView.encodedSize(
      record: head, from: local.index, seen: bond.received, to: selection, contentType: contentType,
      payloadBytes: payload.byteCount)
    let message = SendQueue.Message(id: id, from: local.id, to: share.addressing.recipients, wantsReceipt: receipt)
    let ordinal = bond.sendQueue.append(
      size, of: strand, message: message, isTyped: contentType != nil, at: now, held: waitsForStore(bond)
    ) { out in
      MessageView.write(
        record: head, from: local.index, seen: bond.received, to: selection, contentType: contentType, payload: payload,
        into: &out)
    }
    appended(ordinal, to: strand, over: bond)
  }

  func handle(message body: RawSpan, isTyped: Bool, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    let view: MessageView
    do throws(WireError) { view = try MessageView(decoding: body, isTyped: isTyped) } catch {
      throw ProtocolViolation(.protocolViolation, "message: \(error)")
    }
    _ = try count(view.record, bytes: body.byteCount, over: bond)
    guard let senders = bond.members[view.from] else {
      // The sender left while this was in flight to two groups that were being merged, or it lies.
      return
    }
    for sender in senders {
      guard let locals = recipients(view.selection, of: sender, seen: view.seen, inOrder: true) else { continue }
      emit(.message(from: sender.id, to: locals, .reliable, view.contentType, payload(view.payload, of: link)))
    }
  }

  private func recipients(
    _ selection: borrowing EndpointSelectionView, of sender: RemoteMember, seen: UInt64, inOrder: Bool
  )
    -> Locals?
  {
    let group = sender.presence.group
    if selection.isAll {
      if sabotage.contains(.tellsRefused) { return group.locals(in: group.localSlots) }
      return sender.connected(asSeenAt: seen, inOrder: inOrder)
    }
    if selection.kind == .only {
      var named = SlotSet()
      var indexes = selection.indexes
      while let index = indexes.next() {
        if let local = endpointsByIndex[index], local.group === group, sender.isConnected(with: local.slot) {
          if selection.count == 1 { return .one(local.id) }
          named.insert(local.slot)
        }
      }
      return group.locals(in: named)
    }
    var slots = sender.connected
    var indexes = selection.indexes
    while let index = indexes.next() {
      if let local = endpointsByIndex[index], local.group === group { slots.remove(local.slot) }
    }
    return group.locals(in: slots)
  }

  /// Messages that a member's host had not read when the bond ended are undelivered.
  func undeliver(to members: [RemoteMember], from local: LocalEndpoint?, after seen: UInt64) {
    guard !sabotage.contains(.forgetsUndelivered), let bond = members.first?.host.bond else { return }
    let ids = Set(members.map(\.id))
    bond.sendQueue.forEach { ordinal, entry in
      guard ordinal > seen, let message = entry.message, local == nil || local?.id == message.from else { return }
      let missed = message.to.filter(ids.contains)
      guard !missed.isEmpty else { return }
      emit(.deliveryStatus(message.id, from: message.from, to: missed, .undelivered))
    }
    bond.sendQueue.forget(ids, of: local?.id, after: seen)
  }

  /// The sender leaves, so no status is reported to it; the messages still go out, and may arrive.
  func abandonMessages(of local: LocalEndpoint) {
    guard !sabotage.contains(.forgetsUndelivered) else { return }
    for presence in local.group.presences.values {
      presence.host.bond?.sendQueue.forget(from: local.id) { ordinal, message in
        emit(.deliveryStatus(message.id, from: message.from, to: message.to, .unknown))
        dirty.touch(record: ordinal, of: presence.host.id)
      }
    }
  }

  func notifyWritable(_ strand: Strand) {
    guard !strand.waiting.isEmpty, strand.byteCount <= settings.backlogBytesMax / 2,
      strand.count <= settings.backlogCountMax / 2
    else { return }
    let refused = strand.waiting
    strand.waiting = []
    notifyWritable(refused)
  }

  /// Notifies the endpoints that no other host keeps waiting.
  func notifyWritable(_ refused: [EndpointID]) {
    for endpoint in refused {
      guard let local = endpoints[endpoint] else { continue }
      let waits = local.group.presences.contains { $0.strand?.waiting.contains(endpoint) ?? false }
      if !waits { emit(.writable(endpoint)) }
    }
  }

  // MARK: Unreliable

  private func sendUnreliable(
    _ payload: RawSpan, _ contentType: ContentType?, _ share: Group.Share, from local: LocalEndpoint
  ) {
    guard let bond = share.presence.host.bond, bond.isOpen, let link = bond.link else { return }
    let selection = share.addressing.selection
    let contentType = bond.features.contains(.contentTypes) ? contentType : nil
    let size = DatagramView.encodedSize(
      from: local.index, seen: bond.received, to: selection, contentType: contentType, payloadBytes: payload.byteCount)
    if size <= link.datagramBytesMax {
      let datagram = compose(size) {
        DatagramView.write(
          from: local.index, seen: bond.received, to: selection, contentType: contentType, payload: payload, into: &$0)
      }
      emit(.datagram(link.id, datagram))
    } else if link.lossy.count <= Self.lossyBytesMax {
      link.lossy.append(size) {
        DatagramView.write(
          from: local.index, seen: bond.received, to: selection, contentType: contentType, payload: payload, into: &$0)
      }
      link.lossySizes.append(size)
      wake(link)
    }
  }

  /// The waiting bytes above which a further message is dropped on a medium without datagrams: late is worse than never.
  /// A slow radio carries them in a twentieth of a second, and what a program says in one go fits.
  private static let lossyBytesMax = 4_096

  func handle(datagram body: RawSpan, isTyped: Bool, from link: Link) throws(ProtocolViolation) {
    guard let bond = link.host.bond else { return }
    do throws(WireError) {
      let view = try DatagramView(decoding: body, isTyped: isTyped)
      deliver(view, payload(view.payload, of: link), over: bond)
    } catch {
      throw ProtocolViolation(.protocolViolation, "datagram: \(error)")
    }
  }

  func deliver(_ view: borrowing DatagramView, _ payload: Payload, over bond: Bond) {
    // Otherwise it was sent in an earlier bond, or by a liar.
    guard view.seen < bond.sendQueue.next else { return }
    for sender in bond.members[view.from] ?? [] {
      guard let locals = recipients(view.selection, of: sender, seen: view.seen, inOrder: false) else { continue }
      emit(.message(from: sender.id, to: locals, .unreliable, view.contentType, payload))
    }
  }
}
