internal import Engine
internal import Synchronization
internal import Wire

/// The state that a session's program and its loop share: the connected members, and the outbox.
///
/// Invariant: a connected member is retained in the table by the session's port.
final class SessionState: Sendable {
  /// Limit of a session's unread bytes; a message counts its bytes and the cost of keeping it. From half of it on its
  /// senders wait: the rest is for messages in flight.
  static let unreadBytesMax = 64 << 20
  /// Limit of the outbox, beside the engine's queue for members that are behind.
  static let outboxBytesMax = 1 << 20
  static let overhead = 128

  struct OutboxEntry: Sendable {
    var bytes: [UInt8]
    var contentType: ContentType?
    var recipients: RecipientIDs
    var mode: Mode
    /// The request for its delivery status, if there is one.
    var inquiry: Inquiry?

    var cost: Int { bytes.count + SessionState.overhead }

    /// The named recipients; a message with a status request always names them.
    var named: [EndpointID] { if case .only(let endpoints) = recipients { endpoints } else { [] } }
  }

  enum Offer {
    /// Whether the loop must be woken.
    case taken(isNews: Bool)
    case full
  }

  fileprivate struct Shared {
    /// The numbers of connected members.
    var connected = SlotSet()
    var outbox: [OutboxEntry] = []
    var outboxCost = 0
    /// Whether the loop knows that the outbox is not empty.
    var isAnnounced = false
    var waiters: [CheckedContinuation<Void, Never>] = []
    /// Promises of a peer's connection, or its failure.
    var meetings: [PeerID: [Promise<Reason>]] = [:]
    var isOver = false
    var lastReceipt: Receipt.ID = 0
  }

  let id: EndpointID
  let peer: PeerID
  let table: MemberTable
  let mailbox: Mailbox<SessionEvent>
  /// The state of its ad hoc mode.
  let adhoc = DiscoveryMonitor()
  private let shared = Mutex(Shared())

  init(_ id: EndpointID, of peer: PeerID, _ table: MemberTable, eased: @escaping @Sendable () -> Void) {
    self.id = id
    self.peer = peer
    self.table = table
    mailbox = Mailbox(weightMax: Self.unreadBytesMax, eased: eased)
  }

  // MARK: From any thread

  var connected: [Member] { shared.withLock { table.members($0.connected) } }
  var connectedCount: Int { shared.withLock { $0.connected.count } }

  func offer(
    _ bytes: [UInt8], _ contentType: String?, _ recipients: Recipients, _ mode: Mode, inquiry: Inquiry? = nil
  ) throws(NearbyError) -> Offer {
    let contentType = try ContentType(ofMessage: contentType)
    return try shared.withLock { shared throws(NearbyError) in
      guard !shared.isOver else { throw NearbyError(.unavailable, "the session is closed") }
      let post = OutboxEntry(
        bytes: bytes, contentType: contentType, recipients: try shared.address(recipients, table), mode: mode,
        inquiry: inquiry
      )
      guard bytes.count <= Limits.messagePayloadBytesMax else {
        throw NearbyError(
          .invalidParameter,
          "\(bytes.count) bytes are too many for a message; at most \(Limits.messagePayloadBytesMax): send a resource")
      }
      if shared.outboxCost > 0, shared.outboxCost + post.cost > Self.outboxBytesMax { return .full }
      shared.outbox.append(post)
      shared.outboxCost += post.cost
      defer { shared.isAnnounced = true }
      return .taken(isNews: !shared.isAnnounced)
    }
  }

  /// For a message to these, or to all who are connected now.
  func receipt(for recipients: Recipients) -> Receipt {
    shared.withLock { shared in
      shared.lastReceipt += 1
      switch recipients {
      case .all: return Receipt(id: shared.lastReceipt, recipients: table.members(shared.connected))
      case .only(let members): return Receipt(id: shared.lastReceipt, recipients: members)
      }
    }
  }

  /// Waits until the outbox has room again, or the session is over.
  func room() async {
    await withCheckedContinuation { continuation in
      let isRoom = shared.withLock { shared in
        if shared.outboxCost * 2 <= Self.outboxBytesMax || shared.isOver { return true }
        shared.waiters.append(continuation)
        return false
      }
      if isRoom { continuation.resume() }
    }
  }

  // MARK: From the loop

  /// The peer has joined: settles the promise with none once it is connected, or with the reason why it is not.
  func expect(_ peer: PeerID, _ meeting: Promise<Reason>) {
    shared.withLock { shared in
      if shared.isOver { return meeting.settle(.left) }
      if table.members(shared.connected).contains(where: { $0.peer == peer }) { return meeting.settle(.none) }
      shared.meetings[peer, default: []].append(meeting)
    }
  }

  /// The members with these numbers are connected.
  func connect(_ numbers: SlotSet, _ members: [Member]) {
    settle(members, .none) { $0.connected.formUnion(numbers) }
  }

  /// A member is not connected any more; the number is nil for one that was never seen.
  func disconnect(_ number: Int?, _ member: Member, _ reason: Reason) {
    settle([member], reason) { if let number { $0.connected.remove(number) } }
  }

  private func settle(_ members: [Member], _ reason: Reason, _ change: (inout Shared) -> Void) {
    let meetings = shared.withLock { shared -> [Promise<Reason>] in
      change(&shared)
      if shared.meetings.isEmpty { return [] }
      return members.flatMap { shared.meetings.removeValue(forKey: $0.peer) ?? [] }
    }
    for meeting in meetings { meeting.settle(reason) }
  }

  /// Takes the outbox; if it is empty, the next offer wakes the loop.
  func takeOutbox() -> [OutboxEntry] {
    shared.withLock { shared in
      if shared.outbox.isEmpty { shared.isAnnounced = false }
      defer { shared.outbox = [] }
      return shared.outbox
    }
  }

  func sent(_ cost: Int) {
    let waiters = shared.withLock { shared -> [CheckedContinuation<Void, Never>] in
      shared.outboxCost -= cost
      guard shared.outboxCost * 2 <= Self.outboxBytesMax else { return [] }
      defer { shared.waiters = [] }
      return shared.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  func end() {
    let (waiters, meetings) = shared.withLock { shared in
      shared.isOver = true
      shared.connected = SlotSet()
      defer {
        shared.waiters = []
        shared.meetings = [:]
      }
      return (shared.waiters, shared.meetings.values.joined())
    }
    for waiter in waiters { waiter.resume() }
    for meeting in meetings { meeting.settle(.left) }
    mailbox.finish()
    adhoc.finish()
  }
}

extension ContentType {
  /// Nil for none.
  init?(ofMessage text: String?) throws(NearbyError) {
    guard let text else { return nil }
    do throws(WireError) { try self.init(text) } catch { throw NearbyError(wrapping: error) }
  }
}

extension SessionState.Shared {
  fileprivate func address(_ recipients: Recipients, _ table: MemberTable) throws(NearbyError) -> RecipientIDs {
    switch recipients {
    case .all:
      guard !connected.isEmpty else { throw NearbyError(.notConnected, "nobody is connected in this session") }
      return .all
    case .only(let members):
      guard !members.isEmpty else { throw NearbyError(.invalidParameter, "a message to nobody") }
      let missing = members.filter { !table.contains($0.id, in: connected) }
      guard missing.isEmpty else {
        let names = missing.map(\.name).joined(separator: ", ")
        throw NearbyError(
          .notConnected, "\(names): not connected; nothing was sent", endpoints: missing.map(\.id))
      }
      return .only(members.map(\.id))
    }
  }
}
