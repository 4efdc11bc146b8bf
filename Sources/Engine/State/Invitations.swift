import Wire

/// The way in which an invitation reaches its peer.
enum InvitationTarget: Hashable {
  /// By what its peer advertises.
  case service(ServiceType, isAdhoc: Bool)
  /// By connection data, to this endpoint and no other.
  case data(EndpointID)
}

extension InvitationTarget {
  /// Whether ad hoc mode made it.
  var isAdhoc: Bool { if case .service(_, isAdhoc: true) = self { true } else { false } }
}

/// The content of an invitation, of either kind.
struct InvitationRequest {
  var id: UInt64
  var call: InvitationTarget
  var to: PeerID
  var entry: Entry
  var carrier: Carrier
  var standing: Standing
  var millisecondsLeft: UInt32
  var context: [UInt8]

  var isAdhoc: Bool { call.isAdhoc }

  init(_ invite: Invite) {
    id = invite.id
    call = .service(invite.type, isAdhoc: invite.adhoc)
    to = invite.to
    entry = invite.entry
    carrier = invite.carrier
    standing = invite.standing
    millisecondsLeft = invite.millisecondsLeft
    context = invite.context
  }

  init(_ connect: Connect) {
    id = connect.id
    call = .data(connect.target)
    to = connect.to
    entry = connect.entry
    carrier = connect.carrier
    standing = connect.standing
    millisecondsLeft = connect.millisecondsLeft
    context = []
  }
}

/// An invitation that a local endpoint made.
final class OutgoingInvitation {
  enum State { case reaching, sent, ended }

  let id: InvitationID
  let local: LocalEndpoint
  let incarnation: EndpointIncarnation
  let to: PeerID
  let host: RemoteHost
  let call: InvitationTarget
  let context: [UInt8]
  let deadline: Instant
  var state = State.reaching { didSet { if state == .ended { host.asked[id] = nil } } }
  /// The link that it was last sent on.
  var saidOn: LinkID?
  /// Its timeout passed while the invitee had it.
  var ranOut = false
  /// The confirmation that ended it, to be repeated if it was lost.
  var confirmation: Confirm?
  /// When it can have no more effect.
  var forgottenAt: Instant

  init(
    id: InvitationID, local: LocalEndpoint, to: PeerID, host: RemoteHost, call: InvitationTarget, context: [UInt8],
    deadline: Instant
  ) {
    self.id = id
    self.local = local
    incarnation = local.incarnation
    self.to = to
    self.host = host
    self.call = call
    self.context = context
    self.deadline = deadline
    forgottenAt = deadline
    host.asked[id] = self
  }

  var isPending: Bool { state != .ended }
  /// The endpoint has not left since.
  var isCurrent: Bool { local.incarnation == incarnation }
}

/// An invitation from a remote endpoint to a local peer.
final class IncomingInvitation {
  enum State { case asked, accepted(LocalEndpoint, EndpointIncarnation), ended }

  let id: InvitationID
  let request: InvitationRequest
  let inviter: PeerID
  let host: RemoteHost
  let peer: LocalPeer
  private(set) var deadline: Instant
  var state = State.asked
  var endedAs: Reason?
  /// After its end: until when a repeated request gets the same answer.
  var forgottenAt: Instant
  var answer: Answer?
  /// The link that the answer was last sent on.
  var answeredOn: LinkID?
  /// Whether the program was shown it, and so must get its end.
  var isShown = false
  /// The own invitation to the same peer that this one replaced.
  private(set) var replaces: OutgoingInvitation?

  init(
    id: InvitationID, request: InvitationRequest, inviter: PeerID, host: RemoteHost, peer: LocalPeer, deadline: Instant
  ) {
    self.id = id
    self.request = request
    self.inviter = inviter
    self.host = host
    self.peer = peer
    self.deadline = deadline
    forgottenAt = deadline
  }

  var isPending: Bool { if case .ended = state { false } else { true } }

  /// Shortens the time that a program has to answer.
  func answerBy(_ time: Instant) { deadline = min(deadline, time) }

  /// Replaces an own invitation, which ends with this one, and no later than it would have.
  func replace(_ own: OutgoingInvitation) {
    own.state = .ended
    replaces = own
    deadline = min(deadline, own.deadline)
  }
}
