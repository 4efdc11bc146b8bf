internal import Engine

/// An attempt to get a peer into a session.
public struct Attempt: Sendable {
  private let invitation: InvitationID
  private let meeting: Promise<Reason>
  private let what: String
  private let loop: Loop

  init(_ invitation: InvitationID, _ meeting: Promise<Reason>, _ what: String, _ loop: Loop) {
    self.invitation = invitation
    self.meeting = meeting
    self.what = what
    self.loop = loop
  }

  /// Returns when the two are connected. A task that is cancelled meanwhile cancels the attempt.
  public func joined() async throws(NearbyError) {
    let reason = await withTaskCancellationHandler {
      await meeting.value
    } onCancel: {
      cancel()
    }
    // A connected peer is what was asked for.
    if reason != .none, reason != .already { throw NearbyError(reason, of: what) }
  }

  public func cancel() {
    loop.post { [invitation] in $0.cancel(invitation) }
  }
}
