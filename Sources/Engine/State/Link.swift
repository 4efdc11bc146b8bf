import Wire

final class Link {
  let id: LinkID
  let host: RemoteHost
  let exporter: Digest
  let isDialed: Bool
  let medium: MediumID
  let profile: MediumProfile
  /// The relay of the circuit that it goes over.
  let relay: HostID?
  /// 0 where it has no datagram path, or none that is proved.
  var datagramBytesMax: Int
  let opened: Instant
  /// Since when it waits for its greeting, or for its `attach`.
  var waitsSince: Instant
  /// The number of links that the bond had had when this one was dialled.
  var ordinal: UInt32
  var heard: Instant
  var said: Instant
  var roundTrips = RoundTripMeter()
  /// When it last carried more than heartbeats.
  var used: Instant
  var hasGreeted = false
  var isClosing = false
  /// Its bond uses a better link now, or soon.
  var isRetired = false
  /// When it closes as a retired one: until then, unreliable messages under way still arrive.
  var closesAt: Instant?
  /// It is kept beside the link in use, on slow heartbeats.
  var isStandby = false
  /// The numbers of the bond in the last `attach` that was sent over it.
  var attachSent: (bond: UInt64, expects: UInt64)?
  /// Whether the other side's latest promotion is void, and the `attach` that follows it.
  var isPromotionVoid = false
  /// This side has promoted it: where both did at once, one `attach` more than one may come.
  var mayBeAnsweredAgain = false
  /// Its first records may have come already, over the link that was in use before.
  var mayRepeat = false
  var wantsToSend = false
  /// The service types that the other host browses for.
  var browses = OrderedDictionary<ServiceType, Bool>()
  /// Reports that are still to be sent, and the pongs that follow them: a piece at a time, as the link sends.
  var pending = Deque<PendingFrame>()
  /// The service types that the other host was asked about, and whether they are still browsed; and the token of the
  /// ping whose pong ends its first reports.
  var rosterTypes = OrderedDictionary<ServiceType, Bool>()
  var rosterFence: UInt64 = 0
  /// The features that the other host announced; and the peers that this link reported to it as away.
  var features: Hello.Features = []
  var sentAway: Set<PeerID> = []
  /// Whether the other host browses for service types.
  var browsesTypes = false
  /// The circuits over it; nil before the first.
  var circuits: LinkCircuits?
  var gate: Gate
  /// The receive buffer: frames that have been read, of which `readBytes` are kept for outputs, and the start of the
  /// next one.
  let inbound = ByteQueue()
  var readBytes = 0
  /// The unsent rest of a frame that is sent in part: any other bytes would break the framing.
  let rest = ByteQueue()
  let control = ByteQueue()
  /// Unreliable messages where there are no datagrams, and the sizes of their frames.
  let lossy = ByteQueue()
  var lossySizes: [Int] = []

  init(
    id: LinkID, host: RemoteHost, exporter: Digest, isDialed: Bool, medium: MediumID, profile: MediumProfile,
    relay: HostID?, datagramBytesMax: Int, ordinal: UInt32, at now: Instant
  ) {
    self.id = id
    self.host = host
    self.exporter = exporter
    self.isDialed = isDialed
    self.medium = medium
    self.profile = profile
    self.relay = relay
    self.datagramBytesMax = datagramBytesMax
    self.ordinal = ordinal
    opened = now
    waitsSince = now
    heard = now
    said = now
    used = now
    gate = Gate(at: now)
    // Local peers are no strangers to each other.
    if host.isSelf { gate.open() }
  }

  enum PendingFrame {
    case peer(PeerID, ServiceType)
    case pong(UInt64)
  }

  var role: Hello.Role? { isStandby ? .standby : nil }
  var heartbeatInterval: Duration { isQuiet ? profile.heartbeatInterval * 2 : profile.heartbeatInterval }
  var silenceMax: Duration { isQuiet ? profile.silenceMax * 3 : profile.silenceMax }

  /// Whether it may be silent for longer: one on standby that carries no circuits. The interval is shorter than a silence
  /// in any case, as one side knows that later than the other.
  private var isQuiet: Bool { isStandby && circuits?.legs.isEmpty ?? true }

  /// Forgets what was asked and reported over it: each use of it begins anew.
  func beginUse() {
    browses.removeAll()
    browsesTypes = false
    pending = Deque()
    rosterTypes.removeAll()
    rosterFence = 0
    sentAway = []
  }

  var isLoopback: Bool { host.isSelf }
  var readsAway: Bool { features.contains(.away) }
  var answersTypes: Bool { features.contains(.types) }

  /// Frees the memory of bursts after a quiet period.
  func releaseMemory() {
    inbound.releaseMemory()
    rest.releaseMemory()
    control.releaseMemory()
    lossy.releaseMemory()
    if let bond = host.bond, bond.link === self { bond.sendQueue.releaseMemory() }
  }

  func dropRead() {
    inbound.removeFirst(readBytes)
    readBytes = 0
  }
}
