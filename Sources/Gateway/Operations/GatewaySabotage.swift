/// Deliberate faults: each switches one rule of the gateway off, to prove that a test of many interleavings would find
/// it.
///
/// Only tests set them.
struct GatewaySabotage: OptionSet, Sendable {
  let rawValue: Int

  /// Limits count existing things, but not those being made.
  static let reservesNothing = GatewaySabotage(rawValue: 1 << 0)
  /// Deleted models are published and counted again.
  static let raisesTheDeleted = GatewaySabotage(rawValue: 1 << 1)
  /// Changes of one thing run concurrently.
  static let changesAtOnce = GatewaySabotage(rawValue: 1 << 2)
}
