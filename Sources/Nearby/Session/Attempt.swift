internal import Engine

/// A peer is to come into a session, and may not.
public struct Attempt: Sendable {
  private let invitation: InvitationID
  private let outcome: Outcome<Reason>
  private let peer: PeerID
  private let what: String
  private let state: SessionState
  private let loop: Loop

  init(
    _ invitation: InvitationID, _ outcome: Outcome<Reason>, _ peer: PeerID, _ what: String, _ state: SessionState,
    _ loop: Loop
  ) {
    self.invitation = invitation
    self.outcome = outcome
    self.peer = peer
    self.what = what
    self.state = state
    self.loop = loop
  }

  /// Returns when the two are connected. A task that is cancelled meanwhile cancels the attempt.
  public func joined() async throws(NearbyError) {
    let reason = await withTaskCancellationHandler {
      let joined = await outcome.value
      return joined == .none ? await state.meeting(peer) : joined
    } onCancel: {
      cancel()
    }
    // Who is connected already is what was asked for.
    if reason != .none, reason != .already { throw NearbyError(reason, of: what) }
  }

  public func cancel() {
    loop.post { [invitation] in $0.cancel(invitation) }
  }
}
