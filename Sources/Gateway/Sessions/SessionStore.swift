internal import Glibc
internal import Nearby
internal import Notation
internal import Reactor
internal import Store

/// The durable state of sessions: the settings of each, and the messages of those whose history is durable.
///
/// Invariant: pending writes are stored in one transaction with the engine's output of that moment; their result is
/// published once it is stored, and not before.
final class SessionStore: TransactionObserver, @unchecked Sendable {
  // `@unchecked`: it is made before its host starts, and used on the host's loop alone from then on.

  /// Folders of files, in the gateway's folder.
  static let folders = ["sending", "received"]

  let writer: Writer
  /// The gateway's folder.
  private let folder: String
  /// Whether the host keeps its identity over a restart.
  let isDurable: Bool
  private(set) var histories: [EndpointID: History] = [:]
  /// The histories of sessions that share a log.
  private var views: [EndpointID: LogView] = [:]
  private var logs: [Int: MessageLog] = [:]
  private var latestAudiences: [StoreAudience] = []
  /// Sessions that were open when it was last closed, or its process was killed, and are not restored yet.
  private var stored: [String: StoredSession] = [:]
  private var pendingWrites: [PendingWrite] = []
  /// Messages to be written after all of `pendingWrites`.
  private var messages: [PendingMessage] = []
  private var queuedTransactions: [(work: () -> Void, onFailure: (any Error) -> Void)] = []
  /// Histories in which the delivery status of a message has changed.
  private var changedHistories: [any DurableHistory] = []
  /// The resources of those sessions, by the sessions' numbers.
  private var resources: [Int: [StoredResource]] = [:]
  private var nextNumber: Int
  /// The number of reads that found a message damaged on the disk.
  private(set) var damagedCount = 0
  /// The number of files that the store did not know at the start.
  private(set) var unknownFileCount = 0
  /// The host's reactor, once there is a host.
  var reactor: Reactor?
  /// Called for each damaged message.
  var onDamage: () -> Void = {}
  /// Called with each unreliable message as it comes: none of it is stored, and so it waits for no commit.
  var onUnreliable: (Nearby.Message, [EndpointID]) -> Void = { _, _ in }
  /// Called with each event of the gateway's sessions, and those that have it.
  var onEvent: (SessionEvent, [EndpointID]) -> Void = { _, _ in }
  /// Called with members whose state with some sessions is new.
  var onMembers: ([Member], MemberState, [EndpointID]) -> Void = { _, _, _ in }
  var onAdhoc: (DiscoveryState, EndpointID) -> Void = { _, _ in }
  var onClosed: (EndpointID) -> Void = { _ in }
  /// Called with the delivery status of a message of a session without a durable history.
  var onSettled: (_ message: UInt64, [EndpointID], DeliveryStatus, _ session: EndpointID) -> Void = { _, _, _, _ in }

  private init(_ writer: Writer, in folder: String, isDurable: Bool, nextNumber: Int) {
    self.writer = writer
    self.folder = folder
    self.isDurable = isDurable
    self.nextNumber = nextNumber
  }

  deinit { for log in logs.values { log.close() } }

  static func open(_ writer: Writer, in folder: String, isDurable: Bool) async throws -> SessionStore {
    let (sessions, number, resources) = try await writer.perform {
      (try $0.sessions(), try $0.nextSessionNumber(), try $0.resources())
    }
    let sessionStore = SessionStore(writer, in: folder, isDurable: isDurable, nextNumber: number)
    sessionStore.removeEndedSessions()
    Quarantine(in: folder).removeExpired()
    sessionStore.unknownFileCount = Folder.sweep(
      Self.folders, of: folder, keeping: try await writer.perform { try $0.heldPaths() })
    sessionStore.resources = Dictionary(grouping: resources, by: \.session)
    for session in sessions where isDurable { try await sessionStore.restore(session) }
    for log in sessionStore.logs.values { try await log.load(from: writer) }
    return sessionStore
  }

  /// Restores a history before the host starts, so that messages are kept from the session's first moment on.
  private func restore(_ session: StoredSession) async throws {
    guard let id = try? EndpointID(text: session.id) else { return }
    stored[session.id] = session
    let (_, retention) = SessionParameters.restored(from: (try? JSON(parsing: session.settings)) ?? .null)
    guard retention.kind == .durable else { return }
    if let part = session.log {
      let log = log(part.number, part.type, retention.limits, epoch: session.epoch)
      return views[id] = log.restore(session)
    }
    let number = session.number
    let stored = try await writer.perform { database in
      History.Stored(
        latest: try database.latestMessages(of: number, atMost: History.windowCount),
        open: try database.openMessages(of: number),
        oldest: try database.messages(of: number, after: 0, atMost: 1).first,
        offset: max(session.floor, try database.latestChange(of: number)))
    }
    histories[id] = History(session, retention.limits, stored, in: self)
  }

  // MARK: Pending writes

  func enqueue(_ write: PendingWrite) {
    enqueueMessages()
    pendingWrites.append(write)
  }

  func enqueue(_ message: PendingMessage) { messages.append(message) }

  /// Adds a write that belongs to no mutation of the host, with the host's next batch.
  func enqueue(_ write: PendingWrite, _ host: Host) {
    self.enqueue(write)
    // A host that was stopped takes no writes any more.
    host.reactor.soon { try? host.inTransaction {} }
  }

  private func enqueueMessages() {
    if messages.isEmpty { return }
    pendingWrites.append(PendingMessage.combined(messages))
    messages = []
  }

  func countDamaged() {
    damagedCount += 1
    onDamage()
  }

  func addChanged(_ history: any DurableHistory) { changedHistories.append(history) }

  func takePendingWrites() -> [PendingWrite] {
    for history in changedHistories { history.writeDeliveryStatuses() }
    changedHistories = []
    enqueueMessages()
    defer { pendingWrites = [] }
    return pendingWrites
  }

  /// Group commit: the requests of one turn of the loop run in the next, in one transaction.
  func delayCommit(_ host: Host, _ work: @escaping () -> Void, onFailure: @escaping (any Error) -> Void) {
    queuedTransactions.append((work, onFailure))
    if queuedTransactions.count > 1 { return }
    host.reactor.soon { [self] in
      let due = queuedTransactions
      queuedTransactions = []
      do {
        try host.inTransaction { for (work, _) in due { work() } }
      } catch {
        // The host was stopped.
        for (_, onFailure) in due { onFailure(error) }
      }
    }
  }

  // MARK: Sessions

  /// The number of a session that begins.
  func number() -> Int {
    defer { nextNumber += 1 }
    return nextNumber
  }

  func takeStored(_ id: EndpointID) -> (StoredSession, [StoredResource])? {
    stored.removeValue(forKey: id.text).map { ($0, resources.removeValue(forKey: $0.number) ?? []) }
  }

  /// Ends the host's own sessions that were not restored. Returns the number of another host's, which wait for its
  /// keys.
  func endUnrestored(of host: HostID) -> Int {
    let own = stored.values.filter { $0.host == host.text }
    defer { (stored, resources) = ([:], [:]) }
    for session in own {
      guard let id = try? EndpointID(text: session.id) else { continue }
      let files = (resources[session.number] ?? []).compactMap { $0.path?.absolutePath(in: folder) }
      end(id) { [folder] in
        for file in files { unlink(file) }
        Folder.remove("\(folder)/received/\(id.text)")
      }
    }
    return stored.count - own.count
  }

  /// Applies retention, also where no new messages come. Whether there may be more to remove.
  func prune(at now: Timestamp) -> Bool {
    var hasMore = histories.values.reduce(false) { $1.prune(at: now) || $0 }
    for log in logs.values { hasMore = log.prune(at: now, all: true) || hasMore }
    let writer = writer
    // The write-ahead log still has what was removed since the last time.
    if !hasMore { reactor?.spawn { try? await writer.truncateLog() } }
    return hasMore
  }

  /// Begins the history of a session: in a log with those that began in ad hoc mode with the same type, if it did.
  func begin(
    _ session: StoredSession, _ limits: History.Limits, of id: EndpointID, adhoc type: String?
  ) -> any DurableHistory {
    latestAudiences = []
    if let type, MessageLog.isFor(limits) {
      let known = logs.values.first { $0.type == type && $0.limits == limits && $0.isOpen }
      let view = (known ?? log(session.number, type, limits, epoch: session.epoch)).begin(session)
      views[id] = view
      return view
    }
    let history = History(session, limits, History.Stored(), in: self)
    histories[id] = history
    return history
  }

  private func log(_ number: Int, _ type: String, _ limits: History.Limits, epoch: String) -> MessageLog {
    if let log = logs[number] { return log }
    let log = MessageLog(number, type, limits, epoch: epoch, in: self)
    logs[number] = log
    return log
  }

  func history(of id: EndpointID) -> (any DurableHistory)? { histories[id] ?? views[id] }

  /// Ends a session in the store, which then removes its data in pieces; `discard` runs once the end is stored.
  func end(_ id: EndpointID, then discard: @escaping () -> Void = {}) {
    histories[id] = nil
    latestAudiences = []
    let view = views.removeValue(forKey: id)
    view?.isEnded = true
    let text = id.text
    enqueue(
      PendingWrite {
        try $0.endSession(text)
      } settle: { [weak self] isStored in
        if isStored {
          view?.end()
          self?.logs = self?.logs.filter { !$0.value.isEmpty } ?? [:]
          discard()
        }
        self?.removeEndedSessions()
      })
  }

  private func removeEndedSessions() {
    // The next start does it where the writer refuses it.
    _ = writer.enqueue(
      { [weak self] database in if try database.removeEndedSessions() { self?.removeEndedSessions() } },
      answer: { _ in })
  }

  // MARK: Observed transactions

  func heard(_ message: Nearby.Message, in sessions: [EndpointID]) {
    switch message.mode {
    case .reliable:
      let audience = audience(sessions)
      if audience.isEmpty { return }
      let text = MessageText(message)
      for history in audience.histories { history.receive(text) }
      for (log, part) in audience.logs { log.receive(text, in: part) }
    case .unreliable: onUnreliable(message, sessions)
    }
  }

  /// The durable histories that a message is for.
  private struct StoreAudience {
    let endpoints: [EndpointID]
    var histories: [History] = []
    var logs: [(log: MessageLog, part: MessageLog.Audience)] = []

    var isEmpty: Bool { histories.isEmpty && logs.isEmpty }
  }

  /// A few senders in a crowd have each an audience of their own.
  private static let latestAudiencesMax = 4

  private func audience(_ endpoints: [EndpointID]) -> StoreAudience {
    if let latest = latestAudiences.last(where: { $0.endpoints == endpoints }) { return latest }
    var audience = StoreAudience(endpoints: endpoints, histories: endpoints.compactMap { histories[$0] })
    let parts = Dictionary(grouping: endpoints.compactMap { views[$0] }, by: \.logNumber)
    for (number, views) in parts.sorted(by: { $0.key < $1.key }) {
      if let log = logs[number] { audience.logs.append((log, MessageLog.Audience(views))) }
    }
    if latestAudiences.count == Self.latestAudiencesMax { latestAudiences.removeFirst() }
    latestAudiences.append(audience)
    return audience
  }

  func handle(_ event: SessionEvent, in sessions: [EndpointID]) { onEvent(event, sessions) }
  func changed(_ members: [Member], _ state: MemberState, in sessions: [EndpointID]) {
    onMembers(members, state, sessions)
  }
  func adhocChanged(_ state: DiscoveryState, in session: EndpointID) { onAdhoc(state, session) }
  func closed(_ session: EndpointID) { onClosed(session) }

  func settled(_ message: UInt64, for recipients: [EndpointID], _ status: DeliveryStatus, in session: EndpointID) {
    guard let history = history(of: session) else { return onSettled(message, recipients, status, session) }
    history.updateDelivery(of: message, for: recipients, status)
  }

  func ended(_ resource: UInt64, _ reason: Reason, at path: String?) {
    guard isDurable else { return }
    let state = ResourceModel.State(after: reason).rawValue
    let path = path?.relativePath(to: folder)
    enqueue(PendingWrite { try $0.endTransfer(resource, state, at: path) })
  }
}

extension SessionStore {
  /// Waits until the write, with those that `work` adds, is stored, or never will be.
  @discardableResult
  func write(_ write: PendingWrite, _ host: Host, with work: () -> Void = {}) async -> Bool {
    await withCheckedContinuation { continuation in
      self.enqueue(
        PendingWrite(write.change) { isStored in
          write.settle(isStored)
          continuation.resume(returning: isStored)
        })
      do {
        try host.inTransaction(work)
      } catch {
        // The host was stopped and takes no writes any more.
        for write in takePendingWrites() { write.settle(false) }
      }
    }
  }
}
