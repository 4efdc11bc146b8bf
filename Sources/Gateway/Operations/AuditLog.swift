internal import Nearby
internal import Notation
internal import Store

/// The audit log: who let whom, or what, in. It is for operators, survives restarts, and is in the log too.
///
/// Invariant: entries of clients and entries of their rules have separate limits, so that nobody on the network can
/// push out the entries of a client. Clients are named by ID, not by name: the ID of a deleted client identifies nobody
/// any more.
final class AuditLog {
  enum Action: String, CaseIterable {
    /// A client was paired, or its token was revoked or has expired.
    case paired, revoked, expired
    /// A decision on a request from nearby: to join a session, to send a file, to be trusted.
    case accepted, declined
    /// A change of the gateway's trust.
    case trusted, distrusted
    /// A change of the gateway's settings.
    case changed

    /// Whether an entry is removed with its client, as its things are.
    var endsWithClient: Bool { self == .accepted || self == .declined }
  }

  enum Actor {
    case client(ClientID)
    /// A rule that was set for a thing of this owner: an advertiser or a session that accepts.
    case rule(of: Owner)
    /// Somebody on the gateway's machine.
    case machine

    fileprivate var word: ActorKind {
      switch self {
      case .client: .client
      case .rule: .rule
      case .machine: .machine
      }
    }

    fileprivate var client: ClientID? {
      switch self {
      case .client(let id), .rule(of: .client(let id)): id
      case .rule, .machine: nil
      }
    }
  }

  enum ActorKind: String, CaseIterable { case client, rule, machine }

  /// The limit for each kind of actor.
  static let entriesMax = 2_048

  /// An entry that has its number, and is neither stored nor published yet.
  struct NewEntry {
    let row: StoredAuditEntry
    fileprivate let action: Action
    fileprivate let path: String
    fileprivate let entry: [JSON.Member]
  }

  let list: Collection
  private let store: Writer
  private let log: Log
  private var lastNumber = 0
  private var lastStoredNumber = 0
  /// The kept entries by the kind of their actor, in order.
  private var numbers: [String: ArraySlice<Int>] = [:]

  /// Members that the rule of a session has admitted.
  private var admittedMembers: Set<EndpointID> = []

  init(_ list: Collection, _ store: Writer, _ log: Log) {
    self.list = list
    self.store = store
    self.log = log
  }

  func add(_ action: Action, about path: String, by actor: Actor, _ members: [JSON.Member] = []) {
    let new = number(action, about: path, by: actor, members)
    // If the disk is full, the entry is in the log all the same.
    _ = store.enqueue({ [row = new.row] in try $0.add(row) }, answer: { _ in })
    report(new)
  }

  /// Numbers an entry for a caller that stores it in the transaction of the action itself.
  func number(_ action: Action, about path: String, by actor: Actor, _ members: [JSON.Member] = [])
    -> NewEntry
  {
    lastNumber += 1
    var entry: [JSON.Member] = [
      .init("id", .text(String(lastNumber))), .init("at", .text(Timestamp.now.description)),
      .init("deed", .text(action.rawValue)), .init("about", .text(path)), .init("by", .text(actor.word.rawValue)),
    ]
    if let client = actor.client { entry.append(.init("client", .text(client.text))) }
    entry += members
    return NewEntry(
      row: StoredAuditEntry(number: lastNumber, entry: JSON.object(entry).bytes), action: action, path: path,
      entry: entry)
  }

  func report(_ new: NewEntry) {
    let entry = JSON.object(new.entry)
    show(new.row, entry)
    trim(of: entry["by"]?.text ?? "")
    log(
      .info, for: .operator, new.action.rawValue, "\(new.path) was \(new.action.rawValue)",
      new.entry.dropFirst(2).map { .init($0.name, .text($0.value.text ?? $0.value.line)) })
  }

  /// Past it all are forgotten, and have a second entry when they come again.
  private static let admittedMembersMax = 65_536

  /// Whether a rule admits a member for the first time: only that has an entry.
  func isFirstAdmission(of member: EndpointID) -> Bool {
    if admittedMembers.count >= Self.admittedMembersMax { admittedMembers = [] }
    return admittedMembers.insert(member).inserted
  }

  /// Returns when all entries until now would survive a power cut.
  func flush() async {
    let last = lastNumber
    if lastStoredNumber >= last { return }
    _ = try? await store.perform { _ in }
    lastStoredNumber = max(lastStoredNumber, last)
  }

  /// Restores the entries from before this start.
  func restore(_ rows: [StoredAuditEntry], of clients: Clients) {
    for row in rows {
      if let entry = try? JSON(parsing: row.entry) { show(row, entry) }
    }
    lastNumber = rows.last?.number ?? 0
    lastStoredNumber = lastNumber
    // Entries of clients that were removed while this gateway was being killed.
    let gone = Set(list.seen(by: .console).compactMap { $0.facets["client"] }).filter {
      clients.clients[ClientID(text: $0)] == nil
    }
    for client in gone { removeEntries(of: ClientID(text: client)) }
  }

  /// Removes a client's actions with its own things; its pairing and revocation stay.
  func removeEntries(of client: ClientID) {
    for item in Array(list.seen(by: .console, where: ["client": client.text])) {
      guard item.facets["deed"].flatMap(Action.init)?.endsWithClient == true, let number = Int(item.id) else {
        continue
      }
      numbers[item.facets["by"] ?? ""]?.removeAll { $0 == number }
      remove(number)
    }
  }

  private func show(_ row: StoredAuditEntry, _ entry: JSON) {
    var facets: [String: String] = [:]
    for name in ["deed", "by", "client"] { facets[name] = entry[name]?.text }
    list.put(String(row.number), written: row.entry, owner: .operators, facets: facets)
    numbers[facets["by"] ?? "", default: []].append(row.number)
  }

  private func trim(of kind: String) {
    while numbers[kind]?.count ?? 0 > Self.entriesMax, let oldest = numbers[kind]?.popFirst() {
      remove(oldest)
    }
  }

  private func remove(_ number: Int) {
    list.remove(String(number))
    _ = store.enqueue({ try $0.removeAuditEntry(number) }, answer: { _ in })
  }
}
