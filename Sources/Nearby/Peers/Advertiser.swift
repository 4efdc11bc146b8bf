/// An advertised peer, until this is stopped or released. Sessions that were joined through it stay.
///
/// ```swift
/// let advertiser = try await bob.advertise("chat", info: ["room": "2"])
/// for await invitation in advertiser.invitations {
///   try await invitation.accept(with: session)
/// }
/// ```
public final class Advertiser: Sendable {
  /// Incoming invitations. An unread one ends by its timeout.
  public let invitations: Events<Invitation>
  /// Its states, the latest where several were not read. It has one reader.
  public let states: Events<DiscoveryState>
  private let monitor: DiscoveryMonitor
  private let interest: Interest
  private let loop: Loop

  init(_ interest: Interest, _ invitations: Mailbox<Invitation>, _ monitor: DiscoveryMonitor, _ loop: Loop) {
    self.interest = interest
    self.invitations = Events(mailbox: invitations)
    self.monitor = monitor
    states = Events(mailbox: monitor.changes)
    self.loop = loop
  }

  deinit {
    loop.post { [interest] in $0.stopAdvertising(interest) }
  }

  public var type: String { interest.type.text }

  /// Whether others can find the peer.
  public var state: DiscoveryState { monitor.state }

  /// Browsers get the new info without losing the peer.
  public func update(info: [String: String]) async throws(NearbyError) {
    try await loop.run { [interest] in try $0.update(interest, info) }
  }

  public func stop() async {
    try? await loop.run { [interest] in $0.stopAdvertising(interest) }
  }
}
