import Wire

/// An invitation that a local endpoint made.
final class OutgoingInvitation {
  enum State { case reaching, sent, ended }

  let id: InvitationID
  let local: LocalEndpoint
  let incarnation: EndpointIncarnation
  let to: PeerID
  let host: RemoteHost
  let type: ServiceType
  let context: [UInt8]
  let isAdhoc: Bool
  let deadline: Instant
  var state = State.reaching { didSet { if state == .ended { host.asked[id] = nil } } }
  /// What the invitee was told at the end, to be told again where that was lost.
  var confirmation: Confirm?
  /// When nothing more can come of it.
  var forgottenAt: Instant

  init(
    id: InvitationID, local: LocalEndpoint, to: PeerID, host: RemoteHost, type: ServiceType, context: [UInt8],
    isAdhoc: Bool, deadline: Instant
  ) {
    self.id = id
    self.local = local
    incarnation = local.incarnation
    self.to = to
    self.host = host
    self.type = type
    self.context = context
    self.isAdhoc = isAdhoc
    self.deadline = deadline
    forgottenAt = deadline
    host.asked[id] = self
  }

  var isPending: Bool { state != .ended }
  /// The endpoint has not left since.
  var isCurrent: Bool { local.incarnation == incarnation }
}

/// An invitation that somebody made to a local peer.
final class IncomingInvitation {
  enum State { case asked, accepted(LocalEndpoint, EndpointIncarnation), ended }

  let id: InvitationID
  let invite: Invite
  let inviter: PeerID
  let host: RemoteHost
  let peer: LocalPeer
  private(set) var deadline: Instant
  var state = State.asked
  var answer: Answer?
  /// Whether anybody was asked: who was not is not told of its end.
  var isShown = false
  /// The own invitation to the same peer that this one took the place of.
  private(set) var replaces: OutgoingInvitation?

  init(id: InvitationID, invite: Invite, inviter: PeerID, host: RemoteHost, peer: LocalPeer, deadline: Instant) {
    self.id = id
    self.invite = invite
    self.inviter = inviter
    self.host = host
    self.peer = peer
    self.deadline = deadline
  }

  var isPending: Bool { if case .ended = state { false } else { true } }

  /// Takes the place of an own invitation, which ends with this one, and no later than it would have.
  func replace(_ own: OutgoingInvitation) {
    own.state = .ended
    replaces = own
    deadline = min(deadline, own.deadline)
  }
}
