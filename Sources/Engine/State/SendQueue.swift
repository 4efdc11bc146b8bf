import Wire

/// The retransmission queue of one host's records to another: those that the other has not acknowledged, in order.
///
/// Each record has an ordinal, counted from 1 over the life of the bond. Invariant: `first ≤ unsent ≤ next` and
/// `everSent < next`; `bytes` holds exactly the frames of the records from `first` on.
final class SendQueue {
  struct Entry {
    var size: Int
    var strand: Strand
    var sequence: UInt64
    var message: Message?
    /// Whether its frame has a content type.
    var isTyped: Bool
  }

  /// A message whose delivery status is to be reported.
  struct Message {
    var id: MessageID
    var from: EndpointID
    var to: [EndpointID]
    var wantsReceipt: Bool
  }

  private let bytes = ByteQueue()
  private(set) var entries = Deque<Entry>()
  private(set) var first: UInt64 = 1
  /// The record that is sent next on the present link, and the bytes of the queue before it.
  private(set) var unsent: UInt64 = 1
  private var unsentOffset = 0
  /// The last record of which any link had a byte.
  private(set) var everSent: UInt64 = 0
  /// The last record that may be sent: later ones wait for the store.
  private(set) var releasable: UInt64 = 0
  private var releasableOffset = 0

  var next: UInt64 { first + UInt64(entries.count) }
  var byteCount: Int { bytes.count }
  var hasUnsent: Bool { unsentOffset < releasableOffset }

  /// Appends a record's frame of `size` bytes from `write`, and returns its ordinal.
  func append(
    _ size: Int, of strand: Strand, message: Message?, isTyped: Bool = false, at now: Instant, held: Bool,
    _ write: (inout OutputRawSpan) -> Void
  ) -> UInt64 {
    bytes.append(size, write)
    strand.queued(size, at: now)
    entries.append(Entry(size: size, strand: strand, sequence: strand.last, message: message, isTyped: isTyped))
    let ordinal = next - 1
    if !held { release(through: ordinal) }
    return ordinal
  }

  func row(of ordinal: UInt64) -> RecordRow? {
    guard ordinal >= first, ordinal < next else { return nil }
    var offset = bytes.count
    var position = entries.count
    repeat {
      position -= 1
      offset -= entries[position].size
    } while first + UInt64(position) > ordinal
    let entry = entries[position]
    let frame = bytes.withBytes(from: offset) { span in
      var sink = ArraySink()
      sink.put(raw: span.extracting(0..<entry.size))
      return sink.bytes
    }
    return RecordRow(entry, frame: frame)
  }

  /// Sets the position of an empty queue.
  func restore(first: UInt64) {
    self.first = first
    unsent = first
    everSent = first - 1
    releasable = first - 1
  }

  /// Any link may have had a record that is restored.
  func restore(_ row: RecordRow, of strand: Strand, at now: Instant) {
    let message =
      row.message == 0
      ? nil : Message(id: MessageID(rawValue: row.message), from: row.from, to: row.to, wantsReceipt: row.wantsReceipt)
    strand.restart(at: row.sequence)
    everSent = append(
      row.frame.count, of: strand, message: message, isTyped: row.isTyped, at: now, held: false
    ) { out in
      out.put(raw: unsafe row.frame.span.bytes)  // a UInt8 has no padding to show
    }
    strand.sent(strand.last)
  }

  /// Whether a record after this one has a content type, which not every version reads.
  func holdsTyped(after received: UInt64) -> Bool {
    (0..<entries.count).contains { first + UInt64($0) > received && entries[$0].isTyped }
  }

  /// Allows the records up to this one to be sent.
  func release(through ordinal: UInt64) {
    while releasable < ordinal, releasable + 1 < next {
      releasable += 1
      releasableOffset += entries[Int(releasable - first)].size
    }
  }

  /// Moves unsent records into `out`, or one where `oneRecord` says so; the rest of the last one goes to `rest`.
  func fill(_ out: inout OutputRawSpan, rest: ByteQueue, oneRecord: Bool = false) {
    guard hasUnsent else { return }
    let limit = oneRecord ? unsentOffset + entries[Int(unsent - first)].size : releasableOffset
    let end = unsentOffset + bytes.copy(from: unsentOffset, to: limit, into: &out)
    while unsentOffset < end {
      let position = Int(unsent - first)
      everSent = max(everSent, unsent)
      entries[position].strand.sent(entries[position].sequence)
      unsentOffset += entries[position].size
      unsent += 1
    }
    if unsentOffset > end {
      bytes.withBytes(from: end) { rest.append($0.extracting(first: unsentOffset - end)) }
    }
  }

  /// Retransmits on a new link from after the records that the other side has: those through `received`.
  func resume(after received: UInt64) {
    unsent = max(first, received + 1)
    unsentOffset = 0
    for position in 0..<Int(unsent - first) { unsentOffset += entries[position].size }
  }

  /// Drops the records at the front that their strands have acknowledged.
  func dropAcknowledged(_ dropped: (Entry) -> Void) {
    var freed = 0
    while !entries.isEmpty, entries[0].sequence <= entries[0].strand.acknowledged {
      // A record that this link has not sent can be acknowledged only because an earlier link had.
      if first == unsent {
        unsent += 1
        unsentOffset += entries[0].size
      }
      freed += entries[0].size
      entries[0].strand.drained(entries[0].size)
      dropped(entries[0])
      entries.removeFirst()
      first += 1
    }
    bytes.removeFirst(freed)
    unsentOffset -= freed
    releasableOffset -= freed
  }

  /// The delivery status of messages for these members has been reported: it is not reported again.
  func forget(_ members: Set<EndpointID>, of sender: EndpointID?, after seen: UInt64) {
    for position in 0..<entries.count where first + UInt64(position) > seen {
      guard let message = entries[position].message, sender == nil || sender == message.from else { continue }
      let left = message.to.filter { !members.contains($0) }
      entries[position].message?.to = left
      if left.isEmpty { entries[position].message = nil }
    }
  }

  /// The delivery status of messages from an endpoint is not reported any more.
  func forget(from sender: EndpointID, _ forgotten: (UInt64, Message) -> Void) {
    for position in 0..<entries.count {
      guard let message = entries[position].message, message.from == sender else { continue }
      forgotten(first + UInt64(position), message)
      entries[position].message = nil
    }
  }

  /// Frees the memory of bursts after a quiet period.
  func releaseMemory() {
    bytes.releaseMemory()
    entries.releaseMemory()
  }

  /// From the oldest on, with their ordinals.
  func forEach(_ body: (UInt64, Entry) -> Void) {
    for position in 0..<entries.count { body(first + UInt64(position), entries[position]) }
  }
}

/// The sequence of records that this host sends to another for one of its groups.
final class Strand {
  let id: UInt32
  /// The sequence number of the newest record; 0 before the first.
  private(set) var last: UInt64 = 0
  private(set) var acknowledged: UInt64 = 0
  /// The newest of which any link had a byte.
  private(set) var sent: UInt64 = 0
  private(set) var byteCount = 0
  private(set) var count = 0
  /// When the last acknowledgement came, or the first of the waiting records was appended to an empty strand.
  private(set) var progress = Instant(nanoseconds: 0)
  /// Its group has gone or was merged into another: nothing more is appended.
  var isLeft = false
  /// Endpoints whose sends were refused for lack of room.
  var waiting: [EndpointID] = []

  init(id: UInt32) { self.id = id }

  /// Restores a stored strand; its records follow.
  init(id: UInt32, acknowledged: UInt64, isLeft: Bool) {
    self.id = id
    last = acknowledged
    self.acknowledged = acknowledged
    sent = acknowledged
    self.isLeft = isLeft
  }

  /// Whether something is not acknowledged; acknowledged records may still wait in the queue behind another strand's.
  var isBehind: Bool { acknowledged < last }

  /// The next record has this number again, after a restart.
  func restart(at sequence: UInt64) { last = sequence - 1 }

  func queued(_ size: Int, at now: Instant) {
    if !isBehind { progress = now }
    last += 1
    byteCount += size
    count += 1
  }

  func sent(_ sequence: UInt64) { sent = max(sent, sequence) }

  func drained(_ size: Int) {
    byteCount -= size
    count -= 1
  }

  /// False where the number is a lie: nobody can have read a record that no link ever had.
  func acknowledge(_ sequence: UInt64, at now: Instant) -> Bool {
    guard sequence <= sent else { return false }
    if sequence > acknowledged {
      acknowledged = sequence
      progress = now
    }
    return true
  }
}
