internal import Engine
internal import Wire

/// A participant that this host carries.
///
/// ```swift
/// let ada = try await host.peer(named: "Ada")
/// let session = try await ada.openSession()
/// try await session.startAdhoc("chat")
/// ```
public struct Peer: Sendable, Identifiable {
  public let id: PeerID
  public let name: String
  let loop: Loop

  init(id: PeerID, name: String, _ loop: Loop) {
    self.id = id
    self.name = name
    self.loop = loop
  }

  /// Advertises this peer for a service type, such as `chat`: others can find and invite it, and see the info. An
  /// automatic end finishes the advertiser's invitations too.
  public func advertise(
    _ type: String, info: [String: String] = [:], until: Until = .stopped
  ) async throws(NearbyError) -> Advertiser {
    let invitations = Mailbox<Invitation>(weightMax: HostDriver.eventsMax)
    let monitor = DiscoveryMonitor()
    let interest = try await loop.run { [id] in try $0.advertise(id, type, info, until, invitations, monitor) }
    return Advertiser(interest, invitations, monitor, loop)
  }

  /// Browses for peers that advertise the service type, of this host and of others. An automatic end finishes the
  /// browser's events too.
  public func browse(_ type: String, until: Until = .stopped) async throws(NearbyError) -> Browser {
    let events = Mailbox<BrowserEvent>(weightMax: HostDriver.eventsMax)
    let monitor = DiscoveryMonitor()
    let (interest, number) = try await loop.run { [id] in try $0.browse(id, type, until, events, monitor) }
    return Browser(interest, number, events, monitor, loop)
  }

  /// Tells those who found this peer, and those who are in sessions with it, that it is away since then: nobody reads
  /// its messages for now. It stays found and connected. Nil says that it is present again.
  ///
  /// ```swift
  /// try await ada.setAway(since: .now)
  /// try await ada.setAway(since: nil)
  /// ```
  public func setAway(since moment: ContinuousClock.Instant?) async throws(NearbyError) {
    try await loop.run { [id] in try $0.setAway(id, since: moment) }
  }

  /// The sessions that this peer was in when its host was killed, oldest first, of a host with a store. Each reports
  /// anew where its members stand, and which resources resume. They can be taken up once; those that nobody takes up
  /// within a minute are left.
  ///
  /// ```swift
  /// let earlier = try await ada.restoredSessions()
  /// let session = if let first = earlier.first { first } else { try await ada.openSession() }
  /// for await event in session.events {
  ///   switch event {
  ///   case .resource(let resource) where resource.isUnderWay: print("\(try await resource.finished()) is whole")
  ///   case .sending(let resource): try await resource.finished()
  ///   default: break
  ///   }
  /// }
  /// ```
  public func restoredSessions() async throws(NearbyError) -> [Session] {
    let restored = try await loop.run { [id] in $0.takeRestored(id) }
    return restored.map { Session($0.state, resuming: $0.files, loop) }
  }

  /// Opens a session with nobody else in it yet: invite, or accept an invitation with it.
  public func openSession(_ options: SessionOptions = SessionOptions()) async throws(NearbyError) -> Session {
    let state = try await loop.run { [id] in try $0.openSession(id, options) }
    return Session(state, loop)
  }
}
