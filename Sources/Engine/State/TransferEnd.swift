import Wire

/// How a resource ended here, until the other side is known to have heard of it.
struct TransferEnd: Hashable {
  var reason: Reason
  /// The record that says so on the present bond.
  var ordinal: UInt64?
}
