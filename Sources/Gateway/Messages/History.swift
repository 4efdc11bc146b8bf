internal import Nearby
internal import Notation
internal import Reactor
internal import Store

/// The durable messages of a session: all of them are in the store, and the latest in the channel.
///
/// A change has its number when its write is queued, and is published in the channel once it is stored; writes are
/// stored in their order, so the channel's numbers are those of the store.
final class History: DurableHistory, @unchecked Sendable {
  // `@unchecked`: it is made before its host starts, or on the host's loop, and used on that loop alone from then on:
  // results of the writer's thread come back there.

  struct Limits: Hashable, Sendable {
    var count = 10_000
    var bytes = 16 << 20
    var age: Duration?
  }

  /// The state of a history in the store at a start.
  struct Stored: Sendable {
    var latest: [StoredMessage] = []
    var open: [StoredMessage] = []
    var oldest: StoredMessage?
    var offset: UInt64 = 0
  }

  /// The number of messages that the channel has at a start.
  static let windowCount = 1_000
  /// Slack of the retention limits, so that changes in close succession do not prune each time.
  private static let pruneStride = 64

  let session: StoredSession
  let limits: Limits
  private unowned let sessionStore: SessionStore
  /// The number of the last change.
  private var offset: UInt64
  private var count: Int
  private var total: Int
  /// The oldest stored message.
  private var first: StoredMessage?
  private var isPruning = false
  private var messageFacets = MessageFacets()
  private let latest: [StoredMessage]
  private let offsetAtStart: UInt64
  /// The channel of its messages; those that are stored before there is a channel wait.
  private var channel: Collection?
  private var unpublished: [StoredMessage] = []
  private var owner = Owner.operators
  /// Messages whose delivery status is not final for all recipients, by the engine's numbers.
  private var open: [UInt64: (message: StoredMessage, delivery: Delivery)] = [:]
  private var changed: Set<UInt64> = []
  /// Delivery statuses that came before it was known which message they belong to.
  private var earlyStatuses: [UInt64: EarlyStatuses] = [:]
  private var isDispatching = false
  let names = NamedLocks()

  init(_ session: StoredSession, _ limits: Limits, _ stored: Stored, in sessionStore: SessionStore) {
    self.session = session
    self.limits = limits
    self.sessionStore = sessionStore
    latest = stored.latest
    offset = stored.offset
    offsetAtStart = stored.offset
    count = stored.latest.last?.count ?? 0
    total = stored.latest.last?.total ?? 0
    first = stored.oldest
    for message in stored.open {
      guard let receipt = message.receipt, let delivery = Delivery(restoring: message.json, to: message.recipients)
      else { continue }
      open[receipt] = (message, delivery)
    }
  }

  /// Publishes in this channel from now on.
  func attach(_ channel: Collection, _ owner: Owner) {
    self.channel = channel
    self.owner = owner
    channel.begin(with: latest.map(item), at: offsetAtStart, historySource: self)
    for message in unpublished { channel.publishStored(item(message)) }
    unpublished = []
  }

  func item(_ message: StoredMessage) -> Item {
    Item(
      id: id(of: message), ordinal: message.ordinal, owner: owner,
      facets: messageFacets.of(message.sender, message.mode),
      bytes: message.isDamaged ? damagedPlaceholder(for: message) : message.json,
      position: Position(epoch: session.epoch, offset: message.changed))
  }

  /// A placeholder for a message whose stored text is damaged.
  private func damagedPlaceholder(for message: StoredMessage) -> [UInt8] {
    sessionStore.countDamaged()
    return Self.placeholder(id(of: message), from: message.sender, message.mode, at: message.at)
  }

  static func placeholder(_ id: String, from sender: String, _ mode: String, at time: Int64) -> [UInt8] {
    JSON.object([
      .init("id", .text(id)), .init("from", .text(sender)), .init("displayName", ""), .init("mode", .text(mode)),
      .init("at", .text(Timestamp(milliseconds: time).description)), .init("size", 0),
      .init("contentType", "application/octet-stream"), .init("body", ""), .init("damaged", true),
    ]).bytes
  }

  private func id(of message: StoredMessage) -> String { message.name ?? Self.id(of: message.ordinal) }

  /// The id of a message whose sender has given it none.
  private static func id(of ordinal: UInt64) -> String { "m\(ordinal)" }

  static func ordinal(of id: String) -> UInt64? {
    guard id.hasPrefix("m"), let ordinal = UInt64(id.dropFirst()), Self.id(of: ordinal) == id else { return nil }
    return ordinal
  }

  // MARK: New messages

  func receive(_ text: MessageText) { add(text, named: nil, nil) }

  func send(
    _ text: MessageText, named name: String?, _ dispatch: () throws -> UInt64, delivery: (EarlyStatuses) -> Delivery,
    settle: @escaping (Item?) -> Void
  ) throws {
    isDispatching = true
    defer {
      isDispatching = false
      earlyStatuses = [:]
    }
    let number = try dispatch()
    add(text, named: name, (number, delivery(earlyStatuses[number] ?? [])), settle)
  }

  private func add(
    _ text: MessageText, named name: String?, _ receipt: (number: UInt64, delivery: Delivery)?,
    _ settle: ((Item?) -> Void)? = nil
  ) {
    offset += 1
    count += 1
    let now = Timestamp.now
    let head = text.written(as: name ?? Self.id(of: offset), at: now)
    var delivery = receipt?.delivery
    let json = delivery?.written(after: head.dropLast()) ?? head
    total += json.count
    var message = StoredMessage(
      ordinal: offset, changed: offset, count: count, total: total, at: now.milliseconds, name: name,
      sender: text.from, mode: text.mode.word, json: json)
    if let number = receipt?.number, var delivery, !delivery.isSettled {
      message.receipt = number
      message.recipients = delivery.stored()
      open[number] = (message, delivery.after(head.count - 1))
    }
    sessionStore.enqueue(PendingMessage(message, in: self, settle: settle))
  }

  /// The write is stored, or never will be.
  fileprivate func finishWrite(_ pending: PendingMessage, isStored: Bool) {
    guard isStored else {
      pending.settle?(nil)
      return
    }
    let message = pending.message
    if first == nil { first = message }
    let item = item(message)
    if let channel { channel.publishStored(item) } else { unpublished.append(message) }
    pending.settle?(item)
    prune(at: Timestamp(milliseconds: message.at))
  }

  // MARK: Delivery status

  func updateDelivery(of number: UInt64, for recipients: [EndpointID], _ status: DeliveryStatus) {
    guard open[number] != nil else {
      if isDispatching { earlyStatuses[number, default: []].append((recipients, status)) }
      return
    }
    open[number]?.delivery.set(status, for: recipients)
    if changed.isEmpty { sessionStore.addChanged(self) }
    changed.insert(number)
  }

  func writeDeliveryStatuses() {
    for number in changed.sorted() {
      guard case (let before, var delivery)? = open[number] else { continue }
      var message = before
      offset += 1
      message.changed = offset
      message.json = delivery.written(after: message.json.prefix(delivery.headCount))
      message.receipt = delivery.isSettled ? nil : number
      message.recipients = delivery.isSettled ? nil : delivery.stored()
      open[number] = delivery.isSettled ? nil : (message, delivery)
      sessionStore.enqueue(PendingMessage(message, in: self))
    }
    changed = []
  }

  // MARK: Retention

  /// Removes messages past the retention limits. That is not published: a client that has them may keep them, and a
  /// later read does not find them. Whether there were any: they are removed in pieces, so there may be more.
  ///
  /// The removal runs apart from new writes, which do not wait for it: while nothing new is written.
  @discardableResult
  func prune(at now: Timestamp) -> Bool {
    guard let first, !isPruning, exceedsRetention(since: first, now), let reactor = sessionStore.reactor else {
      return false
    }
    isPruning = true
    reactor.spawn { [weak self] in await self?.removeOldest(at: now) }
    return true
  }

  private func removeOldest(at now: Timestamp) async {
    let (number, limits) = (session.number, limits)
    let end = limits.age.map { now + (.zero - $0) } ?? Timestamp(milliseconds: .min)
    let kept = try? await sessionStore.writer.perform { database in
      _ = try database.prune(number, to: limits.count, bytes: limits.bytes, since: end.milliseconds)
      let oldest = try database.messages(of: number, after: 0, atMost: 1).first
      return (oldest: oldest, floor: limits.age == nil ? 0 : try database.floor(of: number))
    }
    isPruning = false
    guard let kept else { return }
    removeFromChannel(before: kept.oldest)
    // Recent changes stay for clients that were away for a moment, however little is kept, but not those past their
    // age.
    channel?.forgetChanges(through: kept.floor)
  }

  private func removeFromChannel(before oldest: StoredMessage?) {
    first = oldest
    channel?.forget(before: oldest?.ordinal ?? .max)
  }

  private func exceedsRetention(since oldest: StoredMessage, _ now: Timestamp) -> Bool {
    let (count, bytes) = (count - oldest.count + 1, total - oldest.total + oldest.json.count)
    let slack = min(Self.pruneStride, limits.count / 16)
    return count > limits.count + slack || bytes > limits.bytes + limits.bytes / Self.pruneStride
      || limits.age.map { Timestamp(milliseconds: oldest.at) + $0 < now } ?? false
  }
}

/// A write of a new or changed message; those that follow each other are one pending write.
struct PendingMessage {
  /// A row that both threads share: a message has many parts to copy.
  private final class Row: Sendable {
    let session: Int
    let message: StoredMessage

    init(_ message: StoredMessage, of session: Int) { (self.session, self.message) = (session, message) }
  }

  private let history: History
  private let row: Row
  /// Called with the item once it is stored; with nil if it never will be.
  fileprivate let settle: ((Item?) -> Void)?
  var message: StoredMessage { row.message }

  init(_ message: StoredMessage, in history: History, settle: ((Item?) -> Void)? = nil) {
    self.history = history
    self.settle = settle
    row = Row(message, of: history.session.number)
  }

  static func combined(_ messages: [PendingMessage]) -> PendingWrite {
    let rows = messages.map(\.row)
    return PendingWrite { database in
      for row in rows { try database.keep(row.message, of: row.session) }
    } settle: { isStored in
      for message in messages { message.history.finishWrite(message, isStored: isStored) }
    }
  }
}

// MARK: Stored history

extension History {
  /// Limits for the changes that are read at once.
  static let changesMax = 4_096
  static let changesBytesMax = 1 << 20

  var oldest: (ordinal: UInt64, id: String)? { first.map { ($0.ordinal, id(of: $0)) } }

  func page(
    after ordinal: UInt64, atMost count: Int, where filter: [String: String]
  ) async throws -> (items: [Item], hasMore: Bool) {
    let (session, filter) = (session.number, MessageFilter(sender: filter["from"], mode: filter["mode"]))
    let page = try await sessionStore.writer.perform { database in
      try database.page(of: session, after: ordinal, atMost: count, bytes: Listing.pageBytesMax, where: filter)
    }
    return (page.messages.map(item), page.hasMore)
  }

  func changes(after since: UInt64, through last: UInt64) async throws -> (changes: [Change], through: UInt64)? {
    let number = session.number
    let found = try await sessionStore.writer.perform { database -> Found in
      guard try database.floor(of: number) <= since else {
        return .gone(upTo: try database.messages(of: number, after: 0, atMost: 1).first)
      }
      let (messages, through) = try database.messages(
        of: number, changedAfter: since, through: last, atMost: Self.changesMax, bytes: Self.changesBytesMax)
      return .all(messages, through: through)
    }
    guard case .all(let messages, let through) = found else {
      // This result may arrive before it is known here that the removal is stored.
      if case .gone(let oldest?) = found, let first, first.ordinal < oldest.ordinal {
        removeFromChannel(before: oldest)
      }
      return nil
    }
    let changes = messages.map { message in
      let item = item(message)
      return Change(
        offset: message.changed, owner: owner, id: item.id, bytes: item.bytes, facets: item.facets,
        facetsBefore: message.ordinal == message.changed ? nil : item.facets)
    }
    return (changes, through)
  }

  /// The stored changes since a position.
  private enum Found {
    case all([StoredMessage], through: UInt64)
    /// Some changes are removed; the oldest message that is left.
    case gone(upTo: StoredMessage?)
  }

  func item(_ id: String) async throws -> Item? {
    let (session, ordinal) = (session.number, Self.ordinal(of: id))
    return try await sessionStore.writer.perform { database in
      if let ordinal {
        try database.message(ordinal, of: session)
      } else {
        try database.message(named: id, of: session)
      }
    }.map(item)
  }
}
