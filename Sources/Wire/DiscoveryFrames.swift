/// The sender looks for peers of a service type among those that the other host carries.
public struct Browse: Frame {
  public static let type = FrameType.browse
  public var type: ServiceType

  @inlinable public init(type: ServiceType) { self.type = type }
  public init(body: inout Reader) throws(WireError) { type = try ServiceType(from: &body) }
  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) { type.encode(into: &sink) }
}

/// The sender looks no more.
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

/// A peer of the sender advertises no more.
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
