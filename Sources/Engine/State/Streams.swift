import Wire

/// A stream that a local endpoint writes.
final class StreamWriter {
  let id: StreamID
  let flow: UInt64
  let pair: Pair
  /// What was written and the reader has not confirmed.
  var bytes = ByteRope()
  private(set) var received: UInt64 = 0
  /// Where the next bytes on the present link begin, and up to where the reader lets them go: it has to say so on each
  /// link anew.
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
  func grant(received: UInt64, limit: UInt64) -> Bool {
    guard received >= self.received, received <= everSent else { return false }
    self.received = received
    bytes.drop(before: received)
    if let known = self.limit {
      self.limit = max(known, limit)
    } else {
      position = received
      self.limit = limit
    }
    return true
  }
}

/// A stream that a local endpoint reads.
final class StreamReader {
  let id: StreamID
  let flow: UInt64
  let pair: Pair
  /// How far the program may be behind with what it was told.
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
  var grant: StreamGrant { StreamGrant(flow: flow, received: received, limit: limit) }

  func expects(_ count: Int, at offset: UInt64) -> Bool {
    let end = offset + UInt64(count)
    return offset == received && end <= limit && (size.map { end <= $0 } ?? true)
  }

  func take(_ count: Int) { received += UInt64(count) }

  /// Whether the writer is to be told of the room that there is now.
  func consume(_ count: Int) -> Bool {
    consumed = min(received, consumed + UInt64(max(0, count)))
    let open = consumed + UInt64(windowBytes)
    guard open - limit >= UInt64(windowBytes / 4) else { return false }
    limit = open
    return true
  }
}
