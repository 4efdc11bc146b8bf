internal import Engine
public import Media
public import Wire

/// The events of a session, in order.
public enum SessionEvent: Sendable {
  case member(Member, MemberState)
  /// A peer that this session invited is not connected: it declined, did not answer, or could not be reached.
  case notConnected(Invitee, Reason)
  /// Ad hoc mode has ended by itself, as requested.
  case adhocEnded
  /// The link to a member is gone (true) or back (false) while it stays connected.
  case suspended(Member, Bool)
  /// The link to a member that stays connected goes over another medium now, as its `medium` says.
  case mediumChanged(Member)
  /// A member is away, or present again, as its `awaySince` says. It stays connected, and messages wait for it.
  case away(Member)
  case message(Message)
  case stream(StreamReader)
  case resource(IncomingResource)
  /// A resource that this peer sends resumes from before this host was started again.
  case sending(OutgoingResource)
  case decision(TrustDecision)
  case comparison(Comparison)
  /// A comparison that this session began, with the number that ``Session/compare(with:)`` returned, has ended before
  /// there was a code.
  case comparisonFailed(with: PeerID, number: UInt64, Reason)
  /// The shared clock, which this session has read, was set forward or back: by an older clock that it met, or since
  /// another host is followed now.
  case clockStepped(by: Duration)
  /// Messages that these members may never get, with their status.
  case undelivered(to: [Member], DeliveryStatus)
  /// The delivery status of a message that was sent with a receipt, for some of its recipients.
  case deliveryStatus(of: Receipt.ID, for: [Member], DeliveryStatus)
}

/// A remote peer's end of a session. Two values with the same ID are equal, whether away or present.
public struct Member: Hashable, Sendable, Identifiable, CustomStringConvertible {
  public let id: EndpointID
  public let peer: PeerID
  public let host: HostID
  public let name: String
  /// Since when its program is away, as its host says; nil while it is present. The value is a snapshot.
  public let awaySince: ContinuousClock.Instant?
  /// The name of the medium over which it is reached, such as `lan`, as this value was reported; nil where it was not yet,
  /// and for a peer of this host.
  public let medium: String?
  /// The member's encryption preference, as its host says.
  public let encryption: Encryption
  /// The member, or this session, whose invitation brought it to the session, as its host says; nil where there was
  /// none.
  public let inviter: EndpointID?
  /// The certificates of the security identity that it has shown here, leaf first, in DER; empty where it has shown
  /// none, as where nobody asks for it.
  public let chain: [[UInt8]]
  public var description: String { name }
  /// Summaries of the certificates that can be read.
  public var certificates: [CertificateSummary] { chain.compactMap { try? Certificate(der: $0).summary } }

  init(_ view: MemberView, awaySince: ContinuousClock.Instant?, medium: String?) {
    id = view.endpoint
    peer = view.peer
    host = view.host
    name = view.name.text
    encryption = view.encryption
    inviter = view.inviter
    chain = view.chain
    self.awaySince = awaySince
    self.medium = medium
  }

  public static func == (a: Member, b: Member) -> Bool {
    a.id == b.id && a.peer == b.peer && a.host == b.host && a.name == b.name
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// A peer that was invited and did not join.
public struct Invitee: Hashable, Sendable, Identifiable, CustomStringConvertible {
  public var id: PeerID { peer }
  public let peer: PeerID
  public let host: HostID
  /// As it was found nearby; its ID where no name is known.
  public let name: String
  /// Only ad hoc mode has asked it, and nobody by `invite`.
  public let isAdhoc: Bool
  /// Whether ad hoc mode will ask it again: after a no, or twice no answer, it is asked by hand only.
  public let isAskedAgain: Bool
  public var description: String { name }

  init(_ view: InviteeView) {
    peer = view.peer
    host = view.host
    name = view.name?.text ?? view.peer.text
    isAdhoc = view.isAdhoc
    isAskedAgain = view.isAskedAgain
  }
}

public enum MemberState: Hashable, Sendable {
  case connecting
  case connected
  case notConnected(Reason)
}

public struct Message: Sendable {
  public let from: Member
  public let mode: Mode
  /// The media type that its sender has given it, such as `text/plain; charset=utf-8`; nil where it has given none, and
  /// from a host of a version that sends none. A claim: nobody has checked the bytes.
  public let contentType: String?
  public let bytes: [UInt8]
}

/// The members of a session that a message is for.
public enum Recipients: Hashable, Sendable {
  /// Everybody who is connected now.
  case all
  case only([Member])
}
