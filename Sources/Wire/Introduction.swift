/// A member's statement, signed by its peer, that endpoints belong to its group.
///
/// It is forwarded as it was signed, so its bytes are kept with it.
public struct Introduction: Part {
  public let group: GroupID
  public let introducer: EndpointID
  public let introducerIncarnation: EndpointIncarnation
  /// 1 to `Limits.introductionEntriesMax`.
  public let entries: [Entry]
  public let signature: Signature
  /// All of it, as `encode` writes it.
  private let encoded: [UInt8]

  public init(
    group: GroupID, introducer: EndpointID, introducerIncarnation: EndpointIncarnation, entries: [Entry],
    signature: Signature
  ) {
    self.group = group
    self.introducer = introducer
    self.introducerIncarnation = introducerIncarnation
    self.entries = entries
    self.signature = signature
    var sink = ArraySink()
    Self.put(group, introducer, introducerIncarnation, entries, into: &sink)
    signature.encode(into: &sink)
    encoded = sink.bytes
  }

  private static let label = labelled("vicinity introduction v1")

  /// The bytes that the introducer's peer signs.
  public static func signedBytes(
    group: GroupID, introducer: EndpointID, introducerIncarnation: EndpointIncarnation, entries: [Entry]
  ) -> [UInt8] {
    var sink = ArraySink(label)
    put(group, introducer, introducerIncarnation, entries, into: &sink)
    return sink.bytes
  }

  /// The bytes that the introducer's peer has signed, if the signature is its own.
  public var signedBytes: [UInt8] { Self.label + encoded.dropLast(Signature.byteCount) }

  private static func put(
    _ group: GroupID, _ introducer: EndpointID, _ incarnation: EndpointIncarnation, _ entries: [Entry],
    into sink: inout ArraySink
  ) {
    precondition(!entries.isEmpty, "an introduction of nobody")
    group.encode(into: &sink)
    introducer.encode(into: &sink)
    incarnation.encode(into: &sink)
    sink.put(list: entries, max: Limits.introductionEntriesMax)
  }

  public init(from reader: inout Reader) throws(WireError) {
    let start = reader.offset
    group = try GroupID(from: &reader)
    introducer = try EndpointID(from: &reader)
    introducerIncarnation = try EndpointIncarnation(from: &reader)
    entries = try reader.list("introduction entries", max: Limits.introductionEntriesMax)
    guard !entries.isEmpty else {
      throw WireError(.lengthUnderLimit(field: "introduction entries", value: 0, min: 1))
    }
    signature = try Signature(from: &reader)
    encoded = [UInt8](reader.bytes.extracting(start..<reader.offset))
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    // A UInt8 has no padding to show.
    sink.put(raw: unsafe encoded.span.bytes)
  }

  // Each value has one encoding.
  public static func == (a: Introduction, b: Introduction) -> Bool { a.encoded == b.encoded }
  public func hash(into hasher: inout Hasher) { hasher.combine(encoded) }
}
