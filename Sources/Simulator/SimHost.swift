import Engine
import Wire

/// A peer of a simulated host: its state over restarts, and its program's present objects.
final class SimPeer {
  let ref: PeerRef
  let plan: PeerPlan
  let key: PublicKey
  let id: PeerID
  let name: DisplayName
  /// By place in the plan; nil until opened in this run.
  var endpoints: [EndpointID]
  var identity: SecurityIdentity?
  var isThere = false
  /// Invitations that it made and that have not ended.
  var made: [InvitationID] = []
  /// Its program's wishes, kept over restarts: advertised and browsed types, ad hoc ends.
  var advertised: [Int: Int] = [:]
  var browsed: Set<Int> = []
  var adhoc: [Int: Int] = [:]
  /// Since which moment of the world its program is away; kept over restarts.
  var awayAt: Int64?

  init(ref: PeerRef, plan: PeerPlan, key: PublicKey, id: PeerID, name: DisplayName) {
    self.ref = ref
    self.plan = plan
    self.key = key
    self.id = id
    self.name = name
    endpoints = []
  }
}

/// One host of the world: an engine, a clock that is not quite right, a disk, and the programs of its peers.
final class SimHost {
  let index: Int
  let plan: HostPlan
  let key: PublicKey
  let id: HostID
  let crypto: ToyCrypto
  var peers: [SimPeer] = []
  var engine: Engine?
  /// Counts its starts; also its incarnation.
  var run = 0

  // Clock.
  let origin: Int64
  /// Parts per million.
  let drift: Int64

  /// How often it has moved to another address.
  var moves = 0

  // Wake-ups.
  var wakeAt = Int64.max
  var wakesThisSecond = 0
  var second: Int64 = -1
  var stuck = 0
  var pumps: [Int] = []
  /// Links over circuits, and events of these.
  var channels: [CircuitID: SimChannel] = [:]
  var circuitEvents: [CircuitEvent] = []

  // Disk: a dictionary that is only ever looked up, or read in the order of its keys.
  var disk: [[UInt8]: [UInt8]] = [:]
  var backup: [[UInt8]: [UInt8]]?
  var unwritten: [(batch: UInt64, facts: [Fact])] = []
  var diskFreeAt: Int64 = 0

  // Its programs' streams and files; the last two survive a crash of a durable host.
  var writing: [StreamID: Writing] = [:]
  var reading: [StreamID: Reading] = [:]
  var sources: [ResourceID: Source] = [:]
  var files: [ResourceID: SimFile] = [:]
  var filesFreeAt: Int64 = 0

  // Media.
  /// When each dial without an answer yet will have failed.
  var dialFailures: [DialID: (target: HostID?, time: Int64)] = [:]
  var published: [Record] = []
  var looksFor: [ServiceType] = []
  /// Others' records as reported to the engine: one list for each host.
  var sightings: [[Seen]] = []
  var sightingLast: UInt64 = 0
  var sightingOwners: [SightingID: (host: Int, medium: Int)] = [:]
  /// Until when its interface to each medium is off, as it has noticed.
  var offUntil: [Int: Int64] = [:]

  var intruder: Intruder?

  /// A host's published record: a peer that advertises, or a host that reports its peers over a link.
  struct Record: Equatable {
    var type: ServiceType
    var sighting: Sighting?
    var rosterAddresses: [Address]
    /// The run of the host that published it.
    var run: Int
    /// The only medium that shows it, if it is not for all.
    var only: Int?

    func replaces(_ other: Record) -> Bool {
      type == other.type && sighting?.peer == other.sighting?.peer && only == other.only
    }
  }

  enum CircuitEvent {
    case opened(CircuitID, Bool)
    case bytes(CircuitID, [UInt8])
    case writable(CircuitID)
    case ended(CircuitID, Reason)
  }

  struct Seen {
    var id: SightingID
    var medium: Int
    var record: Record
  }

  init(index: Int, plan: HostPlan, key: PublicKey, crypto: ToyCrypto, origin: Int64, drift: Int64, hosts: Int) {
    self.index = index
    self.plan = plan
    self.key = key
    self.crypto = crypto
    self.origin = origin
    self.drift = drift
    id = HostID(digest: crypto.hash(HostID.preimage(of: key)))
    sightings = Array(repeating: [], count: hosts)
    crypto.own(key)
  }

  var label: String { "h\(index)" }
  var isUp: Bool { engine != nil }
  var isMalicious: Bool { plan.malice != nil }

  func local(_ world: Int64) -> Instant { Instant(nanoseconds: origin + world + world * drift / 1_000_000) }

  /// The first moment of the world at which its clock shows this.
  func world(_ local: Instant) -> Int64 {
    let elapsed = local.nanoseconds.subtractingReportingOverflow(origin)
    guard !elapsed.overflow, elapsed.partialValue < 1 << 53 else { return .max }
    guard elapsed.partialValue > 0 else { return 0 }
    var moment = elapsed.partialValue - elapsed.partialValue * drift / (1_000_000 + drift)
    while self.local(moment) < local { moment += 1 }
    return moment
  }

  var storedFacts: [Fact] {
    disk.keys.sorted { $0.lexicographicallyPrecedes($1) }.map { Fact(key: $0, value: disk[$0]) }
  }
}
