/// An introduction in its frame, read as far as it takes to see whether it names anybody new: most do not.
public struct IntroduceView: ~Escapable {
  /// The parts that may be news.
  public struct Named {
    public let endpoint: EndpointID
    public let incarnation: EndpointIncarnation
    public let rank: UInt32
    public let inviter: EndpointID

    init(endpoint: EndpointID, incarnation: EndpointIncarnation, rank: UInt32, inviter: EndpointID) {
      self.endpoint = endpoint
      self.incarnation = incarnation
      self.rank = rank
      self.inviter = inviter
    }
  }

  public let record: RecordHead
  private let rest: Reader

  @_lifetime(copy body)
  public init(decoding body: RawSpan) throws(WireError) {
    var reader = Reader(body)
    record = try RecordHead(from: &reader)
    rest = reader
  }

  /// Whether the test holds for one of the entries; entries before it are parsed, but not checked.
  public func names(_ isMeant: (Named) -> Bool) throws(WireError) -> Bool {
    var reader = rest
    _ = try reader.bool("spread")
    // Its group, and its introducer with the incarnation.
    _ = try (GroupID(from: &reader), EndpointID(from: &reader), EndpointIncarnation(from: &reader))
    for _ in 0..<(try reader.count("introduction entries", max: Limits.introductionEntriesMax))
    where isMeant(try Entry.named(from: &reader)) {
      return true
    }
    _ = try Signature(from: &reader)
    try reader.finish()
    return false
  }
}
