/// A browser for peers, until it is stopped or released.
///
/// ```swift
/// let browser = try await ada.browse("chat")
/// for await event in browser.events {
///   if case .found(let peer) = event { try await session.invite(peer.id, as: "chat") }
/// }
/// ```
public final class Browser: Sendable {
  /// Found and lost peers, beginning with those that are there already. It has one reader.
  public let events: Events<BrowserEvent>
  /// Its states, the latest where several were not read. It has one reader.
  public let states: Events<DiscoveryState>
  private let monitor: DiscoveryMonitor
  let interest: Interest
  private let number: UInt64
  let loop: Loop

  init(
    _ interest: Interest, _ number: UInt64, _ events: Mailbox<BrowserEvent>, _ monitor: DiscoveryMonitor, _ loop: Loop
  ) {
    self.interest = interest
    self.number = number
    self.events = Events(mailbox: events)
    self.monitor = monitor
    states = Events(mailbox: monitor.changes)
    self.loop = loop
  }

  deinit {
    loop.post { [interest, number] in $0.stopBrowsing(interest, number) }
  }

  public var type: String { interest.type.text }

  public var state: DiscoveryState { monitor.state }

  /// The peers that are nearby now.
  public var found: [FoundPeer] {
    get async { (try? await loop.run { [interest] in $0.found(interest) }) ?? [] }
  }

  public func stop() async {
    try? await loop.run { [interest, number] in $0.stopBrowsing(interest, number) }
  }
}

public enum BrowserEvent: Hashable, Sendable {
  case found(FoundPeer)
  /// The same peer, with another name or other info; or it is away, or present again.
  case updated(FoundPeer)
  case lost(FoundPeer)
}

/// A peer nearby. Its name and info are its own words.
public struct FoundPeer: Hashable, Sendable, Identifiable {
  public let id: PeerID
  public let name: String
  public let info: [String: String]
  /// Since when its program is away, as its host says; nil while it is present.
  public let awaySince: ContinuousClock.Instant?
}
