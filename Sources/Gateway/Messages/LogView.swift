internal import Nearby
internal import Notation
internal import Reactor
internal import Store

/// A session's part of a log, with the numbers of its own channel.
final class LogView: DurableHistory, @unchecked Sendable {
  // `@unchecked`: it belongs to its log, and is used on the same loop.

  /// The number of rows that are read at once.
  private static let rowsMax = 256

  let session: StoredSession
  let slot: Int
  let names = NamedLocks()
  private let log: MessageLog
  private unowned let sessionStore: SessionStore
  /// The number of the last change of its channel, stored or not yet.
  private(set) var offset: UInt64
  /// The number of the last change that is published.
  var published: UInt64
  /// Whether its session has ended, and only its removal is still to be stored.
  var isEnded = false
  private weak var list: SharedList?
  /// Messages whose delivery status is not final for all recipients, by the engine's numbers.
  private var open: [UInt64: (own: SharedMessage.Own, row: UInt64, delivery: Delivery)] = [:]
  private var changed: Set<UInt64> = []
  /// Delivery statuses of the message that is being sent, by its number; nil while none is.
  private var earlyStatuses: [UInt64: EarlyStatuses]?

  init(_ session: StoredSession, _ slot: Int, of log: MessageLog, in sessionStore: SessionStore) {
    (self.session, self.slot, self.log, self.sessionStore) = (session, slot, log, sessionStore)
    (offset, published) = (session.floor, session.floor)
  }

  // MARK: The log's

  func advance() -> UInt64 {
    offset += 1
    return offset
  }

  /// A stored message was this change of its channel.
  func restored(to offset: UInt64) {
    self.offset = max(self.offset, offset)
    published = self.offset
  }

  func restore(_ own: SharedMessage.Own, of row: UInt64) {
    restored(to: max(own.offset, own.changedOffset))
    guard let receipt = own.receipt, let delivery = Delivery(restoring: own.json, to: own.recipients) else { return }
    open[receipt] = (own, row, delivery)
  }

  func open(_ own: SharedMessage.Own, of row: UInt64, _ delivery: Delivery) {
    if let receipt = own.receipt { open[receipt] = (own, row, delivery) }
  }

  /// Ends its channel's wait: the list of its messages.
  func list(at path: String, in core: Core) -> SharedList {
    log.items.binaryForms = core.channels.binaryForms
    let stored = SharedList.Stored(slot: slot, epoch: session.epoch, offset: published)
    let list = core.channels.collection(path, of: log.items, as: stored)
    list.attach(self)
    self.list = list
    return list
  }

  func end() { log.remove(self) }

  var logNumber: Int { log.number }

  /// Whether it has something of the row at an ordinal of a log.
  func has(rowAt ordinal: UInt64, of number: Int) -> Bool { log.number == number && log.has(rowAt: ordinal, slot) }

  // MARK: Sending

  func send(
    _ text: MessageText, named name: String?, _ dispatch: () throws -> UInt64, delivery: (EarlyStatuses) -> Delivery,
    settle: @escaping (Item?) -> Void
  ) throws {
    earlyStatuses = [:]
    defer { earlyStatuses = nil }
    try log.send(text, named: name, in: self, dispatch) { number in
      delivery(earlyStatuses?[number] ?? [])
    } settle: {
      settle($0)
    }
  }

  func updateDelivery(of number: UInt64, for recipients: [EndpointID], _ status: DeliveryStatus) {
    guard open[number] != nil else {
      earlyStatuses?[number, default: []].append((recipients, status))
      return
    }
    open[number]?.delivery.set(status, for: recipients)
    if changed.isEmpty { sessionStore.addChanged(self) }
    changed.insert(number)
  }

  func writeDeliveryStatuses() {
    for number in changed.sorted() {
      guard case (var own, let row, var delivery)? = open[number] else { continue }
      let json = delivery.written(after: own.json.prefix(delivery.headCount))
      // The same is no change of the channel.
      if json == own.json { continue }
      own.receipt = delivery.isSettled ? nil : number
      own.recipients = delivery.isSettled ? nil : delivery.stored()
      log.change(&own, of: row, in: self, to: json)
      open[number] = delivery.isSettled ? nil : (own, row, delivery)
    }
    changed = []
  }

  // MARK: Stored history

  var oldest: (ordinal: UInt64, id: String)? { log.items.first(in: slot).map { ($0.ordinal, $0.id) } }

  func page(
    after ordinal: UInt64, atMost count: Int, where filter: [String: String]
  ) async throws -> (items: [Item], hasMore: Bool) {
    var (page, bytes): ([Item], Int) = ([], 0)
    for item in log.items.items(after: ordinal, in: slot) where filter.isMet(by: item.facets) {
      bytes += item.bytes.count
      if page.count == count || bytes > Listing.pageBytesMax && !page.isEmpty { return (page, true) }
      page.append(item)
    }
    return (page, false)
  }

  func item(_ id: String) async throws -> Item? { log.items.item(id, in: slot) }

  /// The rows say which changes they were; the items are in memory.
  func changes(after since: UInt64, through last: UInt64) async throws -> (changes: [Change], through: UInt64)? {
    let (number, log, countMax) = (session.number, self.log.number, History.changesMax)
    let writer = sessionStore.writer
    // A change of its channel is one of the log, which has more.
    let first = (session.log?.joined ?? 0) + since
    let end = max(first, self.log.items.number)
    let found = try await writer.perform { database -> (changed: [Database.Place], start: UInt64)? in
      guard try database.floor(of: number) <= since else { return nil }
      let changed = try database.changedPlaces(of: number, after: since, through: last, atMost: countMax + 1)
      return (changed, try database.start(of: number, inLog: log, after: since, between: first, and: end))
    }
    guard let (changed, start) = found else { return nil }
    var places: [Database.Place] = []
    var after = Optional(start)
    while let start = after, places.count <= countMax {
      let piece = try await writer.perform { database in
        try database.places(of: number, inLog: log, after: start, atMost: Self.rowsMax)
      }
      places += piece.places.filter { $0.offset > since && $0.offset <= last }
      after = piece.through
    }
    return changes(places, changed, through: last)
  }

  private func changes(
    _ unchanged: [Database.Place], _ changed: [Database.Place], through last: UInt64
  ) -> (changes: [Change], through: UInt64)? {
    let places =
      (unchanged.map { ($0, true) } + changed.map { ($0, false) }).sorted { $0.0.offset < $1.0.offset }
    var (changes, bytes): ([Change], Int) = ([], 0)
    for (place, isNew) in places {
      // Items that retention has removed here are not passed over: the reader gets a snapshot.
      guard let item = log.items.item(at: place.ordinal, in: slot) else { return nil }
      bytes += item.bytes.count
      if changes.count == History.changesMax || bytes > History.changesBytesMax && !changes.isEmpty {
        return (changes, place.offset - 1)
      }
      changes.append(
        Change(
          offset: place.offset, owner: item.owner, id: item.id, bytes: item.bytes, facets: item.facets,
          facetsBefore: isNew ? nil : item.facets))
    }
    return (changes, last)
  }
}
