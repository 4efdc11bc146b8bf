import Wire

/// A resource that a local endpoint receives: it requests the chunks that it has not stored, in order.
final class ResourceReceiver: Transfer {
  var isAccepted: Bool
  let offered: Instant
  /// All of it is stored, and its program was asked to keep it.
  var isBeingKept = false
  var damages = 0

  /// The verified and stored bytes, and their tree; with a store of the engine's own, how much of that is stored there
  /// too.
  private(set) var stored: UInt64 = 0
  private(set) var tree = ChunkTree()
  private var settled: UInt64 = 0
  /// Bytes beyond these that are being stored.
  private(set) var received: UInt64 = 0
  private var digests = Deque<Digest>()
  /// The tree of the file as the disk has it after a restart, while it is read again; nil once that is done.
  private var reread: ChunkTree?

  /// Whether it has requested chunks on the present link, in which turn, and up to where.
  private(set) var isActive = false
  private(set) var turn: UInt32 = 0
  private(set) var limit: UInt64 = 0
  /// The stored offset that was last sent to the sender.
  private var confirmed: UInt64 = 0
  private var windowBytes = 0
  /// The time that the sender may take to read its source again up to where the turn begins, before anything comes.
  private(set) var rereading = Duration.zero

  init(
    id: ResourceID, flow: UInt64, pair: Pair, host: HostID, info: ResourceInfo, isAccepted: Bool, at now: Instant
  ) {
    self.isAccepted = isAccepted
    offered = now
    super.init(id: id, flow: flow, pair: pair, host: host, info: info, at: now)
  }

  func restore(stored: UInt64, tree: ChunkTree, at now: Instant) {
    self.stored = stored
    self.tree = tree
    settled = stored
    received = stored
    meter = ProgressMeter(bytes: stored, at: now)
  }

  // MARK: The file after a restart

  /// The file may have changed while nobody looked: it is to be read again before it continues.
  func beginRereading() { reread = stored > 0 ? ChunkTree() : nil }

  var isRereading: Bool { reread != nil }

  /// The next part of the stored file to read again.
  var nextReread: Range<UInt64>? {
    guard let reread else { return nil }
    let start = reread.count * UInt64(Limits.chunkBytes)
    return start < stored ? start..<min(stored, start + Self.rereadBytesMax) : nil
  }

  /// Takes the digests of the next chunks on the disk; fewer than requested where they cannot be read. Once all are
  /// there, keeps what is as it was stored, and returns whether anything was damaged; nil before that.
  func reread(_ digests: [Digest], _ crypto: any Crypto, at now: Instant) -> Bool? {
    guard var reread, let part = nextReread else { return nil }
    let count = (part.count + Limits.chunkBytes - 1) / Limits.chunkBytes
    for digest in digests.prefix(count) { reread.append(digest, crypto) }
    self.reread = reread
    if digests.count >= count, nextReread != nil { return nil }
    self.reread = nil
    let intact = tree.commonPrefix(with: reread)
    if intact == tree { return false }
    restore(stored: min(stored, intact.count * UInt64(Limits.chunkBytes)), tree: intact, at: now)
    return true
  }

  /// Little enough that other transfers get at the disk, and that a frame of digests stays small.
  private static let rereadBytesMax: UInt64 = 4 << 20

  var view: ResourceView {
    ResourceView(
      info: info, from: pair.member, to: pair.local, isIncoming: true, isAccepted: isAccepted, bytes: stored)
  }

  /// False where the sender contradicts an earlier statement, or its own bytes.
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

  override func beginLink() {
    isActive = false
    turn = 0
  }

  /// Requests nothing for a while; chunks in flight come too late.
  func pause() { isActive = false }

  /// Whether all stored bytes would survive a crash.
  var isSettled: Bool { settled == stored }

  /// Requests the missing bytes, on a new link or after damage: chunks of an earlier turn do not count any more.
  func begin(windowBytes: Int, _ crypto: any Crypto) -> ResourceWant {
    isActive = true
    self.windowBytes = windowBytes
    turn += 1
    received = stored
    digests = Deque()
    confirmed = stored
    limit = min(Limits.flowBytesMax, confirmed + UInt64(windowBytes))
    rereading = .seconds(Int64(stored / Self.rereadBytesPerSecond))
    return ResourceWant(flow: flow, turn: turn, offset: confirmed, limit: limit, root: tree.root(crypto))
  }

  /// A slow disk.
  private static let rereadBytesPerSecond: UInt64 = 32 << 20

  /// Whether a chunk is the next, and was requested; only the last may be short.
  func expects(_ count: Int, at offset: UInt64) -> Bool {
    let end = offset + UInt64(count)
    let isLast = info.size.map { end >= $0 } ?? true
    return offset == received && received % UInt64(Limits.chunkBytes) == 0 && end <= limit
      && (isLast || count == Limits.chunkBytes)
  }

  /// Whether the resource has so many more bytes, as far as its size is known.
  func fits(_ count: Int) -> Bool { info.size.map { received + UInt64(count) <= $0 } ?? true }

  /// Whether more was requested than has come.
  var isOwed: Bool { isActive && received < min(limit, info.size ?? .max) }

  func take(_ count: Int, _ digest: Digest) {
    rereading = .zero
    received += UInt64(count)
    digests.append(digest)
  }

  /// False where those bytes have not come.
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

  /// The stored bytes will survive a crash. Returns the next request, if it is time for one.
  func settle(through offset: UInt64) -> ResourceWant? {
    settled = max(settled, offset)
    guard isActive, settled >= confirmed + UInt64(min(Self.confirmedMax, windowBytes / 2)) else { return nil }
    confirmed = settled
    limit = max(limit, min(Limits.flowBytesMax, confirmed + UInt64(windowBytes)))
    return ResourceWant(flow: flow, turn: turn, offset: confirmed, limit: limit, root: Self.noRoot)
  }

  /// A sender keeps no more than a little beyond the confirmed offset, and waits for that.
  private static let confirmedMax = 64 << 10
  /// The root counts where a turn begins.
  private static let noRoot = Digest(.init(0, 0, 0, 0))

  /// Compares the root of the whole with the sender's; nil while not all of it is there.
  func compareRoot(_ crypto: any Crypto) -> Bool? {
    guard let size = info.size, let root = info.root, stored == size else { return nil }
    return tree.root(crypto) == root
  }
}
