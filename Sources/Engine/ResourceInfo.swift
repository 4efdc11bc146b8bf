public import Wire

/// A resource as its sender offers it.
public struct ResourceInfo: Hashable, Sendable {
  public var name: String
  /// A media type, such as `image/png`.
  public var type: String
  /// Nil while the sender does not know.
  public var size: UInt64?
  /// The root of its `ChunkTree`, where the sender knows it beforehand: the received bytes are then verified by it.
  public var root: Digest?

  public init(name: String, type: String = "application/octet-stream", size: UInt64? = nil, root: Digest? = nil) {
    self.name = name
    self.type = type
    self.size = size
    self.root = root
  }
}

/// A transfer as the local side sees it.
public struct ResourceView: Hashable, Sendable {
  public var info: ResourceInfo
  public var from: EndpointID
  public var to: EndpointID
  public var isIncoming: Bool
  /// Whether it waits for no decision here.
  public var isAccepted: Bool
  public var bytes: UInt64
}

public struct ResourceProgress: Hashable, Sendable {
  public var bytes: UInt64
  public var size: UInt64?
  /// The recent rate; 0 while it is not known.
  public var bytesPerSecond: UInt64
  /// Nil where size or rate are not known.
  public var timeLeft: Duration?
}

/// An endpoint's limits on its members' resources.
public struct ResourceRules: Hashable, Sendable {
  /// Whether a resource within the limits is accepted without a decision.
  public var acceptsUnasked = false
  public var bytesMax = Limits.flowBytesMax
  /// Offers of one member at a time, accepted or not.
  public var offersMax: UInt32 = 256
  /// How long an offer waits for a decision.
  public var decisionMax: Duration = .seconds(600)
  /// How long nothing may come while it is requested and the link is up.
  public var idleMax: Duration = .seconds(60)

  public init() {}
}
