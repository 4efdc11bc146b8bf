internal import Nearby
internal import Notation
internal import Reactor
internal import Store

/// The durable messages of sessions here that mostly have the same: each is one row with those that have it, one item
/// and one frame.
///
/// Invariants:
/// - Its changes are numbered when their writes are queued, stored in that order, and published once they are stored: so
///   the items have the numbers of the rows.
/// - All that retention keeps is in memory too, as in a history that is not durable. The store is read at the start, and
///   by readers that missed more changes than are in memory.
/// - A row is removed once no session has anything of it. A session that may come back holds what it has.
final class MessageLog: @unchecked Sendable {
  // `@unchecked`: it is made before its host starts, or on the host's loop, and used on that loop alone from then on:
  // results of the writer's thread come back there.

  /// The sessions that a message is for.
  final class Audience {
    let views: [LogView]
    let slots: NumberSet
    fileprivate let sessions: [UInt8]

    init(_ views: [LogView]) {
      self.views = views.sorted { $0.session.number < $1.session.number }
      sessions = StoredAudience.encoded(self.views.lazy.map(\.session.number))
      slots = views.reduce(into: NumberSet()) { $0.insert($1.slot) }
    }

    /// The numbers of the next change in the channels of all.
    fileprivate func advance() -> [UInt8] {
      StoredAudience.encoded(offsets: views.lazy.map { $0.advance() })
    }
  }

  /// A new message, until its row is queued.
  private struct Draft {
    let text: MessageText
    var row: SharedMessage
    var audience: Audience?
    var own: (view: LogView, settle: (Item?) -> Void)?
  }

  /// The number of rows that are read or removed at once.
  private static let batchMax = 1_000
  /// Rows that wait to be removed: each removal changes a number of each session.
  private static let deadMax = 256

  let number: Int
  let type: String
  let limits: History.Limits
  let items: SharedItems
  private unowned let sessionStore: SessionStore
  /// The number of the last change, stored or not yet.
  private var last: UInt64 = 0
  private var views: [LogView] = []
  private var messageFacets = MessageFacets()
  /// Messages that came while one was sent, nil while none is.
  private var drafts: [Draft]?
  /// The rows of messages that their senders' sessions have under other ordinals.
  private var rows: [UInt64: UInt64] = [:]
  /// The rows in which a sender and others have something.
  private var doubleRows: Set<UInt64> = []
  /// Rows of which no session has anything any more, and those of which the sender has nothing.
  private var dead: [UInt64] = []
  private var deadOwn: [UInt64] = []
  private var isRemoving = false
  /// The times of its messages, where they have an age, oldest first.
  private var times: ArraySlice<(at: Int64, ordinal: UInt64)> = []

  init(_ number: Int, _ type: String, _ limits: History.Limits, epoch: String, in sessionStore: SessionStore) {
    (self.number, self.type, self.limits, self.sessionStore) = (number, type, limits, sessionStore)
    items = SharedItems(
      epoch: epoch, Core.limits(of: SessionParameters.Retention(kind: .durable, limits: limits)), isDurable: true)
    items.onEmptied = { [unowned self] in emptied($0) }
  }

  /// Whether a history of these limits is in memory as a whole.
  static func isFor(_ limits: History.Limits) -> Bool {
    SessionParameters.Retention(kind: .durable, limits: limits).window == (limits.count, limits.bytes)
  }

  // MARK: Sessions

  /// Lets go of its sessions, which hold it.
  func close() { views = [] }

  var isEmpty: Bool { views.isEmpty }
  /// Whether a session that begins can have it.
  var isOpen: Bool { views.contains { !$0.isEnded } }

  /// A session that has just begun sees what comes from now on.
  func begin(_ session: StoredSession) -> LogView {
    var session = session
    session.log = .init(number: number, type: type, joined: last)
    let view = LogView(session, items.reserveSlot(), of: self, in: sessionStore)
    views.append(view)
    return view
  }

  /// A session of before this start.
  func restore(_ session: StoredSession) -> LogView {
    let view = LogView(session, items.reserveSlot(), of: self, in: sessionStore)
    views.append(view)
    last = max(last, session.log?.joined ?? 0)
    return view
  }

  /// The end of a session is stored: its part is removed.
  func remove(_ view: LogView) {
    views.removeAll { $0 === view }
    items.release(view.slot)
    removeDead()
  }

  // MARK: Start

  func load(from writer: Writer) async throws {
    let number = number
    last = max(last, try await writer.perform { try $0.lastNumber(ofLog: number) })
    var (after, loader): (UInt64, Loader) = (0, Loader(views))
    while true {
      let messages = try await writer.perform { [after] database in
        try database.sharedMessages(ofLog: number, after: after, atMost: Self.batchMax)
      }
      for message in messages { restore(message, &loader) }
      guard messages.count == Self.batchMax, let end = messages.last?.ordinal else { break }
      after = end
    }
    items.begin(at: last)
  }

  /// Finds the sessions of stored audiences: mostly the next is the same.
  private struct Loader {
    private let views: [Int: LogView]
    private var known: (sessions: [UInt8], views: [LogView?], slots: NumberSet)?

    init(_ views: [LogView]) { self.views = Dictionary(uniqueKeysWithValues: views.map { ($0.session.number, $0) }) }

    func view(_ session: Int, at ordinal: UInt64) -> LogView? {
      guard let view = views[session], let joined = view.session.log?.joined, joined < ordinal else { return nil }
      return view
    }

    /// Sets the offsets of the sessions that have a message, and returns their slots; nil if the audience is damaged.
    mutating func slots(of message: SharedMessage) -> NumberSet? {
      if known?.sessions != message.audience.sessions {
        guard let sessions = StoredAudience.sessions(of: message.audience.sessions) else { return nil }
        let views = sessions.map { view($0, at: message.ordinal) }
        let slots = views.reduce(into: NumberSet()) { slots, view in if let view { slots.insert(view.slot) } }
        // A session that joined later may have the number of one that has ended.
        known = (message.audience.sessions, views, slots)
        if views.contains(where: { $0 == nil }) {
          defer { known = nil }
          return advance(message)
        }
      }
      return advance(message)
    }

    private func advance(_ message: SharedMessage) -> NumberSet? {
      guard let known else { return nil }
      if message.isDamaged {
        for view in known.views { view?.restored(to: view.map { $0.offset + 1 } ?? 0) }
        return known.slots
      }
      let isWhole = StoredAudience.eachOffset(of: message.audience.offsets, known.views.count) { index, offset in
        known.views[index]?.restored(to: offset)
      }
      return isWhole ? known.slots : nil
    }
  }

  private func restore(_ message: SharedMessage, _ loader: inout Loader) {
    last = max(last, message.ordinal)
    let slots = loader.slots(of: message) ?? NumberSet()
    if !slots.isEmpty {
      let bytes = message.json.isEmpty ? placeholder(message, Self.id(of: message.ordinal)) : message.json
      items.restore(item(message, Self.id(of: message.ordinal), message.ordinal, bytes), in: slots)
    }
    var hasOwn = false
    if let own = message.own {
      last = max(last, own.changed)
      if let view = loader.view(own.session, at: own.ordinal) {
        hasOwn = true
        view.restore(own, of: message.ordinal)
        let id = own.name ?? Self.id(of: own.ordinal)
        let bytes = own.json.isEmpty ? placeholder(message, id) : own.json
        let item = item(message, id, own.ordinal, bytes, changed: own.changed)
        items.restore(item, in: NumberSet(view.slot), inOwn: view.slot)
        if own.ordinal != message.ordinal { rows[own.ordinal] = message.ordinal }
      }
    }
    if slots.isEmpty, !hasOwn {
      dead.append(message.ordinal)
    } else if !slots.isEmpty, hasOwn {
      doubleRows.insert(message.ordinal)
    } else if message.own != nil, !hasOwn {
      deadOwn.append(message.ordinal)
    }
    noteTime(message)
  }

  private func placeholder(_ message: SharedMessage, _ id: String) -> [UInt8] {
    sessionStore.countDamaged()
    return History.placeholder(id, from: message.sender, message.mode, at: message.at)
  }

  private static func id(of ordinal: UInt64) -> String { "m\(ordinal)" }

  private func item(
    _ message: SharedMessage, _ id: String, _ ordinal: UInt64, _ bytes: [UInt8], changed: UInt64? = nil
  ) -> Item {
    Item(
      id: id, ordinal: ordinal, owner: .gateway, facets: messageFacets.of(message.sender, message.mode), bytes: bytes,
      position: Position(epoch: items.epoch, offset: changed ?? ordinal))
  }

  // MARK: New messages

  private func next() -> UInt64 {
    last += 1
    return last
  }

  /// Adds a message that these sessions have received.
  func receive(_ text: MessageText, in audience: Audience) {
    let (ordinal, now) = (next(), Timestamp.now)
    let row = SharedMessage(
      ordinal: ordinal, at: now.milliseconds, sender: text.from, mode: text.mode.word,
      json: text.written(as: Self.id(of: ordinal), at: now),
      StoredAudience(sessions: audience.sessions, offsets: audience.advance()))
    let draft = Draft(text: text, row: row, audience: audience)
    if drafts == nil { queue(draft) } else { drafts?.append(draft) }
  }

  /// Adds a message that a session sends: in the row of those who have it by now, if any.
  func send(
    _ text: MessageText, named name: String?, in view: LogView, _ dispatch: () throws -> UInt64,
    delivery: (UInt64) -> Delivery, settle: @escaping (Item?) -> Void
  ) throws {
    drafts = []
    let number: UInt64
    do { number = try dispatch() } catch {
      queueDrafts()
      throw error
    }
    let (ordinal, now) = (next(), Timestamp.now)
    let head = text.written(as: name ?? Self.id(of: ordinal), at: now)
    var delivery = delivery(number)
    let offset = view.advance()
    var own = SharedMessage.Own(
      session: view.session.number, ordinal: ordinal, offset: offset, changed: ordinal, changedOffset: offset,
      name: name, json: delivery.written(after: head.dropLast()))
    if !delivery.isSettled { (own.receipt, own.recipients) = (number, delivery.stored()) }
    let place = drafts?.lastIndex { $0.text.isSame(as: text) }
    if let place {
      drafts?[place].row.own = own
      drafts?[place].own = (view, settle)
    } else {
      var row = SharedMessage(
        ordinal: ordinal, at: now.milliseconds, sender: text.from, mode: text.mode.word)
      row.own = own
      drafts?.append(Draft(text: text, row: row, own: (view, settle)))
    }
    if !delivery.isSettled, let row = place.flatMap({ drafts?[$0].row.ordinal }) ?? Optional(ordinal) {
      view.open(own, of: row, delivery.after(head.count - 1))
    }
    queueDrafts()
  }

  private func queueDrafts() {
    let all = drafts ?? []
    drafts = nil
    for draft in all { queue(draft) }
  }

  private func queue(_ draft: Draft) {
    let (row, log) = (draft.row, number)
    sessionStore.enqueue(
      PendingWrite {
        try $0.add(row, toLog: log)
      } settle: { [self] isStored in
        if isStored { publish(draft) } else { draft.own?.settle(nil) }
      })
  }

  /// The row is stored.
  private func publish(_ draft: Draft) {
    let row = draft.row
    let facets = messageFacets.of(row.sender, row.mode)
    if let own = row.own {
      if own.ordinal != row.ordinal { rows[own.ordinal] = row.ordinal }
      if draft.audience != nil { doubleRows.insert(row.ordinal) }
    }
    noteTime(row)
    if let audience = draft.audience {
      for view in audience.views { view.published += 1 }
      items.put(Self.id(of: row.ordinal), SharedItems.Content(bytes: row.json, facets: facets), in: audience.slots)
    }
    if let own = row.own, let (view, settle) = draft.own {
      view.published += 1
      let id = own.name ?? Self.id(of: own.ordinal)
      items.put(id, SharedItems.Content(bytes: own.json, facets: facets), inOwn: view.slot)
      settle(items.item(id, in: view.slot) ?? item(row, id, own.ordinal, own.json))
    }
    prune(at: Timestamp(milliseconds: row.at))
  }

  /// Changes what the session of a sender has of a message.
  func change(_ own: inout SharedMessage.Own, of row: UInt64, in view: LogView, to json: [UInt8]) {
    own.changed = next()
    own.changedOffset = view.advance()
    own.json = json
    let (own, log) = (own, number)
    sessionStore.enqueue(
      PendingWrite {
        try $0.change(own, of: row, inLog: log)
      } settle: { [self] isStored in
        if isStored { publish(own, in: view) }
      })
  }

  private func publish(_ own: SharedMessage.Own, in view: LogView) {
    let id = own.name ?? Self.id(of: own.ordinal)
    let facets = messageFacets.of(view.session.peer, Mode.reliable.word)
    view.published += 1
    if items.item(id, in: view.slot) != nil {
      items.put(id, SharedItems.Content(bytes: own.json, facets: facets), inOwn: view.slot)
    } else {
      items.announce(
        Item(
          id: id, ordinal: own.ordinal, owner: .gateway, facets: facets, bytes: own.json,
          position: Position(epoch: items.epoch, offset: own.changed)), inOwn: view.slot)
    }
  }

  /// Whether a session has something of a row.
  func has(rowAt ordinal: UInt64, _ slot: Int) -> Bool {
    items.item(at: ordinal, in: slot) != nil
      || rows.contains { $0.value == ordinal && items.item(at: $0.key, in: slot) != nil }
  }

  // MARK: Retention

  private func noteTime(_ row: SharedMessage) {
    if limits.age != nil { times.append((row.at, row.own?.ordinal ?? row.ordinal)) }
  }

  /// Removes what is past its age, and rows that wait for it. Whether there is more.
  @discardableResult
  func prune(at now: Timestamp, all: Bool = false) -> Bool {
    if let age = limits.age {
      let end = (now + (.zero - age)).milliseconds
      // Only from the front on: the clock may have been set back between them.
      let old = times.prefix { $0.at < end }
      if let last = old.last {
        times.removeFirst(old.count)
        items.expire(through: last.ordinal)
        removeDead()
        return !dead.isEmpty
      }
    }
    if all || hasManyDead { removeDead() }
    return !dead.isEmpty
  }

  /// No session has an item with this ordinal any more.
  private func emptied(_ ordinal: UInt64) {
    let ownRow = rows.removeValue(forKey: ordinal)
    let row = ownRow ?? ordinal
    if doubleRows.remove(row) == nil {
      dead.append(row)
    } else if ownRow != nil {
      deadOwn.append(row)
    }
  }

  private var hasManyDead: Bool { max(dead.count, deadOwn.count) > min(Self.deadMax, limits.count / 16) }

  private func removeDead() {
    guard !isRemoving, !(dead.isEmpty && deadOwn.isEmpty), let reactor = sessionStore.reactor else { return }
    isRemoving = true
    let (rows, owns) = (Array(dead.prefix(Self.batchMax)), Array(deadOwn.prefix(Self.batchMax)))
    // New writes do not wait for it.
    reactor.spawn { [weak self] in await self?.remove(rows, owns) }
  }

  private func remove(_ rows: [UInt64], _ owns: [UInt64]) async {
    let number = number
    let isDone = (try? await sessionStore.writer.perform { try $0.remove(rows, own: owns, fromLog: number) }) != nil
    isRemoving = false
    guard isDone else { return }
    dead.removeFirst(rows.count)
    deadOwn.removeFirst(owns.count)
    // More may have come meanwhile.
    if hasManyDead { removeDead() }
  }
}

extension MessageText {
  /// Whether nobody can tell two messages apart.
  fileprivate func isSame(as other: MessageText) -> Bool {
    from == other.from && mode == other.mode && contentType == other.contentType && bytes == other.bytes
  }
}
