/// Whether a loop that has nothing to do stays awake for what comes next.
///
/// To fall asleep and be woken takes longer than some answers do, and both sides of a dialogue lose that time. Where the
/// last waits were short the loop looks out for the next event instead, as long as what it looks for comes sooner than it
/// would have been woken. A vigil that ended soon makes the next one rarer, so that what comes often, but answers nobody,
/// costs little more than it does asleep.
struct BusyPoll {
  /// How long it looks: more than an answer takes, less than anybody would notice.
  static let nanosecondsMax: UInt64 = 60_000
  /// What an answer takes that finds both sides asleep.
  private static let shortWaitMax: UInt64 = 100_000
  /// What it takes to fall asleep and be woken.
  private static let averageLookMax: UInt64 = 30_000
  private static let shortWaitsMin = 2
  private static let shortWaitsMax = 64
  /// So many looks were worth it.
  private static let looksMin = 64

  private var shortWaits = 0
  private var shortWaitsNeeded = Self.shortWaitsMin
  private var looks = 0
  private var averageLook: UInt64 = 0

  var isWorthwhile: Bool { shortWaits >= shortWaitsNeeded }

  /// Something came after a sleep of so long.
  mutating func slept(_ nanoseconds: UInt64) {
    shortWaits = nanoseconds < Self.shortWaitMax ? shortWaits + 1 : 0
  }

  /// Something came after a look of so long.
  mutating func looked(_ nanoseconds: UInt64) {
    looks += 1
    averageLook = (7 * averageLook + nanoseconds) / 8
    if averageLook > Self.averageLookMax { end() }
  }

  /// Nothing came.
  mutating func lookedInVain() { end() }

  private mutating func end() {
    let wasWorthIt = looks >= Self.looksMin
    shortWaitsNeeded = wasWorthIt ? Self.shortWaitsMin : min(2 * shortWaitsNeeded, Self.shortWaitsMax)
    (shortWaits, looks, averageLook) = (0, 0, 0)
  }
}
