internal import Nearby
internal import Web

/// A collection whose items are mostly those of others too: a view of `SharedItems`, with numbers of its own.
///
/// Readers see no difference. What only this list has, such as what its own client sent, is published in a ring of its
/// own, and its changes are kept here.
final class SharedList: Collection {
  let shared: SharedItems
  /// Its number among the lists of these items.
  private(set) var slot = 0
  private var ownOffset: UInt64 = 0
  private var ownCount = 0
  private var ownBytes = 0
  /// No place before this one has an item of the list.
  var oldestPlace = 0
  private var ownChanges = OwnChanges()
  /// The number of `SharedItems` up to which changes are not known: it began then, or has forgotten its own.
  private var forgottenNumber: UInt64
  /// The rings of its own changes.
  private var rings = ChannelRings()
  /// The rings of all other changes for WebSockets that follow another list of these items as well: for that one they
  /// subscribe to a ring of `SharedItems`.
  private var secondRings = ChannelRings()

  /// A part of stored items that was there before its list.
  struct Stored {
    let slot: Int
    let epoch: String
    let offset: UInt64
  }

  init(
    path: String, number: Int, of shared: SharedItems, as stored: Stored? = nil,
    onFollowers: @escaping (ClientID, Int) -> Void = { _, _ in }
  ) {
    self.shared = shared
    forgottenNumber = shared.number
    super.init(
      path: path, number: number, epoch: stored?.epoch ?? shared.epoch, limits: shared.limits, shared.binaryForms,
      onFollowers: onFollowers
    ) { _ in nil }
    if let stored {
      (slot, ownOffset) = (stored.slot, stored.offset)
      shared.attach(self, at: slot)
    } else {
      slot = shared.add(self)
    }
  }

  override var offset: UInt64 { ownOffset }
  override var lastOrdinal: UInt64 { shared.number }
  override var count: Int { ownCount }
  override var bytes: Int { ownBytes }
  override subscript(id: String) -> Item? { shared.item(id, in: slot) }
  override var all: [Item] { Array(shared.items(after: 0, in: slot)) }
  override var firstOrdinal: UInt64 { shared.items(after: 0, in: slot).first?.ordinal ?? lastOrdinal + 1 }

  // MARK: Changes

  @discardableResult
  override func put(
    _ id: String, written bytes: [UInt8], owner: Owner, facets: [String: String] = [:], of member: MemberModel? = nil
  ) -> Item {
    shared.put(id, SharedItems.Content(bytes: bytes, facets: facets, member: member), inOwn: slot)
    guard let item = self[id] else { preconditionFailure("other items make room for it") }
    return item
  }

  override func remove(_ id: String) { shared.remove(id, from: slot) }

  /// Its number of items has changed, and their size.
  func account(_ bytes: Int, _ count: Int) {
    ownBytes += bytes
    ownCount += count
  }

  /// Notes a change that other lists have, too.
  func advance(by change: SharedItems.ItemChange) {
    ownOffset += 1
    if secondRings.areFollowed { change.publish(in: secondRings, binaryForms) }
  }

  /// Drops changes that are past their age.
  func forgetChanges(throughNumber number: UInt64) { forgottenNumber = max(forgottenNumber, number) }

  /// Publishes a change that no other list has.
  func publishOwn(_ change: SharedItems.ItemChange, _ number: UInt64) {
    ownOffset += 1
    ownChanges.append(number, change)
    while ownChanges.count > changesFactor * limits.ownChangesMax, let oldest = ownChanges.removeFirst() {
      forgottenNumber = max(forgottenNumber, oldest)
    }
    if rings.areFollowed { change.publish(in: rings, binaryForms) }
    notifyFollowers()
  }

  override func end() {
    if isEnded { return }
    super.end()
    (rings, secondRings) = (ChannelRings(), ChannelRings())
    if shared.isDurable { shared.detach(self) } else { shared.remove(self) }
  }

  // MARK: Reading

  /// Changes are kept for twice as long while a reader catches up.
  private var changesFactor: Int { shared.keepsLonger ? 2 : 1 }

  /// The latest changes, latest first, each with its number of `SharedItems`: so many, or as many as are kept.
  private func latestChanges(_ count: Int) -> [(number: UInt64, change: SharedItems.ItemChange)] {
    var latest: [(number: UInt64, change: SharedItems.ItemChange)] = []
    let end = max(forgottenNumber, shared.forgottenNumber)
    let countMax = min(count, changesFactor * limits.changesMax)
    var bytes = 0
    /// Whether there is room for more.
    func add(_ number: UInt64, _ change: SharedItems.ItemChange) -> Bool {
      bytes += change.byteCount
      guard number > end, latest.count < countMax, latest.isEmpty || bytes <= changesFactor * limits.changesBytesMax
      else { return false }
      latest.append((number, change))
      return true
    }
    var own = ownChanges.latest
    var next = own.next()
    for change in shared.latestChanges where change.number > end {
      while let (number, change) = next.flatMap({ $0.number > change.number ? $0 : nil }) {
        guard add(number, change) else { return latest }
        next = own.next()
      }
      guard latest.count < countMax else { return latest }
      if change.lists.contains(slot), !add(change.number, change.change) { return latest }
    }
    while let (number, change) = next {
      guard add(number, change) else { return latest }
      next = own.next()
    }
    return latest
  }

  override func changes(after since: Position) -> ArraySlice<Change>? {
    guard since.epoch == epoch, since.offset <= offset else { return nil }
    if since.offset == offset { return [] }
    let latest = latestChanges(Int(clamping: offset - since.offset))
    guard latest.count == offset - since.offset else { return nil }
    var number = since.offset
    return ArraySlice(
      latest.reversed().map { _, change in
        number += 1
        return change.change(number)
      })
  }

  override var firstChangeOffset: UInt64? {
    let count = latestChanges(.max).count
    return count == 0 ? nil : offset - UInt64(count) + 1
  }

  override func ordinal(at offset: UInt64) -> UInt64 {
    // The number before that of the change behind it.
    let count = Int(clamping: self.offset - offset)
    if count == 0 { return lastOrdinal }
    let latest = latestChanges(count)
    return latest.count == count ? (latest.last?.number ?? 1) - 1 : 0
  }

  override func count(seenBy client: ClientView) -> Int { ownCount }

  override func seen(by client: ClientView, where filter: [String: String] = [:]) -> [Item] {
    first(.max, .max, of: shared.items(after: 0, in: slot), for: client, where: filter).items
  }

  override func page(
    after ordinal: UInt64, atMost count: Int, bytes bytesMax: Int = .max, for client: ClientView,
    where filter: [String: String]
  ) -> (items: [Item], hasMore: Bool) {
    first(count, bytesMax, of: shared.items(after: ordinal, in: slot), for: client, where: filter)
  }

  override func latest(_ count: Int, bytes: Int, for client: ClientView, where filter: [String: String]) -> [Item] {
    first(count, bytes, of: shared.items(after: 0, in: slot).reversed(), for: client, where: filter).items.reversed()
  }

  override func catchUpBegan() { shared.catchUpBegan() }
  override func catchUpEnded() { shared.catchUpEnded() }

  // MARK: Following

  override func follow(_ follower: any Follower) {
    super.follow(follower)
    shared.setFollowed(true, slot)
  }

  override func unfollow(_ follower: any Follower) {
    super.unfollow(follower)
    if followers.isEmpty, !isEnded { shared.setFollowed(false, slot) }
  }

  override func pageBegan(in rounds: PageRounds) { shared.pageRounds = rounds }
  override func pageEnded() {}

  override func subscribe(_ socket: WebSocket, _ kind: MessageKind) {
    let kind = binaryForms == nil ? .text : kind
    let numbering = Fanout.Numbering("{\"n\":\(number),\"o\":", after: offset, viewer: slot)
    rings.ring(kind, shared.makeRing()).subscribe(socket, numbering)
    let others =
      shared.rings.isSubscribed(socket) ? secondRings.ring(kind, shared.makeRing()) : shared.ring(kind)
    others.subscribe(socket, numbering)
  }

  /// The rings of other lists' changes for a WebSocket that follows it.
  private func sharedRings(for socket: WebSocket) -> ChannelRings {
    secondRings.isSubscribed(socket) ? secondRings : shared.rings
  }

  override func unsubscribe(_ socket: WebSocket) {
    guard rings.isSubscribed(socket) else { return }
    rings.unsubscribe(socket)
    sharedRings(for: socket).unsubscribe(socket)
  }

  override func waitingCount(for socket: WebSocket) -> Int {
    guard rings.isSubscribed(socket) else { return 0 }
    return rings.waitingCount(for: socket) + sharedRings(for: socket).waitingCount(for: socket)
  }
}
