/// Asks the other host for its peers of a service type.
public struct Browse: Frame {
  public static let type = FrameType.browse
  public var type: ServiceType

  @inlinable public init(type: ServiceType) { self.type = type }
  public init(body: inout Reader) throws(WireError) { type = try ServiceType(from: &body) }
  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) { type.encode(into: &sink) }
}

public struct BrowseEnd: Frame {
  public static let type = FrameType.browseEnd
  public var type: ServiceType

  @inlinable public init(type: ServiceType) { self.type = type }
  public init(body: inout Reader) throws(WireError) { type = try ServiceType(from: &body) }
  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) { type.encode(into: &sink) }
}

/// A peer of the sender advertises, or its discovery info has changed.
public struct Advertised: Frame {
  public static let type = FrameType.advertised
  public var type: ServiceType
  public var peer: PeerID
  public var name: DisplayName
  public var info: DiscoveryInfo

  @inlinable
  public init(type: ServiceType, peer: PeerID, name: DisplayName, info: DiscoveryInfo) {
    self.type = type
    self.peer = peer
    self.name = name
    self.info = info
  }

  public init(body: inout Reader) throws(WireError) {
    type = try ServiceType(from: &body)
    peer = try PeerID(from: &body)
    name = try DisplayName(from: &body)
    info = try DiscoveryInfo(from: &body)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    type.encode(into: &sink)
    peer.encode(into: &sink)
    name.encode(into: &sink)
    info.encode(into: &sink)
  }
}

/// A peer of the sender does not advertise any more.
public struct Withdrawn: Frame {
  public static let type = FrameType.withdrawn
  public var type: ServiceType
  public var peer: PeerID

  @inlinable
  public init(type: ServiceType, peer: PeerID) {
    self.type = type
    self.peer = peer
  }

  public init(body: inout Reader) throws(WireError) {
    type = try ServiceType(from: &body)
    peer = try PeerID(from: &body)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    type.encode(into: &sink)
    peer.encode(into: &sink)
  }
}

/// The away peers of the sender: their programs are absent for now. It is sent to hosts with the feature only.
public struct Away: Frame {
  public static let type = FrameType.away
  /// Ends the report of everything that there was when the link was attached.
  public var isLast: Bool
  public var peers: [Absence]

  public struct Absence: Part {
    public var peer: PeerID
    /// For how long it has been away, at most `Limits.awayMillisecondsMax`; nil for a peer that is present again.
    public var milliseconds: UInt64?

    @inlinable
    public init(peer: PeerID, milliseconds: UInt64?) {
      self.peer = peer
      self.milliseconds = milliseconds
    }

    public init(from reader: inout Reader) throws(WireError) {
      peer = try PeerID(from: &reader)
      guard try reader.bool("away") else { return }
      let value = try reader.varint()
      guard value <= Limits.awayMillisecondsMax else {
        throw WireError(.numberOverLimit(field: "away", value: value, max: Limits.awayMillisecondsMax))
      }
      milliseconds = value
    }

    public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
      peer.encode(into: &sink)
      sink.put(u8: milliseconds == nil ? 0 : 1)
      guard let milliseconds else { return }
      precondition(milliseconds <= Limits.awayMillisecondsMax, "a peer that is away for too long")
      sink.put(varint: milliseconds)
    }
  }

  @inlinable
  public init(isLast: Bool = false, peers: [Absence]) {
    self.isLast = isLast
    self.peers = peers
  }

  public init(body: inout Reader) throws(WireError) {
    isLast = try body.bool("away last")
    peers = try body.list("away peers", max: Limits.awayPeersMax)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(u8: isLast ? 1 : 0)
    sink.put(list: peers, max: Limits.awayPeersMax)
  }
}

/// Asks the other host for the service types of its peers, or ends that. It is sent to hosts with the feature only.
public struct BrowseTypes: Frame {
  public static let type = FrameType.browseTypes
  public var isOn: Bool

  @inlinable public init(isOn: Bool) { self.isOn = isOn }
  public init(body: inout Reader) throws(WireError) { isOn = try body.bool("browse types") }
  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) { sink.put(u8: isOn ? 1 : 0) }
}

/// The service types that peers of the sender advertise now, replacing earlier ones.
public struct AdvertisedTypes: Frame {
  public static let type = FrameType.advertisedTypes
  public var types: [ServiceType]

  @inlinable public init(types: [ServiceType]) { self.types = types }

  public init(body: inout Reader) throws(WireError) {
    types = try body.list("advertised types", max: Limits.advertisedTypesMax)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(list: types, max: Limits.advertisedTypesMax)
  }
}
