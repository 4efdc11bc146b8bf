internal import Nearby
internal import Notation
internal import Reactor
internal import Web

extension Core {
  /// Larger contents are sent as resources.
  static let messageBytesMax = 1 << 20

  /// Records a message: one text for all its sessions here.
  func received(_ message: Message, in audience: EventAudience) {
    // An unreliable message was announced when it came.
    if message.mode == .unreliable { return }
    meters.message(.incoming, message.mode, message.bytes.count, times: audience.sessions.count)
    // A message of a durable history is announced once it is stored.
    if audience.messages.isEmpty, audience.otherMessages.isEmpty { return }
    let (text, id) = (MessageText(message), Secrets.messageID())
    let written = text.written(as: id, at: Timestamp.now)
    for model in audience.otherMessages { put(text, as: id, written, in: model) }
    let facets = messageFacets.of(text.from, text.mode.word)
    for (items, slots) in audience.messages {
      items.put(id, SharedItems.Content(bytes: written, facets: facets), in: slots)
    }
  }

  /// Announces an unreliable message, which waits neither for the sessions' other events nor for the store.
  func receiveUnreliable(_ message: Message, in sessions: [EndpointID]) {
    // The host is in the middle of its outputs.
    reactor.soon { [weak self] in
      guard let self else { return }
      let (text, models) = (MessageText(message), self.sessions.audience(sessions).sessions)
      meters.message(.incoming, .unreliable, message.bytes.count, times: models.count)
      for model in models { announce(text, in: model) }
    }
  }

  @discardableResult
  private func announce(_ text: MessageText, in model: SessionModel) -> [UInt8] {
    model.datagrams.announce(owner: model.owner, facets: ["from": text.from]) {
      text.written(as: $0, at: Timestamp.now)
    }
  }

  @discardableResult
  private func put(_ text: MessageText, as id: String, _ written: [UInt8], in model: SessionModel) -> Item {
    let facets = messageFacets.of(text.from, text.mode.word)
    return model.messages.put(id, written: written, owner: model.owner, facets: facets)
  }

  // MARK: Sending

  /// Sends to the named recipients, or to all connected members: at once or not at all. The message is not kept, and
  /// the answer says what was sent.
  func sendUnreliably(_ call: Call, in model: SessionModel) throws -> Reply {
    let recipients = try recipients(call, in: model)
    let text = try text(of: call, .unreliable, to: recipients, in: model)
    do throws(NearbyError) {
      let addressees = recipients.map(Recipients.only) ?? .all
      _ = try model.session.dispatch(
        text.bytes, contentType: text.contentType, to: addressees, .unreliable, wantsDeliveryStatus: false)
    } catch {
      throw Problem(error)
    }
    meters.message(.outgoing, .unreliable, call.body.count)
    return Reply(202, .json(announce(text, in: model)))
  }

  private func text(
    of call: Call, _ mode: Mode, to recipients: [Member]?, in model: SessionModel
  ) throws(Problem) -> MessageText {
    MessageText(
      from: model.peer.id, name: model.peer.peer.name, to: recipients?.map(\.peer.text), mode: mode, bytes: call.body,
      contentType: try contentType(of: call))
  }

  private func contentType(of call: Call) throws(Problem) -> String? {
    guard let text = call.headers["Content-Type"] else { return nil }
    do throws(NearbyError) { return try Message.contentType(text) } catch {
      throw Problem(
        .invalidParameter, error.description, field: "Content-Type", rule: "mediaType",
        limit: Limits.contentTypeBytesMax)
    }
  }

  /// Sends all of it, or nothing, to the named recipients, or to all connected members. If the history is durable, the
  /// answer comes once the message is stored. Without a name the message gets one.
  func send(_ call: Call, in model: SessionModel, named name: String? = nil) async throws -> Item {
    guard let history = model.history else { return try sendAtOnce(call, in: model, named: name) }
    try requireDiskSpace("sent")
    let recipients = try recipients(call, in: model)
    let text = try text(of: call, .reliable, to: recipients, in: model)
    do {
      let item = try await store(text, named: name, to: recipients, in: model, history)
      meters.message(.outgoing, .reliable, call.body.count)
      return item
    } catch let error as NearbyError {
      throw Problem(error)
    }
  }

  /// The same in a session whose history is not durable: nothing has to be waited for.
  func sendAtOnce(_ call: Call, in model: SessionModel, named name: String? = nil) throws(Problem) -> Item {
    let recipients = try recipients(call, in: model)
    let text = try text(of: call, .reliable, to: recipients, in: model)
    earlyStatuses = []
    defer { earlyStatuses = nil }
    let count = recipients?.count ?? model.session.memberCount
    let number: UInt64
    do throws(NearbyError) {
      number = try model.session.dispatch(
        text.bytes, contentType: text.contentType, to: recipients.map(Recipients.only) ?? .all, .reliable,
        wantsDeliveryStatus: true)
    } catch {
      throw Problem(error)
    }
    meters.message(.outgoing, .reliable, call.body.count)
    let id = name ?? Secrets.messageID()
    let head = text.written(as: id, at: Timestamp.now).dropLast()
    // Peers of this gateway have it by now.
    let early = (earlyStatuses ?? []).filter { $0.message == number }.map { ($0.recipients, $0.status) }
    var delivery = delivery(of: id, head.count, to: recipients, count, early, in: model)
    let item = put(text, as: id, delivery.written(after: head), in: model)
    if !delivery.isSettled { model.deliveries[number] = delivery }
    return item
  }

  /// The delivery status of a message to these, or to all, as it is known once the engine has the message.
  private func delivery(
    of id: String = "", _ headCount: Int = 0, to recipients: [Member]?, _ count: Int, _ early: EarlyStatuses,
    in model: SessionModel
  ) -> Delivery {
    let deliveredCount = early.reduce(0) { $1.status == .delivered ? $0 + $1.recipients.count : $0 }
    if deliveredCount == count, let members = known(recipients, count, in: model) {
      return Delivery(deliveredTo: count, count > Delivery.namedMax ? nil : members)
    }
    var delivery = Delivery(of: id, headCount, to: recipients ?? model.session.members)
    for early in early { delivery.set(early.status, for: early.recipients) }
    return delivery
  }

  /// The members who are these recipients, or all; none where they are too many to be named, and nil where its list shows
  /// others yet.
  private func known(_ recipients: [Member]?, _ count: Int, in model: SessionModel) -> [MemberModel]? {
    if count > Delivery.namedMax { return [] }
    let members = recipients?.compactMap { model.known($0.id) } ?? model.connected
    return members.count == count ? members : nil
  }

  /// Idempotent send: returns the message with that name, or sends it once, however often it is asked for.
  func put(_ call: Call, in model: SessionModel, named name: String) async throws -> (item: Item, isNew: Bool) {
    // Errors are reported whether it was sent before or not.
    guard try mode(call) == .reliable else {
      throw Problem(
        .invalidParameter, "an unreliable message is not stored, so it cannot have an id: POST it to the list",
        field: "mode", rule: "oneOf")
    }
    if let item = model.messages[name] { return (item, false) }
    guard let history = model.history else { return (try await send(call, in: model, named: name), true) }
    guard History.ordinal(of: name) == nil else {
      throw Problem(
        .invalidParameter, "ids like 'm12' are reserved for messages without one of the client: choose another",
        field: "message", rule: "reserved")
    }
    return try await history.names.withLock(name) {
      if let item = try await history.item(name) { return (item, false) }
      return (try await send(call, in: model, named: name), true)
    }
  }

  private func store(
    _ text: MessageText, named name: String?, to recipients: [Member]?, in model: SessionModel,
    _ history: any DurableHistory
  ) async throws -> Item {
    let item: Item? = try await withCheckedThrowingContinuation { continuation in
      sessionStore.delayCommit(host) {
        do {
          let count = recipients?.count ?? model.session.memberCount
          // All may have left meanwhile.
          if count == 0 { throw Self.nobodyConnected }
          try history.send(text, named: name) {
            try model.session.dispatch(
              text.bytes, contentType: text.contentType, to: recipients.map(Recipients.only) ?? .all, .reliable,
              wantsDeliveryStatus: true)
          } delivery: { early in
            self.delivery(to: recipients, count, early, in: model)
          } settle: {
            continuation.resume(returning: $0)
          }
        } catch {
          continuation.resume(throwing: error)
        }
      } onFailure: {
        continuation.resume(throwing: $0)
      }
    }
    guard let item else { throw Problem(.unavailable, "the gateway stopped before the message was stored") }
    return item
  }

  private static var nobodyConnected: Problem {
    Problem(.notConnected, "nobody is connected in this session, and so nothing was sent", rule: "connected")
  }

  /// Nil for all.
  private func recipients(_ call: Call, in model: SessionModel) throws(Problem) -> [Member]? {
    let names = call.query.filter { $0.name == "to" }.map(\.value)
    if names.isEmpty {
      if model.counts.connected == 0 { throw Self.nobodyConnected }
      return nil
    }
    guard !names.contains("") else {
      throw Problem(
        .invalidParameter, "'to' names nobody: name connected members, or leave it out for all", field: "to",
        rule: "required")
    }
    var recipients: [Member] = []
    for name in names {
      guard let known = model.find(name), known.isConnected else {
        throw Problem(
          .notConnected, "\(QuotedText.of(name)) is not connected in this session, and so nothing was sent",
          field: "to",
          rule: "connected")
      }
      if !recipients.contains(known.member) { recipients.append(known.member) }
    }
    return recipients
  }

  func mode(_ call: Call) throws(Problem) -> Mode {
    switch try call.parameter("mode") {
    case nil, "reliable": return .reliable
    case "unreliable": return .unreliable
    case let text?:
      throw Problem(
        .invalidParameter, "'mode' is \(QuotedText.of(text)) and must be 'reliable' or 'unreliable'", field: "mode",
        rule: "oneOf")
    }
  }
}
