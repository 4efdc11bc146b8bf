/// A member's word, signed by its peer, that endpoints belong to its group.
public struct Introduction: Part {
  public var group: GroupID
  public var introducer: EndpointID
  public var introducerIncarnation: EndpointIncarnation
  /// 1 to `Limits.introductionEntriesMax`.
  public var entries: [Entry]
  public var signature: Signature

  @inlinable
  public init(
    group: GroupID, introducer: EndpointID, introducerIncarnation: EndpointIncarnation, entries: [Entry],
    signature: Signature
  ) {
    self.group = group
    self.introducer = introducer
    self.introducerIncarnation = introducerIncarnation
    self.entries = entries
    self.signature = signature
  }

  /// What the introducer's peer signs.
  public static func signedBytes(
    group: GroupID, introducer: EndpointID, introducerIncarnation: EndpointIncarnation, entries: [Entry]
  ) -> [UInt8] {
    var sink = ArraySink(labelled("vicinity introduction v1"))
    put(group, introducer, introducerIncarnation, entries, into: &sink)
    return sink.bytes
  }

  /// What the introducer's peer has signed, if the signature is its own.
  public var signedBytes: [UInt8] {
    Self.signedBytes(
      group: group, introducer: introducer, introducerIncarnation: introducerIncarnation, entries: entries)
  }

  private static func put<S: Sink & ~Copyable & ~Escapable>(
    _ group: GroupID, _ introducer: EndpointID, _ incarnation: EndpointIncarnation, _ entries: [Entry],
    into sink: inout S
  ) {
    precondition(!entries.isEmpty, "an introduction of nobody")
    group.encode(into: &sink)
    introducer.encode(into: &sink)
    incarnation.encode(into: &sink)
    sink.put(list: entries, max: Limits.introductionEntriesMax)
  }

  public init(from reader: inout Reader) throws(WireError) {
    group = try GroupID(from: &reader)
    introducer = try EndpointID(from: &reader)
    introducerIncarnation = try EndpointIncarnation(from: &reader)
    entries = try reader.list("introduction entries", max: Limits.introductionEntriesMax)
    guard !entries.isEmpty else {
      throw WireError(.lengthUnderLimit(field: "introduction entries", value: 0, min: 1))
    }
    signature = try Signature(from: &reader)
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    Self.put(group, introducer, introducerIncarnation, entries, into: &sink)
    signature.encode(into: &sink)
  }
}
