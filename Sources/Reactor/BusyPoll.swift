/// Adaptive busy polling: whether an idle loop polls for the next event instead of sleeping.
///
/// To sleep and be woken takes longer than some answers do, and both sides of a dialogue lose that time. After short
/// waits the loop polls, as long as events come sooner than it would have been woken. Each poll that ended soon makes
/// the next one rarer, so that frequent events of no dialogue cost little more than asleep.
struct BusyPoll {
  /// How long it polls: more than an answer takes, less than anybody would notice.
  static let nanosecondsMax: UInt64 = 60_000
  /// The time of an answer that finds both sides asleep.
  private static let shortWaitMax: UInt64 = 100_000
  /// The time to fall asleep and be woken.
  private static let averageLookMax: UInt64 = 30_000
  private static let shortWaitsMin = 2
  private static let shortWaitsMax = 64
  /// The number of polls that must be worthwhile on average.
  private static let looksMin = 64

  private var shortWaits = 0
  private var shortWaitsNeeded = Self.shortWaitsMin
  private var looks = 0
  private var averageLook: UInt64 = 0

  var isWorthwhile: Bool { shortWaits >= shortWaitsNeeded }

  /// An event came after a sleep of so long.
  mutating func recordSleep(_ nanoseconds: UInt64) {
    shortWaits = nanoseconds < Self.shortWaitMax ? shortWaits + 1 : 0
  }

  /// An event came after a poll of so long.
  mutating func recordHit(_ nanoseconds: UInt64) {
    looks += 1
    averageLook = (7 * averageLook + nanoseconds) / 8
    if averageLook > Self.averageLookMax { end() }
  }

  /// Nothing came.
  mutating func recordMiss() { end() }

  private mutating func end() {
    let wasWorthIt = looks >= Self.looksMin
    shortWaitsNeeded = wasWorthIt ? Self.shortWaitsMin : min(2 * shortWaitsNeeded, Self.shortWaitsMax)
    (shortWaits, looks, averageLook) = (0, 0, 0)
  }
}
