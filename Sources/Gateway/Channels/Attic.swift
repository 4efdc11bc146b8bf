/// Where a channel's past is that it does not hold itself: to look there takes time.
protocol Attic: AnyObject {
  /// Whether changes are on their way there, and so into the channel.
  var isStoring: Bool { get }
  /// Of the oldest thing that is kept.
  var oldestOrdinal: UInt64? { get }
  /// Those after an ordinal, also those that the channel has.
  func page(after ordinal: UInt64, atMost count: Int, where filter: [String: String]) async throws -> [Item]
  /// The latest change of each thing that has changed meanwhile, in order; nil where they are too many, or not all there
  /// any more.
  func changes(after since: UInt64, through last: UInt64) async throws -> [Change]?
  func item(_ id: String) async throws -> Item?
}

/// What an attic had of what was asked.
enum Recalled {
  case page([Item], hasMore: Bool)
  case changes([Change])
}

extension Collection {
  /// What the changes of its own cannot say.
  func needsAttic(since position: Position?) -> Bool {
    guard attic != nil, let position, position.epoch == epoch, position.offset < offset else { return false }
    return changes(after: position) == nil
  }

  func needsAttic(_ listing: Listing) -> Bool {
    guard listing.since == nil, let oldest = attic?.oldestOrdinal else { return needsAttic(since: listing.since) }
    return max(oldest, listing.after + 1) < firstOrdinal
  }

  /// With the changes that came while it was looked for them.
  func recall(since position: Position) async throws -> Recalled? {
    var past: [Change] = []
    var since = position.offset
    // So much may come while it is looked for them that it has to be looked again.
    for _ in 0..<Self.looksMax {
      let last = offset
      guard let older = try await attic?.changes(after: since, through: last) else { return nil }
      past += older
      if let news = changes(after: Position(epoch: epoch, offset: last)) { return .changes(past + news) }
      since = last
    }
    return nil
  }

  private static let looksMax = 8

  func recall(_ listing: Listing) async throws -> Recalled? {
    if let since = listing.since { return try await recall(since: since) }
    let items = try await attic?.page(after: listing.after, atMost: listing.limit + 1, where: listing.filter) ?? []
    // What is new, stored and not told yet comes by the channel first.
    let told = items.prefix { $0.ordinal <= offset }
    return .page(Array(told.prefix(listing.limit)), hasMore: told.count > listing.limit)
  }
}
