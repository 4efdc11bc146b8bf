public import Wire

/// What a host runs with; the defaults are what a LAN wants.
public struct Settings: Sendable {
  /// How other hosts can reach this one, the best first; told to them in `hello` and in entries, as far as
  /// `Limits.helloAddressesMax` and `Limits.entryAddressesMax`. `setAddresses` changes it.
  public var addresses: [Address] = []
  /// Whether the host stores what the engine asks it to (`Output.persist`) and answers with `persisted`.
  public var isDurable = false

  /// A link that has nothing to say gives a sign of life this often.
  public var heartbeatInterval: Duration = .seconds(1)
  /// Three missed beats: a lost one and a late one do not end a link.
  public var silenceMax: Duration = .seconds(3)
  /// How long a pair stays connected without a link, counted from the last sign of life: who dies right after one is told
  /// within five seconds, by a host that has other things to do as well.
  public var suspensionMax: Duration = .milliseconds(4_900)
  /// How long a pair whose members know of each other may take to connect before it is told unreachable.
  public var connectingMax: Duration = .seconds(30)
  /// A link that has not said hello by then is closed.
  public var greetingMax: Duration = .seconds(5)
  /// A link that nobody needs is closed after this long.
  public var idleMax: Duration = .seconds(60)
  /// What an acknowledgement may wait for company.
  public var acknowledgementDelay: Duration = .milliseconds(20)
  /// How often a found host without a link is asked for a sign of life; after a question that stays unanswered for half
  /// as long, it is asked more often.
  public var probeInterval: Duration = .seconds(3)
  /// How often hosts of a group compare rosters.
  public var rosterInterval: Duration = .seconds(5)
  /// How long the higher peer ID leaves the first word to the lower in ad hoc mode.
  public var adhocPatience: Duration = .seconds(2)
  /// How long ad hoc mode leaves a person alone who did not answer, before it asks once more.
  public var adhocUnansweredPause: Duration = .seconds(60)

  /// Records that wait for one host's acknowledgement in one group.
  public var backlogBytesMax = 4 << 20
  public var backlogCountMax = 16_384
  /// A host that acknowledges nothing for this long while its link is up is cut as slow.
  public var backlogAgeMax: Duration = .seconds(15)

  /// How far a stream's reader may be behind with what it was told, and how much a writer may have waiting.
  public var streamWindowBytes = 256 << 10
  public var streamBacklogBytes = 256 << 10
  /// How much of a resource is told to be stored before any of it is, and read before any of it is wanted.
  public var resourceWindowBytes = 1 << 20
  /// How often a transfer tells how far it is.
  public var progressInterval: Duration = .milliseconds(250)
  /// How long a connected receiver may want nothing of what it was offered.
  public var resourcePatience: Duration = .seconds(900)

  public init() {}
}

/// How one peer takes part in one session.
public struct SessionSettings: Hashable, Sendable {
  public var encryption: Encryption = .optional
  /// Members with this one; the compatible module's default is 8.
  public var peersMax: UInt32 = 256
  public var trust: Trust = .any
  /// The security identity that members are shown.
  public var identity: SecurityIdentity?
  /// How long the hosts look for each other again after a pair was lost.
  public var rejoinMax: Duration = .seconds(600)
  /// Streams to one member at a time, and as many from it.
  public var streamsMax: UInt32 = 64
  /// What is taken of members' resources.
  public var resources = ResourceRules()

  public init() {}
}

public enum Trust: Hashable, Sendable {
  /// Whoever was invited or introduced may in.
  case any
  /// Each member waits for a decision (`Output.decision`); none in time is a no.
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
