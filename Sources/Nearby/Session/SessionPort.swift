internal import Engine
internal import Reactor
internal import Wire

/// A session as its loop has it.
final class SessionPort {
  let state: SessionState
  /// Everybody who is connecting or connected.
  private(set) var members: [EndpointID: Member] = [:]
  /// Some of those who have gone, for what is told of them afterwards.
  private var gone: [EndpointID: Member] = [:]
  private static let goneMax = 1_024
  /// What goes on from before a restart, for when its member is there again.
  var resumedFiles: [String] = []
  var untold: [EndpointID: [(Member) -> SessionEvent]] = [:]
  /// What the engine had no room for, and what was offered behind it.
  private var waiting: [SessionState.OutboxEntry] = []
  private var sent = 0
  /// The engine tells when there is room again.
  var isStuck = false
  var isFlushing = false
  /// The service type of its ad hoc mode; nil without that.
  var adhocType: ServiceType?
  /// When ad hoc mode ends by itself.
  var adhocUntil = Until.stopped
  var hasOverflowed = false
  /// An unreliable message was too large to go as one packet.
  var hasLargeUnreliable = false
  /// The program has much unread: when it falls out.
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

  /// What waits may leave out those who have gone since it was offered.
  func readdressFirst(without missing: [EndpointID]) -> Bool {
    guard case .only(let members) = waiting[sent].recipients else { return false }
    let left = members.filter { !missing.contains($0) }
    guard !left.isEmpty, left.count < members.count else { return false }
    waiting[sent].recipients = .only(left)
    return true
  }

  func add(_ member: Member) { members[member.id] = member }

  /// It is away, or here again.
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
