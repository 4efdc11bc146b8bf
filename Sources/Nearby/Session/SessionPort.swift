internal import Engine
internal import Reactor
internal import Wire

/// A session's state on the loop.
final class SessionPort {
  let state: SessionState
  /// Whether its events go to the host's observer, and none to its mailbox.
  var isObserved = false
  private let table: MemberTable
  /// The numbers of all who are connecting or connected.
  private var present = SlotSet()
  /// Files and events of transfers from before a restart, for when the member is there again.
  var resumedFiles: [ResumedFile] = []
  var pendingEvents: [EndpointID: [(Member) -> SessionEvent]] = [:]
  /// Messages that the engine had no room for, and those behind them.
  private var waiting: [SessionState.OutboxEntry] = []
  private var sent = 0
  /// Whether the engine will report when there is room again.
  var isStuck = false
  var isFlushing = false
  /// The service type of its ad hoc mode; nil where it is off.
  var adhocType: ServiceType?
  /// When ad hoc mode ends by itself.
  var adhocUntil = Until.stopped
  var hasOverflowed = false
  /// Whether an unreliable message was too large for one packet.
  var hasLargeUnreliable = false
  /// The program is behind: the timer that closes the session.
  var patience: Timer?

  init(_ state: SessionState) {
    self.state = state
    table = state.table
  }

  var first: SessionState.OutboxEntry? { sent < waiting.count ? waiting[sent] : nil }

  func removeFirst() {
    sent += 1
    guard sent == waiting.count || sent >= 1024 else { return }
    waiting.removeFirst(sent)
    sent = 0
  }

  func append(_ post: SessionState.OutboxEntry) { waiting.append(post) }

  /// Removes recipients of the first message that have gone since it was offered.
  func readdressFirst(without missing: [EndpointID]) -> Bool {
    guard case .only(let members) = waiting[sent].recipients else { return false }
    let left = members.filter { !missing.contains($0) }
    guard !left.isEmpty, left.count < members.count else { return false }
    waiting[sent].recipients = .only(left)
    return true
  }

  func member(_ id: EndpointID) -> Member? { table.member(id, in: present) }
  func member(of peer: PeerID) -> Member? { table.members(present).first { $0.peer == peer } }

  /// Whether the member with this number is new to it.
  func insert(_ number: Int) -> Bool {
    if present.contains(number) { return false }
    present.insert(number)
    return true
  }

  /// Whether the member with this number was there.
  func remove(_ number: Int) -> Bool {
    guard present.contains(number) else { return false }
    present.remove(number)
    return true
  }

  /// Ends the session.
  func end() {
    state.end()
    table.removeAll(from: &present)
  }
}

/// The sessions that an event is for.
struct EventReaders {
  /// Those whose events go to the host's observer.
  private(set) var observed: [EndpointID] = []
  /// The others.
  private(set) var mailboxes: [SessionPort] = []

  init(_ ports: [SessionPort]) {
    for port in ports { if port.isObserved { observed.append(port.state.id) } else { mailboxes.append(port) } }
  }
}
