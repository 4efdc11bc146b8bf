internal import Engine
internal import Wire

/// A peer's own end of a session: all members exchange messages, streams and resources.
///
/// It is left when it is closed or released.
///
/// ```swift
/// for await event in session.events {
///   switch event {
///   case .member(let member, .connected): try await session.send(Array("hello".utf8), to: .only([member]))
///   case .message(let message): print(message.from.name, String(decoding: message.bytes, as: UTF8.self))
///   default: break
///   }
/// }
/// ```
public final class Session: Sendable, Identifiable {
  public let id: EndpointID
  public let peer: PeerID
  /// Events in order, for one reader. Senders wait while 32 MiB are unread; after ten seconds of that the session is
  /// closed, and its events end.
  public let events: Events<SessionEvent>
  /// The files that it continues to send since before its host was started again: `SessionEvent.sending` reports each.
  public var resumedFiles: [String] { resumed.map(\.path) }
  let resumed: [ResumedFile]
  /// The states of ad hoc mode, the latest where several were not read. It has one reader.
  public let adhocStates: Events<DiscoveryState>
  let state: SessionState
  let loop: Loop

  init(_ state: SessionState, resuming resumed: [ResumedFile] = [], _ loop: Loop) {
    self.resumed = resumed
    id = state.id
    peer = state.peer
    events = Events(mailbox: state.mailbox)
    adhocStates = Events(mailbox: state.adhoc.changes)
    self.state = state
    self.loop = loop
  }

  deinit {
    loop.post { [id] in $0.closeSession(id) }
  }

  /// Members that were last reported as connected.
  public var members: [Member] { state.connected }
  package var memberCount: Int { state.connectedCount }

  // MARK: Joining

  /// Invites a peer that is nearby; returns when it is connected. Zero or a negative timeout means 30 seconds.
  public func invite(
    _ peer: PeerID, as type: String, context: [UInt8] = [], timeout: Duration = .seconds(30)
  ) async throws(NearbyError) {
    try await attempt("the invitation") { [id] in
      try $0.invite(peer, to: id, as: type, context: context, timeout: timeout)
    }.joined()
  }

  /// Data for a program that has a way of its own to another: the two exchange these, and each connects with the
  /// other's.
  public func connectionData() async throws(NearbyError) -> [UInt8] {
    try await loop.run { [id] in try $0.connectionData(of: id) }
  }

  /// Connects with a peer by its program's data, while that program does the same; returns when the two are connected.
  /// It needs no discovery. Zero or a negative timeout means 30 seconds.
  public func connect(
    to peer: PeerID, with data: [UInt8], timeout: Duration = .seconds(30)
  ) async throws(NearbyError) {
    try await beginConnecting(to: peer, with: data, timeout: timeout).joined()
  }

  /// As `connect`, but returns at once; invalid data throw here.
  public func beginConnecting(
    to peer: PeerID, with data: [UInt8], timeout: Duration = .seconds(30)
  ) async throws(NearbyError) -> Attempt {
    try await attempt("the connection") { [id] in try $0.connect(id, to: peer, with: data, timeout: timeout) }
  }

  private func attempt(
    _ what: String, _ begin: @Sendable (HostDriver) throws -> (InvitationID, Promise<Reason>)
  ) async throws(NearbyError) -> Attempt {
    let (invitation, meeting) = try await loop.run(begin)
    return Attempt(invitation, meeting, what, loop)
  }

  /// Connects with all nearby peers in the same mode, and advertises this peer for it. A peer whose person said no to
  /// this session, or twice nothing, is not asked again automatically: `invite` asks it by hand.
  public func startAdhoc(
    _ type: String, info: [String: String] = [:], until: Until = .stopped
  ) async throws(NearbyError) {
    try await loop.run { [id] in try $0.startAdhoc(id, type, info, until) }
  }

  /// Whether others can find this session, and it them. It is meaningless where ad hoc mode is off.
  public var adhocState: DiscoveryState { state.adhoc.state }

  public func stopAdhoc() async {
    try? await loop.run { [id] in $0.stopAdhoc(id) }
  }

  // MARK: Messages

  /// Sends as soon as there is room; a reliable message then arrives once and in order, or is reported as undelivered.
  ///
  /// Its receivers get the content type, a media type such as `image/png` of at most 127 bytes.
  public func send(
    _ bytes: [UInt8], contentType: String? = nil, to recipients: Recipients = .all, _ mode: Mode = .reliable
  ) async throws(NearbyError) {
    while case .full = try post(bytes, contentType, recipients, mode) {
      await state.room()
      if Task.isCancelled { throw NearbyError(.cancelled, "the send was cancelled") }
    }
  }

  /// Sends to one member and returns when its host has acknowledged the message; throws where it has not, or nobody
  /// knows.
  public func deliver(
    _ bytes: [UInt8], contentType: String? = nil, to member: Member
  ) async throws(NearbyError) {
    let receipt = Promise<DeliveryStatus>()
    while case .full = try post(bytes, contentType, .only([member]), .reliable, .once(receipt)) {
      await state.room()
      if Task.isCancelled { throw NearbyError(.cancelled, "the send was cancelled") }
    }
    switch await receipt.value {
    case .delivered: return
    case .undelivered: throw NearbyError(.notConnected, "the message did not reach \(member.name)", reason: .lost)
    case .unknown: throw NearbyError(.unknown, "nobody knows whether the message reached \(member.name)", reason: .lost)
    }
  }

  private func post(
    _ bytes: [UInt8], _ contentType: String?, _ recipients: Recipients, _ mode: Mode, _ inquiry: Inquiry? = nil
  ) throws(NearbyError) -> SessionState.Offer {
    let offer = try state.offer(bytes, contentType, recipients, mode, inquiry: inquiry)
    if case .taken(isNews: true) = offer { loop.post { [state] in $0.flush(state) } }
    return offer
  }

  /// Sends at once or not at all: `unavailable` where the queue is full.
  public func trySend(
    _ bytes: [UInt8], contentType: String? = nil, to recipients: Recipients = .all, _ mode: Mode = .reliable
  ) throws(NearbyError) {
    if case .full = try post(bytes, contentType, recipients, mode) {
      throw NearbyError(queueFull: "the queue is full: a member is behind; wait, or use the waiting form")
    }
  }

  /// Sends reliably, at once or not at all; the delivery status of each recipient comes as `SessionEvent.deliveryStatus`.
  public func trySend(
    withReceipt bytes: [UInt8], contentType: String? = nil, to recipients: Recipients = .all
  ) throws(NearbyError) -> Receipt {
    let receipt = state.receipt(for: recipients)
    // A message to nobody fails in the same words as without a receipt.
    let named = receipt.recipients.isEmpty ? recipients : .only(receipt.recipients)
    if case .full = try post(bytes, contentType, named, .reliable, .each(receipt.id)) {
      throw NearbyError(queueFull: "the queue is full: a member is behind; wait, or use the waiting form")
    }
    return receipt
  }

  // MARK: Streams and resources

  /// Opens a stream of bytes to one member, which may be written at once.
  public func openStream(_ name: String, to member: Member) async throws(NearbyError) -> StreamWriter {
    let state = try await loop.run { [id] in try $0.openStream(name, from: id, to: member.id) }
    return StreamWriter(state, name: name, to: member, loop)
  }

  /// Offers a resource to a member: a file, the content of a URL, or bytes.
  ///
  /// Name and media type are taken from the source where they are not given.
  public func send(
    _ source: ResourceSource, name: String? = nil, type: String? = nil, to member: Member
  ) async throws(NearbyError) -> OutgoingResource {
    let opened = try await source.open(loop)
    let state = try await loop.run { [id] in try $0.offer(opened, name: name, type: type, from: id, to: member.id) }
    return OutgoingResource(state, to: member, loop)
  }

  // MARK: Members

  /// Removes a member; banned, it does not come back by invitation either.
  public func remove(_ member: Member, ban: Bool = false) async throws(NearbyError) {
    try await loop.run { [id] in try $0.remove(member.id, from: id, ban: ban) }
  }

  /// A locked session admits nobody whom it does not know.
  public func lock(_ locked: Bool = true) async {
    try? await loop.run { [id] in $0.lock(id, locked) }
  }

  /// A blocked peer's invitations are declined unseen, and this session does not admit it.
  public func block(_ peer: PeerID, _ blocked: Bool = true) async {
    try? await loop.run { [id] in $0.block(peer, from: id, blocked) }
  }

  /// Begins to compare codes with a connected peer; the code comes as `SessionEvent.comparison`. Returns the number of the
  /// comparison.
  @discardableResult
  public func compare(with peer: PeerID) async throws(NearbyError) -> UInt64 {
    try await loop.run { [self] in try $0.compare(self.peer, with: peer, in: id).rawValue }
  }

  // MARK: The shared clock

  /// The clock that all members share, as it is now. Where it has not been compared with the others' yet, this waits for
  /// that, up to a second; reading it keeps it synchronized for a minute.
  public var clock: SessionTime {
    get async throws(NearbyError) {
      let reading = try await loop.run { [id] in $0.readClock(of: id) }
      return try await reading.value.get()
    }
  }

  // MARK: Leaving

  /// Leaves the other members, which are notified at once; the session can be used again.
  public func leave() async {
    try? await loop.run { [id] in $0.leave(id) }
  }

  /// Leaves, and ends the events.
  public func close() async {
    try? await loop.run { [id] in $0.closeSession(id) }
  }
}
