internal import Notation

/// Where a channel's past is that it does not hold itself: to look there takes time.
protocol Attic: AnyObject {
  /// Of what is kept.
  var oldest: (ordinal: UInt64, id: String)? { get }
  /// Those after an ordinal, also those that the channel has: at most so many, and as many as there is room for.
  func page(
    after ordinal: UInt64, atMost count: Int, where filter: [String: String]
  ) async throws -> (items: [Item], hasMore: Bool)
  /// The latest change of each thing that has changed meanwhile, in order: as many as are told at once, and how far they
  /// go. Nil where they are not all there any more.
  func changes(after since: UInt64, through last: UInt64) async throws -> (changes: [Change], through: UInt64)?
  func item(_ id: String) async throws -> Item?
}

/// What has changed since a position, and how far that goes: to the end of the channel, or of what is told at once.
struct News {
  /// How many changes were dropped before these, of a channel whose things are not kept.
  var dropped = 0
  var changes: [Change]
  var position: Position

  /// The total size of its items.
  var bytes: Int { changes.reduce(0) { $0 + ($1.bytes?.count ?? 0) } }
}

/// What an attic had of what was asked.
enum Recalled {
  case page([Item], hasMore: Bool)
  case news(News)
}

extension Collection {
  /// What the changes of its own cannot say.
  func needsAttic(since position: Position?) -> Bool {
    guard attic != nil, let position, position.epoch == epoch, position.offset < offset else { return false }
    return changes(after: position) == nil
  }

  func needsAttic(_ listing: Listing) -> Bool {
    guard listing.since == nil, let oldest = attic?.oldest else { return needsAttic(since: listing.since) }
    return max(oldest.ordinal, listing.after + 1) < firstOrdinal
  }

  /// With the changes that came while it was looked for them, where these are at hand.
  func recall(since position: Position) async throws -> News? {
    let last = offset
    guard position.epoch == epoch,
      let (past, through) = try await attic?.changes(after: position.offset, through: last)
    else { return nil }
    let reached = Position(epoch: epoch, offset: through)
    guard through == last, let news = changes(after: reached) else { return News(changes: past, position: reached) }
    return News(changes: past + news, position: self.position)
  }

  func recall(_ listing: Listing) async throws -> Recalled? {
    if let since = listing.since { return try await recall(since: since).map(Recalled.news) }
    guard let page = try await attic?.page(after: listing.after, atMost: listing.limit, where: listing.filter) else {
      return nil
    }
    // What is new, stored and not told yet comes by the channel first.
    let told = page.items.prefix { $0.ordinal <= offset }
    return .page(Array(told), hasMore: page.hasMore && told.count == page.items.count)
  }
}

extension Core {
  /// Tells later what has changed since then, where that is in a channel's attic; nil where it is not all there any more.
  func recall(_ collection: Collection, since position: Position, _ tell: @escaping (News?) -> Void) {
    let (number, path) = (number(), collection.path)
    awaitingNews[number] = tell
    start { core in
      // The channel may have ended meanwhile.
      let news = try? await core.collection(at: path)?.recall(since: position)
      core.awaitingNews.removeValue(forKey: number)?(news)
    }
  }
}
