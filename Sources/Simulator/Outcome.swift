public struct Outcome: Sendable {
  public var seed: UInt64
  public var scenario: Scenario
  public var violation: Violation?
  public var tally: Tally
  /// Equal for equal runs, in every process.
  public var digest: UInt64
  public var transcript: [String]
}

public struct Tally: Hashable, Sendable {
  public var milliseconds = 0
  public var frames = 0
  public var bytes = 0
  public var outputs = 0
  public var messages = 0
  public var batches = 0
  public var faults = 0
  public var links = 0
  public var streams = 0
  public var resources = 0

  public init() {}

  public static func += (a: inout Tally, b: Tally) {
    a.milliseconds += b.milliseconds
    a.frames += b.frames
    a.bytes += b.bytes
    a.outputs += b.outputs
    a.messages += b.messages
    a.batches += b.batches
    a.faults += b.faults
    a.links += b.links
    a.streams += b.streams
    a.resources += b.resources
  }
}
