/// The faults of a run, and its wires without faults: every rate and time.
///
/// Chances are per mille, times milliseconds, rates of incidents per minute of the whole world.
public struct Faults: Hashable, Sendable {
  // The wires.
  public var latencyMin = 1
  public var latencyMax = 2
  /// Added to each chunk and datagram, drawn anew.
  public var jitter = 0
  /// Bytes each second of a link in each direction; 0 is without limit.
  public var bandwidth = 0
  /// How often a link has only `slowBandwidth`.
  public var slowLinks = 0
  public var slowBandwidth = 32_000
  /// A pipe's bytes come in pieces of at most this many, cut anywhere.
  public var chunkBytesMax = 65_536
  /// The bytes in flight that a sender's socket holds.
  public var socketBytesMax = 65_536

  // Contact.
  public var dialFailure = 0
  /// How long a dial to nowhere takes to fail.
  public var dialTimeout = 3_000
  /// 0: links have no datagrams.
  public var datagramBytesMax = 1_200
  /// The time until a link's datagram path is proved, and how many paths are lost again after as long.
  public var datagramProof = 0
  public var datagramEnds = 0
  public var datagramLoss = 0
  public var datagramTwice = 0
  public var datagramLate = 0

  // Discovery.
  public var discoveryDelay = 50
  public var probeLoss = 0
  public var recordLife = 75_000

  // Hosts.
  /// Clocks start up to this far from each other.
  public var skew = 0
  /// Parts per million, to either side.
  public var drift = 0
  public var diskDelay = 2
  public var fileDelay = 2
  /// How often a crash damages the files that a host receives.
  public var spoiltFiles = 0

  // Incidents.
  public var cuts = 0
  public var cutLong = 60_000
  public var cutShort = 2_000
  public var deafness = 0
  public var partitions = 0
  public var resets = 0
  public var hidings = 0
  public var crashes = 0
  public var moves = 0
  public var downTime = 4_000

  public init() {}

  /// A quiet cable between healthy hosts.
  public static let none = Faults()

  /// Draws wires, clocks and disks of a run; incidents stay at none.
  static func drawn(_ random: inout Random) -> Faults {
    var faults = Faults()
    faults.latencyMin = random.pick([0, 1, 1, 5, 20])
    faults.latencyMax = faults.latencyMin + random.pick([1, 3, 10, 50])
    faults.jitter = random.pick([0, 0, 2, 10, 60])
    faults.bandwidth = random.pick([0, 0, 10_000_000, 1_000_000])
    faults.chunkBytesMax = random.pick([65_536, 65_536, 1_400, 100, 7])
    faults.socketBytesMax = random.pick([65_536, 65_536, 16_384, 4_096])
    faults.dialFailure = random.pick([0, 0, 50, 300])
    faults.dialTimeout = random.pick([100, 1_000, 3_000, 10_000])
    faults.datagramBytesMax = random.pick([1_200, 1_200, 1_200, 0])
    faults.datagramProof = random.pick([0, 0, 100, 3_000])
    faults.datagramEnds = random.pick([0, 0, 300])
    faults.datagramLoss = random.pick([0, 10, 100, 300])
    faults.datagramTwice = random.pick([0, 0, 20])
    faults.datagramLate = random.pick([0, 0, 50])
    faults.discoveryDelay = random.pick([10, 100, 1_000])
    faults.probeLoss = random.pick([0, 0, 20, 100])
    faults.skew = random.pick([0, 60_000, 100_000_000])
    faults.drift = random.pick([0, 50, 500])
    faults.diskDelay = random.pick([0, 2, 20, 200])
    faults.fileDelay = random.pick([0, 2, 10, 50])
    return faults
  }

  /// The parts that the shrinker tries to leave out, by name.
  static let parts: [(name: String, calm: @Sendable (inout Faults) -> Void)] = [
    (
      "latency",
      {
        $0.latencyMin = 1; $0.latencyMax = 1
      }
    ),
    ("jitter", { $0.jitter = 0 }),
    (
      "bandwidth",
      {
        $0.bandwidth = 0; $0.slowLinks = 0
      }
    ),
    (
      "chunks",
      {
        $0.chunkBytesMax = 65_536; $0.socketBytesMax = 65_536
      }
    ),
    ("dials", { $0.dialFailure = 0 }),
    (
      "datagrams",
      {
        $0.datagramLoss = 0; $0.datagramTwice = 0; $0.datagramLate = 0; $0.datagramProof = 0; $0.datagramEnds = 0
      }
    ),
    ("probes", { $0.probeLoss = 0 }),
    ("discovery", { $0.discoveryDelay = 10 }),
    (
      "clocks",
      {
        $0.skew = 0; $0.drift = 0
      }
    ),
    (
      "disk",
      {
        $0.diskDelay = 2; $0.fileDelay = 2; $0.spoiltFiles = 0
      }
    ),
  ]
}
