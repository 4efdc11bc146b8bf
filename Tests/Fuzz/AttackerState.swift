import Engine
import Wire

/// The hostile host's knowledge: names, keys and numbers that make its frames go deep.
struct AttackerState {
  struct Captured {
    var type: FrameType
    var body: [UInt8]
  }

  let crypto: FuzzCrypto
  var frames: [Captured] = []
  var peers: [PeerID]
  let ownPeer: PeerID
  let hostKeys: [PublicKey]
  let peerKeys: [PublicKey]
  private var endpoints: [EndpointID] = [EndpointID(ID128(high: 7, low: 7)), EndpointID(ID128(high: 7, low: 8))]
  private var entries: [Entry] = []
  private var indexes: [UInt32] = [1, 2]
  private var invites: [UInt64] = [1]
  private var comparisons: [UInt64] = [2]
  /// The bonds of both sides, and how many records each has sent.
  private var bond: UInt64 = 77
  private var theirBond: UInt64 = 0
  private var recordsHeard: UInt64 = 0
  private var recordsSaid: UInt64 = 0
  private var next: [UInt32: UInt64] = [:]
  private var hearing: [LinkID: [UInt8]] = [:]
  private var saying: [UInt8] = []
  var flows = FlowAttackState()

  init(_ crypto: FuzzCrypto) {
    self.crypto = crypto
    hostKeys = ["hostile", "other", "honest", "victim"].map { crypto.key("host " + $0) }
    peerKeys = ["hostile", "other", "honest", "zero", "one"].map { crypto.key("peer " + $0) }
    ownPeer = PeerID(digest: crypto.hash(PeerID.preimage(of: peerKeys[0])))
    peers = [ownPeer, PeerID(digest: crypto.hash(PeerID.preimage(of: peerKeys[2])))]
  }

  // MARK: Listening

  mutating func heard(_ bytes: [UInt8], on link: LinkID) {
    hearing[link, default: []] += bytes
    for frame in Self.take(&hearing[link, default: []]) { heard(frame) }
  }

  mutating func said(_ bytes: [UInt8]) {
    saying += bytes
    for frame in Self.take(&saying) {
      keep(frame)
      if frame.type == .hello, let hello = try? Hello(decoding: frame.body.span.bytes) { bond = hello.bond }
      if frame.type == .join, let join = try? Join(decoding: frame.body.span.bytes) {
        learn(join.entry, join.index)
        flows.joined(join.index, isOwn: true)
      }
      if let head = Self.record(frame) {
        next[head.strand] = head.sequence + 1
        recordsSaid += 1
      }
    }
  }

  private mutating func heard(_ frame: Captured) {
    keep(frame)
    if Self.record(frame) != nil { recordsHeard += 1 }
    let body = frame.body.span.bytes
    switch frame.type {
    case .hello:
      guard let hello = try? Hello(decoding: body), hello.bond != theirBond else { return }
      theirBond = hello.bond
      (recordsHeard, recordsSaid, next) = (0, 0, [:])
    case .join:
      guard let join = try? Join(decoding: body) else { return }
      learn(join.entry, join.index)
      flows.joined(join.index, isOwn: false)
    case .invite:
      guard let invite = try? Invite(decoding: body) else { return }
      Self.add(invite.id, to: &invites)
      learn(invite.entry, nil)
    case .connect:
      guard let connect = try? Connect(decoding: body) else { return }
      Self.add(connect.id, to: &invites)
      learn(connect.entry, nil)
    case .answer:
      guard let answer = try? Answer(decoding: body), case .accepted(let acceptance) = answer.outcome else { return }
      learn(acceptance.entry, nil)
    case .introduce:
      guard let introduce = try? Introduce(decoding: body) else { return }
      for entry in introduce.introduction.entries { learn(entry, nil) }
    case .compareCommit: if let commit = try? CompareCommit(decoding: body) { Self.add(commit.id, to: &comparisons) }
    default: flows.heard(frame.type, body)
    }
  }

  private mutating func keep(_ frame: Captured) {
    // The content of flows is made anew, and long.
    if frame.body.count > 1_024 { return }
    if frames.count == 24 { frames.removeFirst() }
    frames.append(frame)
  }

  private mutating func learn(_ entry: Entry, _ index: UInt32?) {
    Self.add(entry, to: &entries)
    Self.add(entry.endpoint, to: &endpoints)
    if let index { Self.add(index, to: &indexes) }
  }

  private static func add<T: Equatable>(_ item: T, to list: inout [T]) {
    if list.contains(item) { return }
    if list.count == 16 { list.removeFirst() }
    list.append(item)
  }

  private static func take(_ buffer: inout [UInt8]) -> [Captured] {
    var taken: [Captured] = []
    while let head = try? FrameHead.next(in: buffer.span.bytes) {
      taken.append(Captured(type: head.type, body: Array(buffer[head.body])))
      buffer.removeFirst(head.end)
    }
    return taken
  }

  private static func record(_ frame: Captured) -> RecordHead? {
    guard frame.type.isRecord else { return nil }
    var reader = Reader(frame.body.span.bytes)
    return try? RecordHead(from: &reader)
  }

  /// The captured body, with the number that is next in its strand.
  mutating func renumbered(_ frame: Captured) -> [UInt8] {
    guard frame.type.isRecord else { return frame.body }
    var reader = Reader(frame.body.span.bytes)
    guard let head = try? RecordHead(from: &reader) else { return frame.body }
    var sink = ArraySink()
    record(head.strand).encode(into: &sink)
    return sink.bytes + frame.body.suffix(reader.remaining)
  }

  // MARK: Speaking

  mutating func record(_ strand: UInt32) -> RecordHead {
    let sequence = next[strand, default: 1]
    next[strand] = sequence + 1
    recordsSaid += 1
    return RecordHead(strand: strand, sequence: sequence)
  }

  func hello() -> Hello { Hello(incarnation: Incarnation(1), bond: bond, expects: theirBond, ordinal: 9) }

  func attach() -> Attach {
    Attach(bond: bond, expects: theirBond, received: recordsHeard, first: 1, next: recordsSaid + 1)
  }

  func attach(_ source: inout Source) -> Attach {
    Attach(bond: bond, expects: theirBond, received: source.u64(), first: source.u64(), next: source.u64())
  }

  /// The endpoint's own incarnation if it is known, so that the record is taken for the real one.
  func incarnation(of endpoint: EndpointID, _ source: inout Source) -> EndpointIncarnation {
    if source.u8() < 230, let entry = entries.last(where: { $0.endpoint == endpoint }) { return entry.incarnation }
    return EndpointIncarnation(host: Incarnation(1), count: source.u32())
  }

  func peerID(_ source: inout Source) -> PeerID { source.pick(peers) }

  func endpoint(_ source: inout Source) -> EndpointID {
    let number = source.u8()
    return number < 200
      ? endpoints[Int(number) % endpoints.count] : EndpointID(ID128(high: 9, low: UInt64(number % 8)))
  }

  func index(_ source: inout Source) -> UInt32 { source.flag ? source.pick(indexes) : source.u32() }
  func invite(_ source: inout Source) -> UInt64 { source.flag ? source.pick(invites) : source.u64() }
  func comparison(_ source: inout Source) -> UInt64 { source.flag ? source.pick(comparisons) : source.u64() }
  func knownEntry(_ source: inout Source) -> Entry? { entries.isEmpty ? nil : source.pick(entries) }

  // MARK: Names

  static func serviceType(_ text: String) -> ServiceType {
    guard let type = try? ServiceType(text) else { preconditionFailure("\(text) is no service type") }
    return type
  }

  static func name(_ text: String) -> DisplayName {
    guard let name = try? DisplayName(text) else { preconditionFailure("\(text) is no name") }
    return name
  }

  static func address(_ text: String) -> Address {
    guard let address = try? Address(text: text) else { preconditionFailure("\(text) is no address") }
    return address
  }
}
