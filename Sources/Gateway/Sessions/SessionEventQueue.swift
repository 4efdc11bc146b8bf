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
  /// The members whose state lists are to show, and the sessions in which they do; no state whose next one waits behind
  /// it.
  fileprivate(set) var listed: (members: [Member], sessions: [EndpointID]) = ([], [])

  /// Does not list these members in these sessions, where it is all of its members or all of its sessions.
  fileprivate mutating func unlist(_ members: [Member], in sessions: [EndpointID]) {
    if listed.sessions == sessions {
      let gone = Set(members.map(\.id))
      listed.members.removeAll { gone.contains($0.id) }
    } else if listed.members == members {
      let gone = Set(sessions)
      listed.sessions.removeAll { gone.contains($0) }
    }
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
  private let handle: (PendingSessionEvent) -> Void

  init(on reactor: Reactor, _ handle: @escaping (PendingSessionEvent) -> Void) {
    (self.reactor, self.handle) = (reactor, handle)
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
        events[index].unlist(members, in: sessions)
      }
    }
    enqueue(.members(members, state), in: sessions, listed: (members, sessions))
  }

  func enqueue(
    _ kind: PendingSessionEvent.Kind, in sessions: [EndpointID],
    listed: (members: [Member], sessions: [EndpointID]) = ([], [])
  ) {
    if case .event(.message(let message)) = kind { bytes += message.bytes.count }
    events.append(PendingSessionEvent(kind: kind, sessions: sessions, listed: listed))
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
      handle(event)
    }
    events.removeFirst(count)
    if !events.isEmpty { handleSoon() }
  }
}
