import Wire

/// An authenticated pipe to another host.
final class Link {
  let id: LinkID
  let host: RemoteHost
  let exporter: Digest
  let isDialed: Bool
  /// 0 where it has no way for datagrams, or none that is proved.
  var datagramBytesMax: Int
  let opened: Instant
  /// How many links the bond had had when this one was dialled.
  var ordinal: UInt32
  var heard: Instant
  /// When it last took something to send.
  var said: Instant
  /// When it last served more than to show life.
  var used: Instant
  var hasGreeted = false
  var isClosing = false
  /// Its bond uses a better link now, or soon.
  var isRetired = false
  var wantsToSend = false
  /// The service types whose advertising peers it wants to be told of.
  var browses = OrderedDictionary<ServiceType, Bool>()
  /// What is still to be told of them, and the pings that are answered after it: a piece at a time, as the link sends.
  var pending = Deque<PendingFrame>()
  /// The service types that it was asked about, and the token whose return ends what it tells at first.
  var rosterTypes = OrderedDictionary<ServiceType, Bool>()
  var rosterFence: UInt64 = 0
  /// The features that the other host announced; and the peers that it was told are away over this link.
  var features: Hello.Features = []
  var sentAway: Set<PeerID> = []
  /// Whether the host at the other end wants to be told of types.
  var browsesTypes = false
  var gate: Gate
  /// What came: frames that have been read, of which `readBytes` are left for the sake of outputs, and the start of
  /// the next one.
  let inbound = ByteQueue()
  var readBytes = 0
  /// What is left of a frame whose first bytes the link has already: whatever else was said would be read as part of it.
  let rest = ByteQueue()
  /// Frames that come before all records.
  let control = ByteQueue()
  /// Unreliable messages where there are no datagrams: the sizes of the frames in `lossy`.
  let lossy = ByteQueue()
  var lossySizes: [Int] = []

  init(
    id: LinkID, host: RemoteHost, exporter: Digest, isDialed: Bool, datagramBytesMax: Int, ordinal: UInt32,
    at now: Instant
  ) {
    self.id = id
    self.host = host
    self.exporter = exporter
    self.isDialed = isDialed
    self.datagramBytesMax = datagramBytesMax
    self.ordinal = ordinal
    opened = now
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

  var isLoopback: Bool { host.isSelf }
  var readsAway: Bool { features.contains(.away) }
  var answersTypes: Bool { features.contains(.types) }

  /// Nothing was sent for a while: gives back what bursts need.
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
