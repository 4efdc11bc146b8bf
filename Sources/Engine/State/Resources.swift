import Wire

/// How far a transfer has come, and how fast.
struct Meter {
  private(set) var bytes: UInt64
  /// When something last moved.
  private(set) var moved: Instant
  private var told: (bytes: UInt64, at: Instant)
  private var bytesPerSecond: Double = 0

  init(bytes: UInt64, at now: Instant) {
    self.bytes = bytes
    moved = now
    told = (bytes, now)
  }

  var hasNews: Bool { bytes != told.bytes }
  func tellsAgain(every interval: Duration) -> Instant { told.at + interval }

  /// Nothing is late before this.
  mutating func wait(at now: Instant) { moved = max(moved, now) }

  mutating func move(to bytes: UInt64, at now: Instant) {
    self.bytes = max(self.bytes, bytes)
    moved = now
  }

  mutating func tell(at now: Instant) {
    let seconds = Double((now - told.at).nanoseconds) / 1e9
    if seconds > 0 {
      let rate = Double(bytes - told.bytes) / seconds
      // One slow moment is no forecast.
      bytesPerSecond = bytesPerSecond == 0 ? rate : 0.7 * bytesPerSecond + 0.3 * rate
    }
    told = (bytes, now)
  }

  func progress(of size: UInt64?) -> ResourceProgress {
    let left = size.map { $0 - min($0, bytes) }
    let seconds = left.flatMap { bytesPerSecond >= 1 ? Double($0) / bytesPerSecond : nil }
    return ResourceProgress(
      bytes: bytes, size: size, bytesPerSecond: UInt64(bytesPerSecond),
      // Whoever has more than a thousand years to wait knows as much without the number.
      timeLeft: seconds.map { .milliseconds(Int64(min($0, 3e10) * 1_000)) })
  }
}

/// How a resource ended here, until the other side is known to have heard of it.
struct Farewell: Hashable {
  var reason: Reason
  /// The record that says so on the present bond.
  var ordinal: UInt64?
}

/// A resource that a local endpoint sends: its source is read as far as the receiver asks for it.
///
/// Law: chunks are hashed in order from the first, each once for each time the source is read: `confirmed` is the tree
/// of those that the receiver has stored, and `digests` are of those from there to `hashed`.
final class ResourceSender {
  let id: ResourceID
  let flow: UInt64
  let pair: Pair
  var info: ResourceInfo
  var meter: Meter
  var farewell: Farewell?

  // What the source has given.
  private(set) var confirmed = ChunkTree()
  private(set) var confirmedThrough: UInt64 = 0
  private(set) var digests = Deque<Digest>()
  private(set) var hashed: UInt64 = 0
  /// How far it was asked.
  private(set) var asked: UInt64 = 0
  private(set) var bytes = ByteRope()
  /// Whether the source was read to its end, and whether the receiver has been told of that on the present bond.
  private(set) var isRead = false
  var hasSaidEnd = false

  // What the receiver wants, on the present link.
  private(set) var turn: UInt32 = 0
  private(set) var limit: UInt64 = 0
  private(set) var position: UInt64 = 0
  /// Where a turn begins, once the source was hashed up to there and is found to be what the receiver has.
  private(set) var beginning: (offset: UInt64, root: Digest)?
  /// The most that any link has had; all of it, where that is not known after a restart.
  var everSent: UInt64 = 0
  var isQueued = false

  init(id: ResourceID, flow: UInt64, pair: Pair, info: ResourceInfo, at now: Instant) {
    self.id = id
    self.flow = flow
    self.pair = pair
    self.info = info
    meter = Meter(bytes: 0, at: now)
  }

  var view: ResourceView {
    ResourceView(
      info: info, from: pair.local, to: pair.member, isIncoming: false, isAccepted: true, bytes: meter.bytes)
  }

  func beginLink() {
    turn = 0
    limit = 0
    isQueued = false
  }

  var canSend: Bool { turn > 0 && beginning == nil && position < min(hashed, limit) && farewell == nil }

  /// The size of the next chunk.
  var nextBytes: Int { Int(min(UInt64(Limits.chunkBytes), hashed - position)) }
  var nextDigest: Digest { digests[Int(position - confirmedThrough) / Limits.chunkBytes] }

  func copy(_ count: Int, into out: inout OutputRawSpan) {
    let end = position + UInt64(count)
    bytes.copy(position..<end, into: &out)
    position = end
    everSent = max(everSent, position)
    bytes.drop(before: position)
  }

  // MARK: What the receiver says

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

  /// Whether a turn may go on; nil while the source is not hashed so far.
  func isSame(_ crypto: any Crypto) -> Bool? {
    guard let (offset, root) = beginning, hashed >= offset else { return nil }
    confirm(through: offset, crypto)
    beginning = nil
    return confirmed.root(crypto) == root
  }

  // MARK: What the source gives

  /// The next piece to read: as far as the receiver wants it, and no more than `window` past what it has.
  func nextRead(window: UInt64) -> Range<UInt64>? {
    guard turn > 0, farewell == nil else { return nil }
    let chunk = UInt64(Limits.chunkBytes)
    var end: UInt64
    if let beginning {
      end = min(beginning.offset, hashed + window)
    } else {
      end = min(limit, confirmedThrough + window)
    }
    if let size = info.size, end >= size {
      end = size
    } else if beginning.map({ end < $0.offset }) ?? true {
      end -= end % chunk
    }
    // Of an unknown size it takes one more read to see the end.
    guard asked < end else { return nil }
    let piece = asked..<min(end, asked + Self.readBytesMax)
    asked = piece.upperBound
    return piece
  }

  /// Large enough to cost a disk little, and small enough to begin with soon.
  private static let readBytesMax: UInt64 = 256 << 10

  func supply(_ supplied: [UInt8], _ digests: [Digest]) {
    for digest in digests { self.digests.append(digest) }
    hashed += UInt64(supplied.count)
    asked = max(asked, hashed)
    if beginning == nil { bytes.append(supplied) }
  }

  /// The source has no more: its size and root are known.
  func finish(_ crypto: any Crypto) -> Digest {
    isRead = true
    var tree = confirmed
    for position in 0..<digests.count { tree.append(digests[position], crypto) }
    return tree.root(crypto)
  }
}

/// A resource that a local endpoint receives: it asks for what it has not stored, in order.
final class ResourceReceiver {
  let id: ResourceID
  let flow: UInt64
  let pair: Pair
  private(set) var info: ResourceInfo
  var isAccepted: Bool
  let offered: Instant
  var meter: Meter
  var farewell: Farewell?
  /// How often a chunk was damaged.
  var damages = 0

  /// What is checked and stored, and the tree of it; with a store of the engine's own, how much of that is stored too.
  private(set) var stored: UInt64 = 0
  private(set) var tree = ChunkTree()
  private var settled: UInt64 = 0
  /// What came on top, and is being stored.
  private(set) var received: UInt64 = 0
  private var digests = Deque<Digest>()

  /// Whether it is asked for on the present link, in which turn, and how far.
  private(set) var isActive = false
  private(set) var turn: UInt32 = 0
  private(set) var limit: UInt64 = 0
  /// What the sender was last told that is stored here.
  private var told: UInt64 = 0

  init(id: ResourceID, flow: UInt64, pair: Pair, info: ResourceInfo, isAccepted: Bool, at now: Instant) {
    self.id = id
    self.flow = flow
    self.pair = pair
    self.info = info
    self.isAccepted = isAccepted
    offered = now
    meter = Meter(bytes: 0, at: now)
  }

  func restore(stored: UInt64, tree: ChunkTree, at now: Instant) {
    self.stored = stored
    self.tree = tree
    settled = stored
    received = stored
    meter = Meter(bytes: stored, at: now)
  }

  var view: ResourceView {
    ResourceView(
      info: info, from: pair.member, to: pair.local, isIncoming: true, isAccepted: isAccepted, bytes: stored)
  }

  /// False where the sender contradicts what it said of itself, or what it has sent.
  func learn(size: UInt64?, root: Digest?) -> Bool {
    if let size {
      guard info.size == nil || info.size == size, size >= received else { return false }
      // Only the last chunk may be short.
      guard received % UInt64(Limits.chunkBytes) == 0 || received == size else { return false }
      info.size = size
    }
    if let root {
      guard info.root == nil || info.root == root else { return false }
      info.root = root
    }
    return true
  }

  func beginLink() {
    isActive = false
    turn = 0
  }

  /// Asks for what is not stored, on a new link or after a damage: what comes for an earlier turn counts no more.
  func begin(windowBytes: Int, _ crypto: any Crypto) -> ResourceWant {
    isActive = true
    turn += 1
    received = stored
    digests = Deque()
    told = stored
    limit = told + UInt64(windowBytes)
    return ResourceWant(flow: flow, turn: turn, offset: told, limit: limit, root: tree.root(crypto))
  }

  /// Whether a chunk is the next, as it was asked for.
  func expects(_ count: Int, at offset: UInt64) -> Bool {
    let end = offset + UInt64(count)
    let isFull = count == Limits.chunkBytes
    return offset == received && received % UInt64(Limits.chunkBytes) == 0 && end <= limit
      && (info.size.map { end <= $0 && (isFull || end == $0) } ?? true)
  }

  func take(_ count: Int, _ digest: Digest) {
    received += UInt64(count)
    digests.append(digest)
  }

  /// False where that was not told to be stored.
  func store(through offset: UInt64, _ crypto: any Crypto) -> Bool {
    guard offset > stored, offset <= received, offset == received || offset % UInt64(Limits.chunkBytes) == 0 else {
      return false
    }
    while stored < offset, let digest = digests.first {
      tree.append(digest, crypto)
      digests.removeFirst()
      stored = min(offset, stored + UInt64(Limits.chunkBytes))
    }
    return true
  }

  func isAwaited(at offset: UInt64) -> Bool { isActive && offset >= stored && offset < received }

  /// What is stored will still be here after a crash. Says what the sender is to be told, if it is time to.
  func settle(through offset: UInt64, windowBytes: Int) -> ResourceWant? {
    settled = max(settled, offset)
    guard isActive, settled >= told + UInt64(min(Self.confirmedMax, windowBytes / 2)) else { return nil }
    told = settled
    limit = max(limit, told + UInt64(windowBytes))
    return ResourceWant(flow: flow, turn: turn, offset: told, limit: limit, root: Self.noRoot)
  }

  /// A sender keeps no more than a little beyond what is confirmed, and waits for that.
  private static let confirmedMax = 64 << 10
  /// The root counts where a turn begins.
  private static let noRoot = Digest(.init(0, 0, 0, 0))

  /// Whether nothing is missing; nil while that is not known.
  func isWhole(_ crypto: any Crypto) -> Bool? {
    guard let size = info.size, let root = info.root, stored == size else { return nil }
    return tree.root(crypto) == root
  }
}
