/// Deliberate faults, one rule of the gateway switched off each, to prove that a run of many interleavings would find it.
///
/// Only tests set them.
struct GatewaySabotage: OptionSet, Sendable {
  let rawValue: Int

  /// Limits are held against what is there, and not against what is being made as well.
  static let reservesNothing = GatewaySabotage(rawValue: 1 << 0)
  /// Deleted models are published and counted again.
  static let raisesTheDeleted = GatewaySabotage(rawValue: 1 << 1)
  /// Changes of one thing are made at the same time.
  static let changesAtOnce = GatewaySabotage(rawValue: 1 << 2)
}
