import Wire

/// The shared clock of a group, as this host keeps it: time since the group's first reading.
///
/// Invariant: of two clocks that differ by over `stepMin` the one ahead counts, so that a newcomer takes over the group's
/// time. Otherwise each host follows the lowest host that it is connected with, as long as that is lower than itself.
struct GroupClock {
  /// The own clock's moment at which this clock shows 0.
  private var origin: Instant
  /// The host that it follows; nil: it follows none, and is what others follow.
  private(set) var source: HostID?
  private var samples: [Sample] = []
  /// The last reading: later ones are not below it, unless the clock was stepped back.
  private var floor: Duration = .zero
  /// How often it was stepped.
  private(set) var steps: UInt64 = 0
  /// When it was last read here, if it was; nobody reads it any more `idleMax` later.
  private(set) var used: Instant?
  /// The endpoints here that have read it.
  var readers: Set<EndpointID> = []
  /// The host whose clock is requested, and whether it has replied.
  var partner: HostID?
  var hasReply = false
  private var comparison: ClockComparison?
  /// How many requests follow each other quickly.
  var quick = Self.quickMax
  /// Requests without a reply yet, the oldest first.
  var requests: [Request] = []

  struct Request {
    var token: UInt64
    var host: HostID
    var sent: Instant
  }

  /// One measurement of another host's clock.
  struct Sample {
    var origin: Instant
    var error: Duration
    var taken: Instant

    func error(at now: Instant) -> Duration { error + (now - taken) / GroupClock.driftDivisor }
  }

  static let quickMax = 8
  static let requestsMax = 4
  static let idleMax: Duration = .seconds(60)
  static let quickInterval: Duration = .milliseconds(100)
  static let interval: Duration = .seconds(2)
  private static let samplesMax = 16
  /// Two clocks drift apart by at most 250 parts per million: crystals by 100, and a slewing time service corrects its
  /// own by some more.
  private static let driftDivisor = 4_000
  /// Clocks further apart are two that began apart.
  static let stepMin: Duration = .seconds(1)
  /// A correction that people notice, and that is reported.
  private static let reportedMin: Duration = .milliseconds(5)

  init(at now: Instant) { origin = now }

  /// The clock of an endpoint that has left the group whose clock it read: it begins anew.
  init(after old: GroupClock, for reader: EndpointID, at now: Instant) {
    origin = now
    steps = old.steps + 1
    used = old.used
    readers = [reader]
  }

  func time(at now: Instant) -> Duration { max(now - origin, floor) }

  func bound(at now: Instant) -> Duration {
    let error = source == nil ? .zero : best(at: now)?.error(at: now) ?? .zero
    return error + (time(at: now) - (now - origin))
  }

  mutating func read(at now: Instant) -> ClockReading {
    used = now
    return look(at: now)
  }

  /// Reads it without being a reader.
  mutating func look(at now: Instant) -> ClockReading {
    floor = time(at: now)
    return ClockReading(
      time: floor, bound: bound(at: now), source: source, isSynchronized: partner == nil || hasReply, steps: steps,
      comparison: comparison.flatMap { $0.host == partner ? $0 : nil })
  }

  /// Whether nobody here reads it.
  func isIdle(at now: Instant) -> Bool { used.map { now - $0 >= Self.idleMax } ?? true }

  /// Takes a measurement of `host`; returns by how much the clock was stepped, zero where it was not.
  mutating func take(_ sample: Sample, of host: HostID, at now: Instant) -> Duration {
    // Positive where the other is ahead.
    let lead = origin - sample.origin
    guard host == partner, isFollowing else {
      guard lead > Self.stepMin + sample.error else { return .zero }
      samples = []
      source = nil
      comparison = nil
      return set(sample.origin, tolerance: .zero)
    }
    // The host sets its clock by this one, since it was sent this one's time: twice the difference from which it does so,
    // as the two measure with errors.
    if lead < .zero - Self.stepMin * 2 - sample.error { return .zero }
    if source != host || differs(sample, at: now) { samples = [] }
    source = host
    if samples.count == Self.samplesMax { samples.removeFirst() }
    samples.append(sample)
    guard let best = best(at: now) else { return .zero }
    return set(best.origin, tolerance: max(Self.reportedMin, best.error(at: now) * 2))
  }

  /// Notes the difference that is left between the partner's clock, whose origin was measured, and this one: none where the
  /// measurement has just set this one. The host that is followed measures the others, and sets its clock by none.
  mutating func compare(with host: HostID, at origin: Instant, within error: Duration) {
    if host == partner { comparison = ClockComparison(host: host, lead: self.origin - origin, error: error) }
  }

  /// Whether the partner is the host to follow.
  var isFollowing = false

  /// Follows no other host from now on.
  mutating func lead() {
    source = nil
    samples = []
    isFollowing = false
  }

  /// The clock once nobody reads it: it follows no host, which may begin anew without this one hearing of it.
  var resting: GroupClock {
    var clock = self
    clock.lead()
    clock.partner = nil
    clock.comparison = nil
    return clock
  }

  private mutating func set(_ new: Instant, tolerance: Duration) -> Duration {
    let change = origin - new
    origin = new
    guard change > tolerance || change < .zero - tolerance else { return .zero }
    floor = .zero
    steps += 1
    return change
  }

  /// The samples are of a clock that has been stepped since.
  private func differs(_ sample: Sample, at now: Instant) -> Bool {
    guard let best = best(at: now) else { return false }
    let apart = best.origin - sample.origin
    let allowed = best.error(at: now) + sample.error
    return apart > allowed || apart < .zero - allowed
  }

  private func best(at now: Instant) -> Sample? { samples.min { $0.error(at: now) < $1.error(at: now) } }

  /// The clock of a group that another one has joined: the one that is ahead. Returns the step of each one's readers.
  mutating func merge(_ other: GroupClock) -> (own: Duration, other: Duration) {
    let lead = origin - other.origin
    let (own, others) = (readers, other.readers)
    let latest = [used, other.used].compactMap { $0 }.max()
    let count = max(steps, other.steps) + 1
    if lead > .zero { self = other }
    (readers, used, steps) = (own.union(others), latest, count)
    return (max(lead, .zero), max(.zero - lead, .zero))
  }
}
