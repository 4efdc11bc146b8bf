import Wire

/// A resource's end, which is kept until the other side has acknowledged it.
struct TransferEnd: Hashable {
  var reason: Reason
  /// The record on the present bond that carries it.
  var ordinal: UInt64?
}
