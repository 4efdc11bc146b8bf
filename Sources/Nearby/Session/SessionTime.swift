internal import Engine
public import Wire

/// A reading of the clock that all members of a session share: it counts from the first reading by any of them.
public struct SessionTime: Hashable, Sendable {
  /// Since the clock began.
  public let elapsed: Duration
  /// The error bound: the clock of `source` differs by no more.
  public let bound: Duration
  /// The host whose clock this one follows; nil where the others follow this one.
  public let source: HostID?
  /// Whether it has been compared with the others' clocks.
  public let isSynchronized: Bool
  /// How often the clock was stepped here, each time with a `SessionEvent.clockStepped`. Between steps it never goes back.
  public let steps: UInt64
  /// The latest comparison with the clock of another host, which may follow this one; nil before there was one.
  public let measurement: ClockMeasurement?
  /// When it was read.
  public let moment: ContinuousClock.Instant
  /// The same on the machine's monotonic clock, which all its programs share: since the start of the machine.
  public let uptime: Duration

  init(_ reading: ClockReading, at moment: ContinuousClock.Instant, _ instant: Instant) {
    elapsed = reading.time
    bound = reading.bound
    source = reading.source
    isSynchronized = reading.isSynchronized
    steps = reading.steps
    measurement = reading.comparison.map { ClockMeasurement(host: $0.host, lead: $0.lead, error: $0.error) }
    self.moment = moment
    uptime = .nanoseconds(instant.nanoseconds)
  }

  /// The moment of this program's clock at which the shared clock shows `time`; read it anew for moments that are more
  /// than a few seconds away.
  public func moment(of time: Duration) -> ContinuousClock.Instant { moment + (time - elapsed) }
}

/// How far the clock of another host was ahead of this one's when the two were compared last.
public struct ClockMeasurement: Hashable, Sendable {
  public let host: HostID
  /// Negative where it was behind.
  public let lead: Duration
  /// The error of the measurement: half of its round trip.
  public let error: Duration
}
