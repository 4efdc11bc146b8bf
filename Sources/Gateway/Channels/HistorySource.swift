internal import Notation

/// The stored history of a channel, beyond what the channel holds in memory. Reading it takes time.
protocol HistorySource: AnyObject {
  /// The oldest item that is stored.
  var oldest: (ordinal: UInt64, id: String)? { get }
  /// Items after an ordinal, also those that the channel holds: at most `count`, and as many as a page has room for.
  func page(
    after ordinal: UInt64, atMost count: Int, where filter: [String: String]
  ) async throws -> (items: [Item], hasMore: Bool)
  /// The latest change of each item that has changed since, in order, up to the limit of one read, and the offset that
  /// they reach. Nil where some of them are no longer stored.
  func changes(after since: UInt64, through last: UInt64) async throws -> (changes: [Change], through: UInt64)?
  func item(_ id: String) async throws -> Item?
}

/// The changes since a position, and the position that they reach: the end of the channel, or of one read.
struct ChangeBatch {
  /// The number of changes that were dropped before these, in a channel whose items are not kept.
  var dropped = 0
  var changes: [Change]
  var position: Position

  /// The total size of its items.
  var bytes: Int { changes.reduce(0) { $0 + ($1.bytes?.count ?? 0) } }
}

/// The result of a read from stored history.
enum HistoryResult {
  case page([Item], hasMore: Bool)
  case changes(ChangeBatch)
}

extension Collection {
  /// Whether the changes since a position are no longer in the channel, and may be in its stored history.
  func needsHistory(since position: Position?) -> Bool {
    guard historySource != nil, let position, position.epoch == epoch, position.offset < offset else { return false }
    return changes(after: position) == nil
  }

  func needsHistory(_ listing: Listing) -> Bool {
    guard listing.since == nil, let oldest = historySource?.oldest else { return needsHistory(since: listing.since) }
    return max(oldest.ordinal, listing.after + 1) < firstOrdinal
  }

  /// The stored changes since a position, and those that came during the read if the channel still has them.
  func readHistory(since position: Position) async throws -> ChangeBatch? {
    let last = offset
    guard position.epoch == epoch,
      let (past, through) = try await historySource?.changes(after: position.offset, through: last)
    else { return nil }
    let reached = Position(epoch: epoch, offset: through)
    guard through == last, let news = changes(after: reached) else {
      return ChangeBatch(changes: past, position: reached)
    }
    return ChangeBatch(changes: past + news, position: self.position)
  }

  func readHistory(_ listing: Listing) async throws -> HistoryResult? {
    if let since = listing.since { return try await readHistory(since: since).map(HistoryResult.changes) }
    guard let page = try await historySource?.page(after: listing.after, atMost: listing.limit, where: listing.filter)
    else {
      return nil
    }
    // An item that is stored and not yet published comes by the channel first.
    let told = page.items.prefix { $0.ordinal <= offset }
    return .page(Array(told), hasMore: page.hasMore && told.count == page.items.count)
  }
}

extension Core {
  /// Reads the changes since a position from stored history, and calls `tell` later: with nil where some are gone.
  func readHistory(of collection: Collection, since position: Position, _ tell: @escaping (ChangeBatch?) -> Void) {
    let (number, path) = (number(), collection.path)
    historyCallbacks[number] = tell
    start { core in
      // The channel may have ended meanwhile.
      let news = try? await core.channels.collection(at: path)?.readHistory(since: position)
      core.historyCallbacks.removeValue(forKey: number)?(news)
    }
  }
}
