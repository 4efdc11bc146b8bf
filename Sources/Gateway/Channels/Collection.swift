internal import Notation
internal import Web

/// A subscriber without a ring of its own: it is notified of changes, and reads them itself.
protocol Follower: AnyObject {
  var client: ClientView { get }
  func changed(_ collection: Collection)
  func ended(_ collection: Collection)
  /// The client has lost its access.
  func accessRevoked()
  /// The gateway is about to stop.
  func gatewayStopping()
}

/// Items of one kind under one path, in the order in which they came, and the channel of their changes.
///
/// All readers, a page, a WebSocket, an event stream, a long poll, get the same items and the same changes; a reader
/// that missed more changes than are kept gets a snapshot. Where items are announced and not kept, a follower that is
/// too far behind loses the oldest changes (eviction) and gets their number.
class Collection {
  struct Limits: Hashable, Sendable {
    /// Limits for the changes that are kept for clients that reconnect.
    var changesMax = 1_024
    var changesBytesMax = 1 << 20
    /// Limit for those that one of several lists with shared items has alone.
    var ownChangesMax = 1_024
    /// Limit for how far a WebSocket may be behind.
    var ringBytesMax = 1 << 20
    /// Limits past which the oldest items are removed (eviction), some at once, and their removal is published.
    var itemsMax = Int.max
    var itemsBytesMax = Int.max
    /// Whether bursts of changes are coalesced (throttled) for WebSockets.
    var isPaced = false
    /// Whether a WebSocket that is further behind drops the oldest changes, or is closed.
    var drops = false

    /// The limits for unreliable messages: a late one is worth less than none.
    static let datagrams = Limits(
      changesMax: 256, changesBytesMax: 1 << 20, ringBytesMax: 2 << 20, itemsMax: 0, itemsBytesMax: 0, drops: true)

    /// The limits for members of a crowd: a newcomer finds many, and reads them again where it comes back soon.
    static let crowd = Limits(ownChangesMax: 128, ringBytesMax: 4 << 20, isPaced: true)

    /// Limit for the items that are removed together. Of a few, one makes room for the next.
    static let removedMax = 64

    func isFull(_ count: Int, _ bytes: Int) -> Bool { count > itemsMax || bytes > itemsBytesMax }

    /// Whether one more of the oldest items is removed than so many: a full collection makes room for some more items,
    /// so that followers are told once for all of them.
    func removesMore(than removed: Int, leaving count: Int, _ bytes: Int) -> Bool {
      removed < Self.removedMax
        && (count > itemsMax - min(itemsMax / 16, Self.removedMax - 1) || bytes > itemsBytesMax - itemsBytesMax / 64)
    }
  }

  let path: String
  /// A number that is the same for every client of the gateway.
  let number: Int
  let epoch: String
  let limits: Limits
  private(set) var lastOffset: UInt64 = 0
  private var items = OrderedItems()
  private var changes: ArraySlice<Change> = []
  private var changesBytes = 0
  private(set) var followers: [ObjectIdentifier: any Follower] = [:]
  private var rings: ClientRings
  /// The binary forms of its items; nil where none has a body.
  let binaryForms: BinaryForms?
  private let viewer: (WebSocket) -> ClientView?
  /// Called with the number of changes that were dropped for a follower.
  private let onDropped: (Int) -> Void
  private(set) var isEnded = false
  /// The stored history of a durable channel.
  private(set) weak var historySource: (any HistorySource)?
  /// The ordinal of the last item that has left a durable channel, which is not published.
  private(set) var lastEvictedOrdinal: UInt64 = 0
  /// The latest encoding of its items, while a WebSocket has bytes of it to send.
  private weak var encoding: SnapshotEncoding?
  /// The readers that are catching up: changes are kept for twice as long meanwhile.
  private var catchUpCount = 0
  /// Called with a client for each follower of it that is new, and each that is gone.
  private let onFollowers: (_ client: ClientID, _ change: Int) -> Void
  /// Called when a reader begins that is to have the changes as they come.
  private let onFollowed: () -> Void
  /// The pages of it that are followed, and their rounds.
  private var pageCount = 0
  private var pageRounds: PageRounds?
  /// The counts of some of its items, for those who follow a page.
  var partCounts: () -> [JSON.Member] = { [] }

  init(
    path: String, number: Int, epoch: String, limits: Limits = Limits(), _ binaryForms: BinaryForms? = nil,
    onDropped: @escaping (Int) -> Void = { _ in },
    onFollowers: @escaping (ClientID, Int) -> Void = { _, _ in }, onFollowed: @escaping () -> Void = {},
    viewer: @escaping (WebSocket) -> ClientView?
  ) {
    (self.onFollowers, self.onFollowed) = (onFollowers, onFollowed)
    (self.onDropped, self.binaryForms) = (onDropped, binaryForms)
    self.path = path
    self.number = number
    rings = ClientRings(number)
    self.epoch = epoch
    self.limits = limits
    self.viewer = viewer
  }

  /// The number of its frames that wait for a WebSocket that follows it.
  func waitingCount(for socket: WebSocket) -> Int { rings[viewer(socket)]?.waitingCount(for: socket) ?? 0 }

  /// The number of changes that were dropped for a WebSocket that follows it.
  func droppedCount(for socket: WebSocket) -> Int { rings[viewer(socket)]?.droppedCount(for: socket) ?? 0 }

  /// The number of the last change.
  var offset: UInt64 { lastOffset }
  /// The ordinals of items that are new now are larger.
  var lastOrdinal: UInt64 { offset }
  var position: Position { Position(epoch: epoch, offset: offset) }
  /// Retention removes items from a durable channel without a change, so the tag has the oldest one too.
  var tag: EntityTag { historySource?.oldest.map { .text("\($0.ordinal).\(position)") } ?? .position(position) }
  var count: Int { items.count }
  var bytes: Int { items.bytes }
  subscript(id: String) -> Item? { items[id] }
  /// All items, in order.
  var all: [Item] { Array(items.all) }

  // MARK: Changes

  /// Adds or changes an item; publishes nothing where its JSON is the same as before.
  @discardableResult
  final func put(_ id: String, _ json: JSON, owner: Owner, facets: [String: String] = [:]) -> Item {
    // An array that has grown has room for as much again.
    put(id, written: json.bytes.withUnsafeBufferPointer { Array($0) }, owner: owner, facets: facets)
  }

  /// Publishes the present state of an item.
  final func put(_ item: Item, written bytes: [UInt8]) {
    put(item.id, written: bytes, owner: item.owner, facets: item.facets)
  }

  /// The same with JSON that is already serialized, of a member where it is one.
  @discardableResult
  func put(
    _ id: String, written bytes: [UInt8], owner: Owner, facets: [String: String] = [:], of member: MemberModel? = nil
  ) -> Item {
    let before = items[id]
    if let before, before.bytes == bytes {
      // A member has more than its JSON says.
      if before.member === member { return before }
      let item = before.showing(member)
      items.put(item)
      return item
    }
    lastOffset += 1
    let item = Item(
      id: id, ordinal: before?.ordinal ?? offset, owner: owner, facets: facets, bytes: bytes, position: position,
      of: member)
    items.put(item)
    publish(
      Change(
        offset: offset, owner: owner, id: id, bytes: bytes, facets: facets, facetsBefore: before?.facets))
    while limits.isFull(items.count, items.bytes), let oldest = items.first, oldest.id != id {
      removeOldest(of: oldest.owner, before: id)
    }
    return item
  }

  /// Removes the oldest items of an owner, as far as no other items are between them, as one change.
  private func removeOldest(of owner: Owner, before id: String) {
    var removed: [RemovedItem] = []
    while let oldest = items.first, oldest.owner == owner, oldest.id != id,
      limits.removesMore(than: removed.count, leaving: items.count, items.bytes)
    {
      removed.append(RemovedItem(id: oldest.id, facets: oldest.facets))
      _ = items.remove(oldest.id)
    }
    lastOffset += 1
    publish(Change(removing: removed, offset: offset, owner: owner))
  }

  /// Publishes an item that is not kept, made with the id that it gets.
  final func announce(owner: Owner, facets: [String: String], _ write: (_ id: String) -> [UInt8]) -> [UInt8] {
    lastOffset += 1
    let id = "u\(offset)"
    let bytes = write(id)
    publish(Change(offset: offset, owner: owner, id: id, bytes: bytes, facets: facets, facetsBefore: nil))
    return bytes
  }

  // MARK: Durable channels

  /// Begins with the latest items and the offset that the store has.
  final func begin(with latest: [Item], at offset: UInt64, historySource: any HistorySource) {
    for item in latest { items.put(item) }
    lastOffset = offset
    attach(historySource)
    makeRoom()
  }

  /// Is durable from now on.
  final func attach(_ historySource: any HistorySource) { self.historySource = historySource }

  /// Publishes a stored change, with its number in the store. The removal of items for which there is no room is not
  /// published: they can still be read from the store.
  final func publishStored(_ item: Item) {
    let isNew = item.ordinal == item.position.offset
    lastOffset = item.position.offset
    if isNew || items[item.id] != nil { items.put(item) }
    publish(
      Change(
        offset: offset, owner: item.owner, id: item.id, bytes: item.bytes, facets: item.facets,
        facetsBefore: isNew ? nil : item.facets))
    makeRoom()
  }

  private func makeRoom() {
    while limits.isFull(items.count, items.bytes), let oldest = items.first { evict(oldest) }
  }

  /// Removes the items that are no longer stored.
  final func forget(before ordinal: UInt64) {
    while let oldest = items.first, oldest.ordinal < ordinal { evict(oldest) }
    if let encoding, encoding.firstOrdinal < ordinal { self.encoding = nil }
  }

  /// Drops the changes up to an offset: a client that asks for older ones learns that they are gone.
  final func forgetChanges(through offset: UInt64) {
    while let oldest = changes.first, oldest.offset <= offset { dropOldestChange() }
  }

  private func dropOldestChange() { changesBytes -= changes.removeFirst().bytes?.count ?? 0 }

  private func evict(_ oldest: Item) {
    _ = items.remove(oldest.id)
    lastEvictedOrdinal = oldest.ordinal
  }

  /// Notes that an item has left a durable channel that keeps no others in its store.
  final func noteEviction(of ordinal: UInt64) {
    lastEvictedOrdinal = max(lastEvictedOrdinal, ordinal)
    if let encoding, encoding.firstOrdinal <= ordinal { self.encoding = nil }
  }

  /// The ordinal of the first item that can be read without the store.
  var firstOrdinal: UInt64 { items.first?.ordinal ?? offset + 1 }

  func remove(_ id: String) {
    guard let item = items.remove(id) else { return }
    lastOffset += 1
    publish(Change(removing: [RemovedItem(id: id, facets: item.facets)], offset: offset, owner: item.owner))
  }

  /// Removes the items of an owner that is gone.
  final func removeAll(of owner: Owner) {
    for item in all where item.owner == owner { remove(item.id) }
  }

  private func publish(_ change: Change) {
    changes.append(change)
    changesBytes += change.bytes?.count ?? 0
    let factor = catchUpCount > 0 ? 2 : 1
    while changes.count > factor * limits.changesMax || changesBytes > factor * limits.changesBytesMax,
      changes.count > 1
    {
      dropOldestChange()
    }
    if rings.areFollowed { publishInRings(change) }
    notifyFollowers()
  }

  /// Whether anybody is to have its changes as they come.
  var isFollowed: Bool { !followers.isEmpty || pageCount > 0 || catchUpCount > 0 || rings.areFollowed }

  final func notifyFollowers() {
    pageRounds?.changed()
    for follower in followers.values { follower.changed(self) }
  }

  /// Larger changes are sent from the collection's own bytes, without a copy.
  static let sharedBytesMin = 64 << 10

  private func publishInRings(_ change: Change) {
    var json: [UInt8]?
    rings.publish(change) { rings in
      rings.publish(change.bytes, binaryForms, behind: change.head(in: number)) { ring in
        if let bytes = change.bytes, bytes.count > Self.sharedBytesMin, !limits.drops {
          return ring.publish(change.pieces(putting: bytes, in: number), .text)
        }
        let text = json ?? change.json(putting: change.bytes, in: number)
        json = text
        text.withUnsafeBytes { ring.publish($0, .text) }
      }
    }
  }

  /// Ends the collection, and all its followers.
  func end() {
    isEnded = true
    for follower in followers.values {
      onFollowers(follower.client.id, -1)
      follower.ended(self)
    }
    followers = [:]
    rings = ClientRings(number)
  }

  // MARK: Reading

  /// The changes after a position, or nil where some of them are no longer kept.
  func changes(after since: Position) -> ArraySlice<Change>? {
    guard since.epoch == epoch, since.offset <= offset else { return nil }
    if since.offset == offset { return [] }
    guard let first = changes.first, first.offset <= since.offset + 1 else { return nil }
    return changes[(changes.startIndex + Int(since.offset + 1 - first.offset))...]
  }

  /// The offset of the oldest change that is kept.
  var firstChangeOffset: UInt64? { changes.first?.offset }

  /// Whether a reader can continue after a position without the stored history.
  final func knows(_ position: Position) -> Bool {
    position.epoch == epoch && position.offset <= offset && (limits.drops || changes(after: position) != nil)
  }

  /// The same with the position that they reach, and the number of changes that were dropped before them.
  final func changeBatch(since position: Position) -> ChangeBatch? {
    var position = position
    let dropped = skipDropped(after: &position)
    return changes(after: position).map { ChangeBatch(dropped: dropped, changes: Array($0), position: self.position) }
  }

  /// Moves a position past the changes that the channel has dropped, and returns their number.
  final func skipDropped(after position: inout Position) -> Int {
    guard limits.drops, position.epoch == epoch, let first = changes.first, first.offset > position.offset + 1 else {
      return 0
    }
    let count = first.offset - position.offset - 1
    position.offset += count
    onDropped(Int(count))
    return Int(count)
  }

  /// The number of changes since a position; nil where it is no longer known.
  final func missed(since position: Position?) -> Int? {
    guard let position, position.epoch == epoch, position.offset <= offset else { return nil }
    return Int(offset - position.offset)
  }

  /// The number of the items that a client sees.
  func count(seenBy client: ClientView) -> Int { items.all.count { $0.owner.isSeen(by: client) } }

  func seen(by client: ClientView, where filter: [String: String] = [:]) -> [Item] {
    first(.max, .max, of: items.all, for: client, where: filter).items
  }

  /// The ordinal space's end at an offset that is still known: items with larger ordinals came later, and those whose
  /// position is later have changed since.
  func ordinal(at offset: UInt64) -> UInt64 { offset }

  /// At most `count` items after an ordinal, and at most `bytesMax` bytes but for the first one.
  func page(
    after ordinal: UInt64, atMost count: Int, bytes bytesMax: Int = .max, for client: ClientView,
    where filter: [String: String]
  ) -> (items: [Item], hasMore: Bool) {
    first(count, bytesMax, of: items.after(ordinal), for: client, where: filter)
  }

  /// The latest items, oldest first.
  func latest(_ count: Int, bytes: Int, for client: ClientView, where filter: [String: String]) -> [Item] {
    first(count, bytes, of: items.all.reversed(), for: client, where: filter).items.reversed()
  }

  final func first(
    _ count: Int, _ bytesMax: Int, of items: some Sequence<Item>, for client: ClientView, where filter: [String: String]
  ) -> (items: [Item], hasMore: Bool) {
    var page: [Item] = []
    page.reserveCapacity(min(count, self.count))
    var bytes = 0
    for item in items where item.owner.isSeen(by: client) && (filter.isEmpty || filter.isMet(by: item.facets)) {
      bytes += item.bytes.count
      if page.count == count || bytes > bytesMax && !page.isEmpty { return (page, true) }
      page.append(item)
    }
    return (page, false)
  }

  // MARK: Snapshots

  /// The encoding that is being sent to another WebSocket of the client: one after which all changes are kept, or any.
  final func encoding(for client: ClientView, ofAnyAge: Bool = false) -> SnapshotEncoding? {
    guard let encoding, encoding.isFor(client), ofAnyAge || knows(encoding.position) else { return nil }
    return encoding
  }

  /// Keeps an encoding for the WebSockets that subscribe while it is being sent.
  final func share(_ encoding: SnapshotEncoding) { self.encoding = encoding }

  func catchUpBegan() {
    catchUpCount += 1
    onFollowed()
  }

  func catchUpEnded() { catchUpCount -= 1 }

  // MARK: Following

  func follow(_ follower: any Follower) {
    defer { onFollowed() }
    if followers.updateValue(follower, forKey: ObjectIdentifier(follower)) == nil { onFollowers(follower.client.id, 1) }
  }

  func unfollow(_ follower: any Follower) {
    if followers.removeValue(forKey: ObjectIdentifier(follower)) != nil { onFollowers(follower.client.id, -1) }
  }

  /// Ends the followers of a client whose token is no longer valid.
  final func endFollowers(of id: ClientID) {
    for (key, follower) in followers where follower.client.id == id {
      followers[key] = nil
      onFollowers(id, -1)
      follower.accessRevoked()
    }
  }

  final func count<Kind: Follower>(of kind: Kind.Type) -> Int { followers.values.count { $0 is Kind } }

  final func release() {
    for follower in followers.values { follower.gatewayStopping() }
  }

  /// The WebSocket gets each change from now on, with bodies that are no text in frames of this kind.
  func subscribe(_ socket: WebSocket, _ kind: MessageKind) {
    let kind = binaryForms == nil ? .text : kind
    guard let view = viewer(socket) else { return }
    rings.subscribe(socket, of: view, kind, at: offset, Fanout(bytesMax: limits.ringBytesMax, overflow))
  }

  private var overflow: Fanout.Overflow {
    guard limits.drops else { return .unsubscribe }
    return .dropOldest(countMax: limits.changesMax) { [unowned self] count, left in
      onDropped(count)
      return SocketFrame.dropped(count, to: offset - UInt64(left), in: number)
    }
  }

  func unsubscribe(_ socket: WebSocket) {
    if let view = viewer(socket) { rings.unsubscribe(socket, of: view) }
  }

  /// Reports its changes to the rounds of a page that is followed.
  func pageBegan(in rounds: PageRounds) {
    pageCount += 1
    pageRounds = rounds
    onFollowed()
  }

  func pageEnded() {
    pageCount -= 1
    if pageCount == 0 { pageRounds = nil }
  }
}
