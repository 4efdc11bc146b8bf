internal import Engine
internal import Reactor
internal import Wire

/// A session's state on the loop.
final class SessionPort {
  let state: SessionState
  /// Everybody who is connecting or connected.
  private(set) var members: [EndpointID: Member] = [:]
  /// Some former members, for later reports about them.
  private var gone: [EndpointID: Member] = [:]
  private static let goneMax = 1_024
  /// Files and events of transfers from before a restart, for when the member is there again.
  var resumedFiles: [String] = []
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

  func add(_ member: Member) { members[member.id] = member }

  /// It is away, or present again.
  func update(_ member: Member) {
    if members[member.id] != nil { members[member.id] = member }
    state.update(member)
  }

  func remove(_ member: Member) {
    members[member.id] = nil
    if gone.count == Self.goneMax { gone = [:] }
    gone[member.id] = member
  }

  func known(_ ids: [EndpointID]) -> [Member] { ids.compactMap { members[$0] ?? gone[$0] } }
}
