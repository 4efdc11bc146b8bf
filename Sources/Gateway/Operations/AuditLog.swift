internal import Nearby
internal import Notation
internal import Store

/// The audit log: who let whom, or what, in. It is for operators, survives restarts, and is in the log too.
///
/// Invariant: entries of clients and entries of their rules have separate limits, so that nobody on the network can
/// push out the entries of a client. Clients are named by ID, not by name: the ID of a deleted client identifies nobody
/// any more.
extension Core {
  enum AuditAction: String, CaseIterable {
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

  enum AuditActor {
    case client(ClientID)
    /// A rule that was set for a thing of this owner: an advertiser or a session that accepts.
    case rule(of: Owner)
    /// Somebody on the gateway's machine.
    case machine

    fileprivate var word: AuditActorKind {
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

  enum AuditActorKind: String, CaseIterable { case client, rule, machine }

  /// The limit for each kind of actor.
  static let auditEntriesMax = 2_048

  /// An entry that has its number, and is neither stored nor published yet.
  struct NewAuditEntry {
    let row: StoredAuditEntry
    fileprivate let action: AuditAction
    fileprivate let path: String
    fileprivate let entry: [JSON.Member]
  }

  func audit(_ action: AuditAction, about path: String, by actor: AuditActor, _ members: [JSON.Member] = []) {
    let new = number(action, about: path, by: actor, members)
    // If the disk is full, the entry is in the log all the same.
    _ = store.enqueue({ [row = new.row] in try $0.add(row) }, answer: { _ in })
    report(new)
  }

  /// Numbers an entry for a caller that stores it in the transaction of the action itself.
  func number(_ action: AuditAction, about path: String, by actor: AuditActor, _ members: [JSON.Member] = [])
    -> NewAuditEntry
  {
    lastAuditNumber += 1
    var entry: [JSON.Member] = [
      .init("id", .text(String(lastAuditNumber))), .init("at", .text(Timestamp.now.description)),
      .init("deed", .text(action.rawValue)), .init("about", .text(path)), .init("by", .text(actor.word.rawValue)),
    ]
    if let client = actor.client { entry.append(.init("client", .text(client.text))) }
    entry += members
    return NewAuditEntry(
      row: StoredAuditEntry(number: lastAuditNumber, entry: JSON.object(entry).bytes), action: action, path: path,
      entry: entry)
  }

  func report(_ new: NewAuditEntry) {
    let entry = JSON.object(new.entry)
    show(new.row, entry)
    trimAuditEntries(of: entry["by"]?.text ?? "")
    log(
      .info, for: .operator, new.action.rawValue, "\(new.path) was \(new.action.rawValue)",
      new.entry.dropFirst(2).map { .init($0.name, .text($0.value.text ?? $0.value.line)) })
  }

  /// Returns when all entries until now would survive a power cut.
  func audited() async {
    let last = lastAuditNumber
    if lastStoredAuditNumber >= last { return }
    _ = try? await store.perform { _ in }
    lastStoredAuditNumber = max(lastStoredAuditNumber, last)
  }

  /// Restores the entries from before this start.
  func restoreAudit(_ rows: [StoredAuditEntry]) {
    for row in rows {
      if let entry = try? JSON(parsing: row.entry) { show(row, entry) }
    }
    lastAuditNumber = rows.last?.number ?? 0
    lastStoredAuditNumber = lastAuditNumber
    // Entries of clients that were removed while this gateway was being killed.
    let gone = Set(auditList.seen(by: .console).compactMap { $0.facets["client"] }).filter {
      clients.clients[ClientID(text: $0)] == nil
    }
    for client in gone { removeAuditEntries(of: ClientID(text: client)) }
  }

  /// Removes a client's actions with its own things; its pairing and revocation stay.
  func removeAuditEntries(of client: ClientID) {
    for item in Array(auditList.seen(by: .console, where: ["client": client.text])) {
      guard item.facets["deed"].flatMap(AuditAction.init)?.endsWithClient == true, let number = Int(item.id) else {
        continue
      }
      auditNumbers[item.facets["by"] ?? ""]?.removeAll { $0 == number }
      removeAuditEntry(number)
    }
  }

  private func show(_ row: StoredAuditEntry, _ entry: JSON) {
    var facets: [String: String] = [:]
    for name in ["deed", "by", "client"] { facets[name] = entry[name]?.text }
    auditList.put(String(row.number), written: row.entry, owner: .operators, facets: facets)
    auditNumbers[facets["by"] ?? "", default: []].append(row.number)
  }

  private func trimAuditEntries(of kind: String) {
    while auditNumbers[kind]?.count ?? 0 > Self.auditEntriesMax, let oldest = auditNumbers[kind]?.popFirst() {
      removeAuditEntry(oldest)
    }
  }

  private func removeAuditEntry(_ number: Int) {
    auditList.remove(String(number))
    _ = store.enqueue({ try $0.removeAuditEntry(number) }, answer: { _ in })
  }
}
