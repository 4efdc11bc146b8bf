public import Wire

/// A reading of a session's shared clock.
public struct ClockReading: Hashable, Sendable {
  /// Since the clock began, which is the same for all members.
  public var time: Duration
  /// The difference from the clock of `source` is no larger.
  public var bound: Duration
  /// The host that this one follows; nil where others follow it.
  public var source: HostID?
  /// Whether it has been compared with another host's, if there is one.
  public var isSynchronized: Bool
  /// How often it was stepped: set by more than its error bounds explain.
  public var steps: UInt64
  /// The latest comparison with another host's clock.
  public var comparison: ClockComparison?
}

/// How far another host's clock was ahead of this one's when they were compared last, within `error`.
public struct ClockComparison: Hashable, Sendable {
  public var host: HostID
  public var lead: Duration
  /// Half of the round trip.
  public var error: Duration
}
