import Wire

/// A stream that a local endpoint writes.
final class StreamSender {
  let id: StreamID
  let flow: UInt64
  let pair: Pair
  /// Written bytes that the reader has not confirmed.
  var bytes = ByteRope()
  private(set) var received: UInt64 = 0
  /// The offset of the next bytes on the present link, and the reader's flow-control limit: the reader states both anew
  /// on each link.
  private(set) var position: UInt64 = 0
  private var limit: UInt64?
  private var everSent: UInt64 = 0
  var isClosed = false
  /// Whether a write was refused.
  var isWaiting = false
  var isQueued = false

  init(id: StreamID, flow: UInt64, pair: Pair) {
    self.id = id
    self.flow = flow
    self.pair = pair
  }

  var backlog: Int { Int(bytes.end - received) }
  var canSend: Bool { limit.map { position < min($0, bytes.end) } ?? false }
  /// How much of what waits may go now.
  var sendable: Int { canSend ? Int(min(limit ?? 0, bytes.end) - position) : 0 }

  var hasSentAll: Bool { everSent == bytes.end }

  func copy(_ count: Int, into out: inout OutputRawSpan) {
    let end = position + UInt64(count)
    bytes.copy(position..<end, into: &out)
    position = end
    everSent = max(everSent, position)
  }

  func beginLink() {
    limit = nil
    isQueued = false
  }

  /// False where the reader takes back what it had, or has what was not sent.
  func grant(received: UInt64, limit: UInt64, isLate: Bool = false) -> Bool {
    // On a link on which it has granted, it cannot have what was not sent there.
    guard received >= self.received, received <= (self.limit == nil ? everSent : position) else { return false }
    self.received = received
    bytes.drop(before: received)
    if let known = self.limit {
      self.limit = max(known, limit)
    } else {
      position = isLate && received > 0 ? min(received + 1, bytes.end) : received
      self.limit = limit
    }
    return true
  }
}
