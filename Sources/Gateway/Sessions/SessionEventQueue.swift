internal import Nearby
internal import Reactor

/// An event that waits for its turn, and its sessions.
struct PendingSessionEvent {
  enum Kind {
    case event(SessionEvent)
    case members([Member], MemberState)
    case adhoc(DiscoveryState)
    case closed
  }

  let kind: Kind
  let sessions: [EndpointID]
  /// No state whose next one waits behind it.
  fileprivate(set) var listing = MemberListing()
}

/// Members whose state lists are to show, and the sessions in which they do.
struct MemberListing {
  fileprivate(set) var members: [Member] = []
  fileprivate(set) var sessions: [EndpointID] = []

  var isEmpty: Bool { members.isEmpty || sessions.isEmpty }

  /// Leaves out these members in these sessions, where it is all of its members or all of its sessions.
  fileprivate mutating func remove(_ members: [Member], in sessions: [EndpointID]) {
    if isEmpty { return }
    if self.sessions == sessions {
      let gone = Set(members.map(\.id))
      self.members.removeAll { gone.contains($0.id) }
    } else if self.members == members {
      let gone = Set(sessions)
      self.sessions.removeAll { gone.contains($0) }
    }
  }

  /// Whether it has one of the other's members in one of its sessions.
  fileprivate func overlaps(_ other: MemberListing) -> Bool {
    if isEmpty || other.isEmpty || Set(sessions).isDisjoint(with: other.sessions) { return false }
    return !Set(members.map(\.id)).isDisjoint(with: other.members.lazy.map(\.id))
  }
}

/// Events of sessions that wait for the next turn of the loop: when they come, the host is in the middle of its outputs.
final class SessionEventQueue {
  /// The time for events in one turn of the loop, as where two crowds join; and how many, and how many bytes of messages,
  /// may wait for the next turn.
  private static let turnTime: UInt64 = 5_000_000
  private static let countMax = 4_096
  private static let bytesMax = 8 << 20

  private var events: [PendingSessionEvent] = []
  /// The bytes of the messages among them.
  private var bytes = 0
  private let reactor: Reactor
  /// Members that are connecting with a newcomer and not listed yet, and until when.
  private var awaited: [(listing: MemberListing, due: UInt64)] = []
  private var isAwaitedScheduled = false
  private let list: (MemberListing, MemberState) -> Void
  private let handle: (PendingSessionEvent) -> Void

  init(
    on reactor: Reactor, list: @escaping (MemberListing, MemberState) -> Void,
    handle: @escaping (PendingSessionEvent) -> Void
  ) {
    (self.reactor, self.list, self.handle) = (reactor, list, handle)
  }

  func enqueue(_ event: SessionEvent, in sessions: [EndpointID]) {
    if case .member(let member, let state) = event { return enqueue([member], state, in: sessions) }
    enqueue(.event(event), in: sessions)
  }

  /// How many events back those are looked for by which members began to connect that are connected now: mostly there are
  /// a few of the other side, and of the one who has invited them, between.
  private static let connectingDepth = 8

  func enqueue(_ members: [Member], _ state: MemberState, in sessions: [EndpointID]) {
    if state == .connected {
      for index in events.indices.suffix(Self.connectingDepth) {
        guard case .members(_, .connecting) = events[index].kind else { continue }
        events[index].listing.remove(members, in: sessions)
      }
      for index in awaited.indices { awaited[index].listing.remove(members, in: sessions) }
    }
    enqueue(.members(members, state), in: sessions, listing: MemberListing(members: members, sessions: sessions))
  }

  func enqueue(
    _ kind: PendingSessionEvent.Kind, in sessions: [EndpointID], listing: MemberListing = MemberListing()
  ) {
    if case .event(.message(let message)) = kind { bytes += message.bytes.count }
    events.append(PendingSessionEvent(kind: kind, sessions: sessions, listing: listing))
    if events.count == 1 { handleSoon() }
  }

  private func handleSoon() { reactor.soon { [weak self] in self?.handleSome() } }

  private func handleSome() {
    let end = Reactor.now + Self.turnTime
    var count = 0
    while count < events.count, Reactor.now < end || events.count - count > Self.countMax || bytes > Self.bytesMax {
      let event = events[count]
      count += 1
      if case .event(.message(let message)) = event.kind { bytes -= message.bytes.count }
      listMembers(before: event)
      handle(event)
    }
    events.removeFirst(count)
    if !events.isEmpty { handleSoon() }
  }

  // MARK: Newcomers

  /// A newcomer finds many members at once, with which it connects in a moment: so many and more are listed once they are
  /// connected, or after a while, so that a crowd that forms has half as many changes.
  private static let awaitedMin = 16
  private static let listingsMax = 64
  /// In nanoseconds.
  var awaitedTime: UInt64 = 100_000_000

  /// Lists the members whose state an event is, and those before whose state it could change else.
  private func listMembers(before event: PendingSessionEvent) {
    let listing = event.listing
    switch event.kind {
    case .members(_, .connecting) where listing.members.count >= Self.awaitedMin: return awaitConnection(of: listing)
    case .members(_, let state):
      if case .notConnected = state { listAwaited(dueAt: .max) }
      if listing.isEmpty { return }
      for other in awaited where other.listing.overlaps(listing) {
        listAwaited(dueAt: .max)
        break
      }
      list(listing, state)
    // A member that sends is connected.
    case .event(.message), .event(.notConnected), .adhoc, .closed: break
    case .event: listAwaited(dueAt: .max)
    }
  }

  private func awaitConnection(of listing: MemberListing) {
    if listing.isEmpty { return }
    awaited.append((listing, Reactor.now + awaitedTime))
    if awaited.count > Self.listingsMax { listFirst() }
    scheduleAwaited()
  }

  private func scheduleAwaited() {
    guard let due = awaited.first?.due, !isAwaitedScheduled else { return }
    isAwaitedScheduled = true
    reactor.schedule(at: due) { [weak self] in
      guard let self else { return }
      isAwaitedScheduled = false
      listAwaited(dueAt: Reactor.now)
      scheduleAwaited()
    }
  }

  /// Lists members that are connecting still.
  private func listAwaited(dueAt now: UInt64) {
    while let first = awaited.first, first.due <= now { listFirst() }
  }

  private func listFirst() {
    let listing = awaited.removeFirst().listing
    if !listing.isEmpty { list(listing, .connecting) }
  }
}
