import Wire

/// The lasting association of two hosts, under which links come and go.
final class Bond {
  let host: RemoteHost
  let nonce: UInt64
  /// The other side's number; 0 until it is known.
  var theirs: UInt64 = 0
  /// The link in use, and whether both sides have sent their positions on it.
  var link: Link?
  var isOpen = false
  /// The link that takes over once its `attach` has come; until then `link` stays in use, and open.
  var next: Link?
  /// The incarnation of the other side in which it was last open: within it, that side loses nothing.
  var openedTo: Incarnation?
  /// When its link was last exchanged for one of another medium.
  var mediumChanged: Instant?
  /// When its pairs are suspended, unless the link that was taken into use in place of a lost one is answered.
  var suspendsAt: Instant?
  var hasBeenOpen = false
  /// Whether its pairs have been reported suspended.
  var isSuspended = false
  /// Whether a peer of the other side has been accepted, which holds for later links too.
  private(set) var isAccepted = false
  var linkOrdinal: UInt32 = 0
  /// The highest number of a link over which it was open.
  var openedOrdinal: UInt32 = 0
  /// The number of the latest link that either side dialled or promoted, whether or not it was used.
  var ordinalLast: UInt32 = 0
  /// The features that the other side announced on the latest link.
  var features: Hello.Features = []
  var heard: Instant
  /// The medium of the link that was in use last, and how long the pairs stay connected without one.
  var medium: MediumID?
  var suspensionMax: Duration

  let sendQueue = SendQueue()
  /// Nil before the first stream or resource.
  private(set) var openLanes: Lanes?
  private(set) var strands = OrderedDictionary<UInt32, Strand>()
  private(set) var lastStrand: UInt32 = 0
  /// The strands with unacknowledged records.
  var behind = OrderedDictionary<UInt32, Strand>()
  /// The last record that the other side can have read; known only after a restart.
  var fence: UInt64 = .max
  /// How many of the other side's records have been read.
  var received: UInt64 = 0
  /// How many of them are stored; the same as `received` without a store.
  var stored: UInt64 = 0
  private(set) var incoming = OrderedDictionary<UInt32, IncomingStrand>()
  /// Those of them with records that are not acknowledged: a message of one group costs nothing for the others.
  private(set) var unacknowledged: [IncomingStrand] = []
  /// A cache: the strand of the last record, and most likely of the next one.
  private var lastIncoming: IncomingStrand?
  /// The members that have joined under each of the other side's numbers: one, but for a moment while groups are
  /// merged.
  var members = OrderedDictionary<UInt32, [RemoteMember]>()
  var acknowledgesAt: Instant?
  var comparesRostersAt: Instant?

  init(host: RemoteHost, nonce: UInt64, suspensionMax: Duration, at now: Instant) {
    self.host = host
    self.nonce = nonce
    self.suspensionMax = suspensionMax
    heard = now
  }

  var hasPendingAcknowledgement = false
  /// For answers to hosts that ask for a group in which they have no place.
  private(set) var strays: Strand?
  /// Identities that came before the records that say whose they are.
  var earlyIdentities: [IdentityFrame] = []

  /// Created on first use: most bonds carry messages alone.
  var lanes: Lanes {
    if let openLanes { return openLanes }
    let lanes = Lanes()
    openLanes = lanes
    return lanes
  }

  func accept() {
    isAccepted = true
    link?.gate.open()
    next?.gate.open()
  }

  func restore(_ row: BondRow) {
    theirs = row.theirs
    linkOrdinal = row.linkOrdinal
    features = row.features
    hasBeenOpen = true
    isSuspended = true
    isAccepted = true
    received = row.received
    stored = row.received
    lastStrand = max(row.lastStrand, row.strands.map(\.id).max() ?? 0)
    for strand in row.strands {
      strands[strand.id] = Strand(id: strand.id, acknowledged: strand.acknowledged, isLeft: strand.group == 0)
    }
    for strand in row.incoming { incoming[strand.id] = IncomingStrand(id: strand.id, received: strand.received) }
  }

  func incomingStrand(_ id: UInt32) -> IncomingStrand? {
    if let lastIncoming, lastIncoming.id == id { return lastIncoming }
    lastIncoming = incoming[id]
    return lastIncoming
  }

  func add(_ strand: IncomingStrand) { incoming[strand.id] = strand }

  /// The strand has a record that is not acknowledged.
  func markUnacknowledged(_ strand: IncomingStrand) {
    if strand.isMarked { return }
    strand.isMarked = true
    unacknowledged.append(strand)
  }

  /// Drops the strands whose last record is acknowledged.
  func sweepUnacknowledged() {
    unacknowledged.removeAll { strand in
      strand.isMarked = strand.received > strand.acknowledged || strand.pending != nil
      return !strand.isMarked
    }
  }

  func strand(_ id: UInt32) -> Strand? { strands[id] }

  func forEachStrand(_ body: (Strand) -> Void) {
    for id in strands.keys.sorted() { if let strand = strands[id] { body(strand) } }
  }

  func remove(_ member: RemoteMember, _ index: UInt32) {
    members[index]?.removeAll { $0 === member }
    if members[index]?.isEmpty == true { members[index] = nil }
  }

  func replace(_ old: RemoteMember, by new: RemoteMember) {
    guard let index = old.index else { return }
    members[index]?.removeAll { $0 === old || $0 === new }
    members[index, default: []].append(new)
  }

  /// Strands of a local group continue in the group into which it was merged.
  func regroup(_ old: Group, as new: Group) {
    incoming.forEach { _, strand in if strand.group == old.serial { strand.group = new.serial } }
  }

  func strandForStrays() -> Strand {
    let strand = strays ?? makeStrand()
    strays = strand
    return strand
  }

  /// Reuses a strand that its group has left, once all of it is acknowledged: there are no more strands than were ever
  /// needed at a time.
  func makeStrand() -> Strand {
    if let idle = strands.values.filter({ $0.isLeft && !$0.isBehind }).min(by: { $0.id < $1.id }) {
      idle.isLeft = false
      return idle
    }
    lastStrand += 1
    let strand = Strand(id: lastStrand)
    strands[strand.id] = strand
    return strand
  }
}

/// The other side's sequence of records for one of its groups.
final class IncomingStrand {
  let id: UInt32
  var received: UInt64 = 0
  var stored: UInt64 = 0
  /// The serial of the local group that it was opened to, which may have gone.
  var group: Int?
  /// The last acknowledgement, and the pending one: that goes out only after this host's records through `after`.
  var acknowledged: UInt64 = 0
  var pending: (received: UInt64, after: UInt64)?
  var unacknowledgedBytes = 0
  /// Whether it is among its bond's unacknowledged strands.
  fileprivate(set) var isMarked = false

  init(id: UInt32, received: UInt64 = 0) {
    self.id = id
    self.received = received
    stored = received
    acknowledged = 0
  }
}
