import Wire

/// How an invitation reaches whom it is for.
enum InvitationTarget: Hashable {
  /// By what its peer advertises.
  case service(ServiceType, isAdhoc: Bool)
  /// By connection data, to this endpoint and no other.
  case data(EndpointID)
}

extension InvitationTarget {
  /// Whether nobody asked for it by hand.
  var isAdhoc: Bool { if case .service(_, isAdhoc: true) = self { true } else { false } }
}

/// What an invitation says, however it calls.
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
  /// The link that it was last said on.
  var saidOn: LinkID?
  /// Its time ended while it lay with the invitee.
  var ranOut = false
  /// What the invitee was told at the end, to be told again where that was lost.
  var confirmation: Confirm?
  /// When nothing more can come of it.
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

/// An invitation that somebody made to a local peer.
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
  /// Once it has ended: until when whoever asks again is answered as before.
  var forgottenAt: Instant
  var answer: Answer?
  /// The link that the answer was last said on.
  var answeredOn: LinkID?
  /// Whether anybody was asked: who was not is not told of its end.
  var isShown = false
  /// The own invitation to the same peer that this one took the place of.
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

  /// A program answers by then, or not at all.
  func answerBy(_ time: Instant) { deadline = min(deadline, time) }

  /// Takes the place of an own invitation, which ends with this one, and no later than it would have.
  func replace(_ own: OutgoingInvitation) {
    own.state = .ended
    replaces = own
    deadline = min(deadline, own.deadline)
  }
}
