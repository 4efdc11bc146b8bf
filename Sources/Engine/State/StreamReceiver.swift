import Wire

/// A stream that a local endpoint reads.
final class StreamReceiver {
  let id: StreamID
  let flow: UInt64
  let pair: Pair
  /// The receive window: how far the program may be behind.
  let windowBytes: Int
  private(set) var received: UInt64 = 0
  private var consumed: UInt64 = 0
  private(set) var limit: UInt64
  /// The size in all, once it is closed.
  var size: UInt64?

  init(id: StreamID, flow: UInt64, pair: Pair, windowBytes: Int) {
    self.id = id
    self.flow = flow
    self.pair = pair
    self.windowBytes = windowBytes
    limit = UInt64(windowBytes)
  }

  var isWhole: Bool { received == size }
  /// Whether its end was reported.
  var isOver = false
  var isUsed: Bool { consumed == size }
  var grant: StreamGrant { StreamGrant(flow: flow, received: received, limit: limit) }

  func expects(_ count: Int, at offset: UInt64) -> Bool {
    let end = offset + UInt64(count)
    return offset == received && end <= limit && (size.map { end <= $0 } ?? true)
  }

  func take(_ count: Int) { received += UInt64(count) }

  /// Credit is granted in steps of this size; a window holds at least as much.
  static let grantBytes = 4 * Limits.chunkBytes

  /// Whether the writer is to be granted the room that there is now.
  func consume(_ count: Int) -> Bool {
    consumed = min(received, consumed + UInt64(max(0, count)))
    let open = consumed + UInt64(windowBytes)
    guard open - limit >= UInt64(min(windowBytes / 4, Self.grantBytes)) else { return false }
    limit = open
    return true
  }
}
