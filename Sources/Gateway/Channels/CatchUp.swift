/// The way of a reader from a position in a collection to its present, in steps at the reader's pace.
///
/// Invariants:
/// - Each step reads the collection as it is then; nothing is held for a slow reader but the IDs of what it knows.
/// - Where the next changes are no longer kept, a reader that began with a snapshot gets the difference between what it
///   knows and what is there, up to the oldest change that is kept: one change for each item that was put, and one for
///   many that are gone, numbered below the offset of that change. A reader that stops before the end of the difference
///   resumes with a new snapshot.
struct CatchUp {
  enum Step {
    case changes(ChangeBatch)
    /// There are no more changes.
    case done
    /// The next changes are in the stored history, if anywhere.
    case stored
    /// Some changes are gone.
    case lost
  }

  private struct Difference {
    var deleted: ArraySlice<String>
    var changed: ArraySlice<String>
    let end: UInt64
  }

  /// Limit for `news`.
  private static let newsMax = 1_024

  /// The IDs of the items that the reader knew at the beginning or at the latest difference, shared with other readers;
  /// nil where it began with changes.
  private var known: [String]?
  /// The IDs of the items whose changes it has received since, and whether they exist.
  private var news: [String: Bool] = [:]
  private var difference: Difference?
  /// Items with larger ordinals came after what the reader has.
  private var ordinal: UInt64

  init(knowing known: [String]? = nil, upTo ordinal: UInt64 = 0) { (self.known, self.ordinal) = (known, ordinal) }

  /// The next changes, at most about so many bytes of them.
  mutating func next(
    after position: Position, of collection: Collection, for client: ClientView, atMost bytesMax: Int
  ) -> Step {
    if difference == nil {
      var start = position
      let dropped = collection.skipDropped(after: &start)
      if let changes = collection.changes(after: start) {
        if changes.isEmpty {
          return dropped == 0 ? .done : .changes(.init(dropped: dropped, changes: [], position: start))
        }
        let batch = Self.batch(of: changes, atMost: bytesMax, dropped, in: start.epoch)
        learn(batch.changes, client)
        if known != nil { ordinal = collection.ordinal(at: batch.position.offset) }
        return .changes(batch)
      }
      if collection.historySource != nil { return .stored }
      guard begin(after: position, collection, client) else { return .lost }
    }
    return .changes(nextOfDifference(after: position, collection, client, bytesMax))
  }

  private static func batch(
    of changes: ArraySlice<Change>, atMost bytesMax: Int, _ dropped: Int, in epoch: String
  ) -> ChangeBatch {
    var bytes = 0
    let batch = changes.prefix { change in
      defer { bytes += change.bytes?.count ?? change.ids.reduce(0) { $0 + $1.utf8.count } }
      return bytes < bytesMax
    }
    return ChangeBatch(
      dropped: dropped, changes: Array(batch),
      position: Position(epoch: epoch, offset: batch.last?.offset ?? changes[changes.startIndex].offset - 1))
  }

  private mutating func learn(_ changes: [Change], _ client: ClientView) {
    if known == nil { return }
    for change in changes where change.owner.isSeen(by: client) {
      for id in change.ids { news[id] = change.bytes != nil }
    }
    if news.count > Self.newsMax { (known, news) = (knownNow, [:]) }
  }

  /// The IDs of the items that the reader knows.
  private var knownNow: [String]? {
    guard let known, !news.isEmpty else { return known }
    return known.filter { news[$0] == nil } + news.filter(\.value).map(\.key)
  }

  private mutating func begin(after position: Position, _ collection: Collection, _ client: ClientView) -> Bool {
    guard let known = knownNow, position.epoch == collection.epoch, let first = collection.firstChangeOffset,
      first > position.offset + 1,
      let kept = collection.changes(after: Position(epoch: position.epoch, offset: first - 1))
    else { return false }
    let firstOrdinal = collection.ordinal(at: first - 1) + 1
    // Later deletions are reported by the changes that are kept.
    let deletedLater = Set(kept.lazy.filter { $0.bytes == nil }.flatMap(\.ids))
    let deleted = known.filter { id in
      guard let item = collection[id] else { return !deletedLater.contains(id) }
      if item.ordinal <= ordinal { return false }
      // It is another item of that ID; the one that is known was deleted.
      return item.ordinal < firstOrdinal || !deletedLater.contains(id)
    }
    let changed = collection.seen(by: client).filter {
      ordinal < $0.position.offset && $0.position.offset < firstOrdinal
    }.sorted { $0.position.offset < $1.position.offset }.map(\.id)
    var left = Set(known)
    left.subtract(deleted)
    left.formUnion(changed)
    self.known = Array(left)
    news = [:]
    ordinal = firstOrdinal - 1
    difference = Difference(deleted: deleted[...], changed: changed[...], end: first - 1)
    return true
  }

  private mutating func nextOfDifference(
    after position: Position, _ collection: Collection, _ client: ClientView, _ bytesMax: Int
  ) -> ChangeBatch {
    var batch = ChangeBatch(changes: [], position: position)
    guard var difference else { return batch }
    var bytes = 0
    var removed: [RemovedItem] = []
    // As many at least as one change removes: so there are no more changes than those that are no longer kept.
    while bytes < bytesMax || removed.count < Collection.Limits.removedMax, let id = difference.deleted.popFirst() {
      bytes += id.utf8.count
      removed.append(RemovedItem(id: id, facets: [:]))
    }
    if !removed.isEmpty {
      batch.position.offset += 1
      batch.changes.append(
        Change(removing: removed, offset: batch.position.offset, owner: .client(client.id)))
    }
    while bytes < bytesMax, let id = difference.changed.popFirst() {
      // An item that was deleted meanwhile is reported by a later change, or by the next difference.
      guard let item = collection[id], item.owner.isSeen(by: client) else { continue }
      batch.position.offset += 1
      bytes += item.bytes.count
      batch.changes.append(
        Change(
          offset: batch.position.offset, owner: item.owner, id: id, bytes: item.bytes, facets: item.facets,
          facetsBefore: nil))
    }
    self.difference = difference
    if difference.deleted.isEmpty, difference.changed.isEmpty {
      batch.position.offset = difference.end
      self.difference = nil
    }
    return batch
  }
}
