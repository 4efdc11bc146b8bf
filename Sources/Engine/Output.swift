public import Wire

/// A link's number on this host, unique within one run.
public struct LinkID: Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// An attempt of the engine to reach a host.
public struct DialID: Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A stream's number in this engine, whoever writes it.
public struct StreamID: Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A transfer's number in this engine, whoever sends it; a durable host keeps it over restarts.
public struct ResourceID: Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A circuit that ends at this host, by its number here.
public struct CircuitID: Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A record of an advertising peer that a medium sees.
public struct SightingID: Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

public struct InvitationID: Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

public struct MessageID: Hashable, Comparable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

public struct DecisionID: Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

public struct ComparisonID: Hashable, Sendable {
  public var rawValue: UInt64
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A medium's report of an advertising peer. It claims everything and proves nothing: a link does that later.
public struct Sighting: Hashable, Sendable {
  public var peer: PeerID
  public var host: HostID
  public var type: ServiceType
  public var name: DisplayName
  public var info: DiscoveryInfo
  public var addresses: [Address]
  /// The medium that sees it.
  public var medium: MediumID

  public init(
    peer: PeerID, host: HostID, type: ServiceType, name: DisplayName, info: DiscoveryInfo, addresses: [Address],
    medium: MediumID = .first
  ) {
    self.peer = peer
    self.host = host
    self.type = type
    self.name = name
    self.info = info
    self.addresses = addresses
    self.medium = medium
  }
}

/// The state of a pair of a local endpoint and a remote member.
public enum PairState: Hashable, Sendable {
  case connecting
  case connected
  case notConnected(Reason)
}

public enum Mode: UInt8, Hashable, Sendable { case reliable, unreliable }

/// The endpoints of a session that a message is for.
public enum RecipientIDs: Hashable, Sendable {
  /// Everyone who is connected with the sender now.
  case all
  case only([EndpointID])
}

/// The delivery status of a message for some of its recipients.
public enum DeliveryStatus: UInt8, Hashable, Sendable {
  /// Their host has taken responsibility for it.
  case delivered
  /// It never left this host, or they had gone before it came.
  case undelivered
  /// Not acknowledged before the hosts lost each other or its sender left.
  case unknown
}

/// Members, and the local endpoints that a report of them is for.
public struct MemberReport: Sendable {
  public let members: [MemberView]
  public let locals: Locals
}

/// The local endpoints that an output is for. Shared storage: a copy costs nothing.
public enum Locals: Hashable, Sendable {
  case one(EndpointID)
  case many([EndpointID])

  public var count: Int {
    switch self {
    case .one: 1
    case .many(let endpoints): endpoints.count
    }
  }

  public var all: [EndpointID] {
    switch self {
    case .one(let endpoint): [endpoint]
    case .many(let endpoints): endpoints
    }
  }
}

/// A remote member as local endpoints see it.
public struct MemberView: Hashable, Sendable {
  public var endpoint: EndpointID
  public var peer: PeerID
  public var host: HostID
  public var name: DisplayName
  /// Since when its program is away, as its host says; nil while it is present.
  public var awaySince: Instant?
  /// The member's encryption preference, as its host says.
  public var encryption: Encryption
  /// The endpoint whose invitation brought it to the session, as its host says; nil where there was none.
  public var inviter: EndpointID?
  /// The security identity that it has shown to an endpoint here, leaf first; empty where it has shown none.
  public var chain: [[UInt8]]
}

/// A peer that was invited and did not join, as its inviter knows it.
public struct InviteeView: Hashable, Sendable {
  public var peer: PeerID
  public var host: HostID
  /// Nil where only connection data are known of it.
  public var name: DisplayName?
  /// Only ad hoc mode has asked it, and nobody by hand.
  public var isAdhoc: Bool
  /// Ad hoc mode will ask it again.
  public var isAskedAgain: Bool
}

/// Actions and events for the host, in order.
public enum Output {
  // For the media.

  /// Advertise, or advertise anew with changed information.
  case publish(peer: PeerID, type: ServiceType, name: DisplayName, info: DiscoveryInfo)
  case withdraw(peer: PeerID, type: ServiceType)
  /// Advertise this host as one that reports its many peers of a type over a link; seen as `sightedRoster`.
  case publishRoster(ServiceType)
  case withdrawRoster(ServiceType)
  /// Advertise this host on one medium as a relay, by the type `.relays`.
  case publishRelay(MediumID)
  case withdrawRelay(MediumID)
  case browse(for: ServiceType)
  case stopBrowsing(for: ServiceType)
  case probe(SightingID)
  /// Open a link by the address that answers first, the best medium's best one first; answered once by `linkOpened` or
  /// `dialFailed`. Where a link stands, the addresses are those of the media that are wanted beside it.
  case dial(DialID, host: HostID, addresses: [Address])
  /// Add these addresses to a dial in progress.
  case dialAlso(DialID, addresses: [Address])
  /// The link has bytes to send: `fill` it when it can take some.
  case wantsToSend(LinkID)
  /// One datagram for the link's host.
  case datagram(LinkID, Payload)
  /// The link is not needed any more: send what `fill` still gives, then close it.
  case close(LinkID, Reason)
  /// The link in use to the host is now one of this medium, where it was one of another; with the members that are
  /// connected there.
  case mediumChanged(HostID, MediumID, [MemberReport])

  /// A circuit is open: run a link over it, as the side that dials or as the other.
  case circuitOpened(CircuitID, isDialed: Bool)
  /// Bytes came over a circuit; answered by `consumed`.
  case circuitBytes(CircuitID, Payload)
  /// A write for which there was no room may be tried again.
  case circuitWritable(CircuitID)
  /// A circuit was refused, or came to its end on the other side or on the way.
  case circuitEnded(CircuitID, Reason)

  // For the store.

  /// Store these; answered by `persisted`. Batches are to be stored in order and each as a whole.
  case persist(batch: UInt64, facts: [Fact])

  // For the peers' own programs.

  case found(
    by: PeerID, type: ServiceType, peer: PeerID, name: DisplayName, info: DiscoveryInfo, awaySince: Instant?)
  /// Its name or info has changed, or whether it is away.
  case updated(
    by: PeerID, type: ServiceType, peer: PeerID, name: DisplayName, info: DiscoveryInfo, awaySince: Instant?)
  case lost(by: PeerID, type: ServiceType, peer: PeerID)
  /// The service types in use nearby, ascending, for their browsers.
  case types([ServiceType])
  /// Somebody invites a local peer: `accept` or `decline` it.
  indirect case invitation(
    InvitationID, from: PeerID, name: DisplayName, to: PeerID, type: ServiceType, context: [UInt8], expires: Instant)
  /// An invitation, made or received, came to its end. None: it was accepted and the sessions have joined.
  case invitationEnded(InvitationID, Reason)
  /// A peer that this endpoint invited is not connected: the invitation failed, and why.
  case inviteeNotConnected(InviteeView, Reason, of: EndpointID)
  /// The new state of each of these members with each of these local endpoints.
  case members([MemberView], PairState, of: Locals)
  /// The members' link went (true) or is back (false) while the pairs stay connected.
  case suspended([MemberView], Bool, of: Locals)
  /// A member that is connecting or connected is away, or present again: its view says which.
  indirect case away(MemberView, of: Locals)
  case message(from: EndpointID, to: Locals, Mode, ContentType?, Payload)
  case deliveryStatus(MessageID, from: EndpointID, to: [EndpointID], DeliveryStatus)
  /// A send that was refused as unavailable may be tried again.
  case writable(EndpointID)
  /// The shared clock, which these endpoints have read, was set forward or back by more than its error bounds explain.
  case clockStepped(by: Duration, of: Locals)
  /// A member writes a stream to a local endpoint.
  case streamOpened(StreamID, name: String, from: EndpointID, to: EndpointID)
  /// The next bytes of a stream that is read here; answered by `consumed`.
  case streamed(StreamID, Payload)
  /// A write that was refused as unavailable may be tried again.
  case streamWritable(StreamID)
  /// A stream came to its end, on this side. None: it was closed, and its reader has all of it.
  case streamEnded(StreamID, Reason)

  /// A member offers a resource: `accept` or `decline` it, unless that is decided; or one resumes after a restart.
  indirect case resource(ResourceID, ResourceView)
  /// Read so much of the resource's source; answered by `supply` or `cannotRead`. It may be asked for again.
  case read(ResourceID, from: UInt64, bytes: Int)
  /// Verify the chunk by its digest and store it; answered by `stored`, `damaged` or `cannotStore`. A chunk that was
  /// not stored comes again after a lost link or a restart.
  case store(ResourceID, at: UInt64, Payload, Digest)
  /// Hash the chunks in this part of the stored file again, after a restart; answered by `rehashed`.
  case rehash(ResourceID, from: UInt64, bytes: Int)
  /// All of it is stored and matches its hashes: give it its place for good; answered by `kept` or `cannotStore`. After
  /// a restart it may come again.
  case keep(ResourceID)
  case progress(ResourceID, ResourceProgress)
  /// A transfer came to its end, on this side. None: its receiver holds all of it.
  case resourceEnded(ResourceID, Reason)

  /// Whether to admit this member; answered by `decide`.
  indirect case decision(DecisionID, MemberView, of: EndpointID, expires: Instant)
  case decisionEnded(DecisionID)
  /// Another peer wants to compare codes, or an own comparison is ready: show the code.
  case comparison(ComparisonID, local: PeerID, remote: PeerID, code: String)
  case comparisonEnded(ComparisonID, Reason)
  /// This host's key is in use on another host, which came up later.
  case conflict(HostID)
}

/// A row of the host's durable state: the latest value of a key counts; nil removes it.
public struct Fact: Hashable, Sendable {
  public var key: [UInt8]
  public var value: [UInt8]?

  public init(key: [UInt8], value: [UInt8]?) {
    self.key = key
    self.value = value
  }
}
