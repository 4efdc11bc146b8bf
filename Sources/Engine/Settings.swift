public import Wire

/// A host's parameters.
public struct Settings: Sendable {
  /// How other hosts can reach this one, the best first; sent in `hello` and in entries, as far as
  /// `Limits.helloAddressesMax` and `Limits.entryAddressesMax`. `setAddresses` changes it.
  public var addresses: [Address] = []
  /// Whether the host stores what the engine asks it to (`Output.persist`) and answers with `persisted`.
  public var isDurable = false

  /// The media of this host, by their IDs; one at least, and the same for the engine's life.
  public var media: [MediumProfile] = [.lan]
  /// The limits of relaying between hosts that have no common medium, where this one has several; nil: it does not relay.
  public var relay: RelayRules?
  /// Whether relays are looked for beyond the members of own sessions.
  public var looksForRelays = true

  /// How long a pair whose members know of each other may take to connect before it is unreachable.
  public var connectingMax: Duration = .seconds(30)
  /// The handshake timeout of a link: its hello must come by then.
  public var greetingMax: Duration = .seconds(5)
  /// The idle timeout of a link that nobody needs.
  public var idleMax: Duration = .seconds(60)
  /// How long an acknowledgement is delayed, so that one covers several records.
  public var acknowledgementDelay: Duration = .milliseconds(20)
  /// The interval of probes to a found host without a link; after a probe that stays unanswered for half as long, they
  /// come more often.
  public var probeInterval: Duration = .seconds(3)
  /// How often hosts of a group compare rosters.
  public var rosterInterval: Duration = .seconds(5)
  /// How long the higher peer ID leaves the first invitation to the lower in ad hoc mode.
  public var adhocPatience: Duration = .seconds(2)
  /// How long ad hoc mode waits after an unanswered invitation before it asks once more.
  public var adhocUnansweredPause: Duration = .seconds(60)

  /// Records that wait for one host's acknowledgement in one group: the send window.
  public var backlogBytesMax = 4 << 20
  public var backlogCountMax = 16_384
  /// A host that acknowledges nothing for this long while its link is up is cut as slow.
  public var backlogAgeMax: Duration = .seconds(15)

  /// The receive window of a stream, and the send buffer of its writer.
  public var streamWindowBytes = 256 << 10
  public var streamBacklogBytes = 256 << 10
  /// The window of a resource: bytes that may be in the store's hands, and bytes that are read ahead.
  public var resourceWindowBytes = 1 << 20
  public var progressInterval: Duration = .milliseconds(250)
  /// How long a connected receiver may request nothing of an offered resource.
  public var resourcePatience: Duration = .seconds(900)

  public init() {}
}

/// A peer's settings for one session.
public struct SessionSettings: Hashable, Sendable {
  public var encryption: Encryption = .optional
  /// Members including this one; the compatible module's default is 8.
  public var peersMax: UInt32 = 256
  public var trust: Trust = .any
  /// The security identity that members are shown.
  public var identity: SecurityIdentity?
  /// How long the hosts look for each other again after a pair was lost.
  public var rejoinMax: Duration = .seconds(600)
  /// Streams to one member at a time, and as many from it.
  public var streamsMax: UInt32 = 64
  /// Limits on members' resources.
  public var resources = ResourceRules()

  public init() {}
}

public enum Trust: Hashable, Sendable {
  /// Everybody who was invited or introduced is admitted.
  case any
  /// Each member waits for a decision (`Output.decision`); no answer in time is a no.
  case ask(timeout: Duration)
}

public struct SecurityIdentity: Hashable, Sendable {
  public var id: IdentityID
  /// Leaf first.
  public var chain: [[UInt8]]

  public init(id: IdentityID, chain: [[UInt8]]) {
    self.id = id
    self.chain = chain
  }
}
