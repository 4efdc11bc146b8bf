internal import Engine
internal import Wire

/// An invitation to a local peer to join a session.
///
/// ```swift
/// print("\(invitation.name) invites, and says \(String(decoding: invitation.context, as: UTF8.self))")
/// if isWelcome { try await invitation.accept(with: session) } else { await invitation.decline() }
/// ```
public final class Invitation: Sendable {
  public let from: PeerID
  /// The inviter's display name; unverified.
  public let name: String
  public let type: String
  /// The inviter's additional data: bytes of a stranger.
  public let context: [UInt8]
  public let timeLeft: Duration
  let id: InvitationID
  let outcome = Promise<Reason>()
  private let loop: Loop

  init(_ id: InvitationID, from: PeerID, name: String, type: String, context: [UInt8], timeLeft: Duration, _ loop: Loop)
  {
    self.id = id
    self.from = from
    self.name = name
    self.type = type
    self.context = context
    self.timeLeft = timeLeft
    self.loop = loop
  }

  /// Joins the inviter's session; returns when the two are connected.
  public func accept(with session: Session) async throws(NearbyError) {
    let meeting = try await loop.run { [id, from] in try $0.accept(id, from: from, with: session.id) }
    let reason = await meeting.value
    if reason != .none { throw NearbyError(reason, of: "the invitation of \(name)") }
  }

  public func decline() async {
    // One that has ended meanwhile is as good as declined.
    try? await loop.run { [id] in try $0.decline(id) }
  }

  /// How it ended, here or on the other side; `none` where the two have joined.
  public var ended: Reason {
    get async { await outcome.value }
  }
}
