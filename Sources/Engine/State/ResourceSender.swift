import Wire

/// A resource that a local endpoint sends: its source is read as far as the receiver requests it.
///
/// Invariant: chunks are hashed in order from the first, each once for each time the source is read: `confirmed` is the
/// tree of those that the receiver has stored, and `digests` are of those from there to `hashed`.
final class ResourceSender: Transfer {
  // The source's side.
  private(set) var confirmed = ChunkTree()
  private(set) var confirmedThrough: UInt64 = 0
  private(set) var digests = Deque<Digest>()
  private(set) var hashed: UInt64 = 0
  /// The offset up to which the source was asked, the pieces that are outstanding, and the number of outstanding reads
  /// of any turn.
  private var asked: UInt64 = 0
  private var pieces = Deque<Range<UInt64>>()
  private var unanswered = 0
  private(set) var bytes = ByteRope()
  /// Memory of sent pieces on the present link, reused by later reads.
  private var spare: [[UInt8]] = []
  /// Whether the source was read to its end, and whether that was sent to the receiver on the present bond.
  private(set) var isRead = false
  var hasSaidEnd = false

  // The receiver's side, on the present link.
  private(set) var turn: UInt32 = 0
  private(set) var limit: UInt64 = 0
  private(set) var position: UInt64 = 0
  /// The offset at which a turn begins, once the source was hashed up to it and matches the receiver's bytes.
  private(set) var beginning: (offset: UInt64, root: Digest)?
  /// The most that any link has had; unknown after a restart.
  private var everSent: UInt64 = 0
  var wasRestored = false
  /// Whether it is queued in a lane of its bond; only code that takes it out may clear this.
  var isQueued = false

  var view: ResourceView {
    ResourceView(
      info: info, from: pair.local, to: pair.member, isIncoming: false, isAccepted: true, bytes: meter.bytes)
  }

  override func beginLink() {
    turn = 0
    limit = 0
    bytes = ByteRope(at: position)
    spare = []
  }

  func mayHaveSent(_ size: UInt64) -> Bool { wasRestored || size <= everSent }

  var canSend: Bool { turn > 0 && beginning == nil && position < min(hashed, limit) && ending == nil }

  /// The size of the next chunk.
  var nextBytes: Int { Int(min(UInt64(Limits.chunkBytes), hashed - position)) }
  var nextDigest: Digest { digests[Int(position - confirmedThrough) / Limits.chunkBytes] }

  func copy(_ count: Int, into out: inout OutputRawSpan) {
    let end = position + UInt64(count)
    bytes.copy(position..<end, into: &out)
    position = end
    everSent = max(everSent, position)
    bytes.drop(before: position) { piece in
      if !isRead, spare.count < Self.unansweredMax { spare.append(piece) }
    }
  }

  func takeSpare() -> [UInt8]? { spare.popLast() }

  // MARK: The receiver's requests

  /// The receiver wants the chunks from `offset` on, and has all before, whose tree has this root.
  func begin(_ turn: UInt32, at offset: UInt64, limit: UInt64, root: Digest, _ crypto: any Crypto) {
    self.turn = turn
    self.limit = limit
    position = offset
    beginning = (offset, root)
    if offset < confirmedThrough {
      // It had more before: all is to be hashed again.
      confirmed = ChunkTree()
      confirmedThrough = 0
      digests = Deque()
      hashed = 0
    } else if offset <= hashed {
      confirm(through: offset, crypto)
      digests = Deque()
      hashed = offset
    }
    asked = hashed
    pieces = Deque()
    isRead = false
    bytes = ByteRope(at: max(offset, hashed))
  }

  func extend(to limit: UInt64) { self.limit = max(self.limit, limit) }

  func confirm(through offset: UInt64, _ crypto: any Crypto) {
    while confirmedThrough < offset, let digest = digests.first {
      confirmed.append(digest, crypto)
      digests.removeFirst()
      confirmedThrough = min(offset, confirmedThrough + UInt64(Limits.chunkBytes))
    }
  }

  /// Compares the source with the part that the receiver has, once; nil while the source is not hashed so far.
  func compareBeginning(_ crypto: any Crypto) -> Bool? {
    guard let (offset, root) = beginning else { return nil }
    confirm(through: min(hashed, offset), crypto)
    guard hashed >= offset else { return nil }
    beginning = nil
    return confirmed.root(crypto) == root
  }

  // MARK: Reading the source

  /// The next piece to read: as far as the receiver requests it, and no more than `window` past what it has.
  func nextRead(window: UInt64) -> Range<UInt64>? {
    guard turn > 0, ending == nil, unanswered < Self.unansweredMax else { return nil }
    let chunk = UInt64(Limits.chunkBytes)
    // A short chunk at the receiver means that the source has to end: ask it for more.
    var end =
      beginning.map { min(($0.offset + chunk - 1) / chunk * chunk, hashed + window) }
      ?? min(limit, confirmedThrough + window)
    if let size = info.size, end >= size { end = size } else { end -= end % chunk }
    guard asked < end else { return nil }
    let piece = asked..<min(end, asked + Self.readBytesMax)
    asked = piece.upperBound
    pieces.append(piece)
    unanswered += 1
    return piece
  }

  /// Reads that a receiver has caused and the source has not answered: twice a window, for it may begin anew.
  private static let unansweredMax = 8

  /// Whether this is the next outstanding piece, and not of a turn that is over.
  func answers(_ count: Int, from offset: UInt64, isLast: Bool) -> Bool {
    unanswered = max(0, unanswered - 1)
    guard let piece = pieces.first, piece.lowerBound == offset, offset == hashed else { return false }
    guard count == piece.count || isLast && count < piece.count else { return false }
    pieces.removeFirst()
    return true
  }

  /// Large enough to cost a disk little, and small enough to begin with soon.
  static let readBytesMax: UInt64 = 256 << 10

  func supply(_ supplied: [UInt8], _ digests: [Digest]) {
    for digest in digests { self.digests.append(digest) }
    hashed += UInt64(supplied.count)
    if beginning == nil { bytes.append(supplied) }
  }

  /// The source has ended: returns the root of all chunks.
  func readThrough(_ crypto: any Crypto) -> Digest {
    isRead = true
    spare = []
    var tree = confirmed
    for position in 0..<digests.count { tree.append(digests[position], crypto) }
    return tree.root(crypto)
  }
}
