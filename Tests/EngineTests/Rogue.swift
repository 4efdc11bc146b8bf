import Wire

@testable import Engine

/// A rogue host, which sends any frames.
final class Rogue {
  let network: TestNetwork
  let target: TestNetwork.Host
  let name: String
  let key: PublicKey
  let peerKey: PublicKey
  let link: LinkID
  let endpoint: EndpointID
  private(set) var frames: [(type: FrameType, body: [UInt8])] = []
  private var rest: [UInt8] = []
  private(set) var ending: Reason?
  private var sequences: [UInt32: UInt64] = [:]

  /// Opens a link to `target`, and sends nothing yet.
  init(_ name: String, to target: TestNetwork.Host, on network: TestNetwork) {
    self.network = network
    self.target = target
    self.name = name
    key = network.crypto.key(named: "host " + name)
    peerKey = network.crypto.key(named: "peer " + name)
    link = network.newLink()
    endpoint = EndpointID(PeerID(digest: network.crypto.hash(Array("end \(name)".utf8))).raw)
    network.rogues[link] = self
    network.call(peer, name)
    network.call(endpoint, name.uppercased())
    target.engine.linkOpened(
      link, to: key, exporter: network.exporter(of: link), dial: nil, datagramBytesMax: 1_200, at: network.now)
    network.run()
  }

  var peer: PeerID { PeerID(digest: network.crypto.hash(PeerID.preimage(of: peerKey))) }
  var host: HostID { HostID(digest: network.crypto.hash(HostID.preimage(of: key))) }
  var isClosed: Bool { ending != nil }

  // MARK: Bytes

  func say(bytes: [UInt8]) {
    target.engine.received(bytes.span.bytes, on: link, at: network.now)
    network.run()
  }

  func say(_ frames: any Frame...) { say(bytes: frames.flatMap { $0.encoded() }) }

  func read() {
    while true {
      let bytes = network.filled(by: target.engine, for: link)
      if bytes.isEmpty { return }
      rest += bytes
      while let head = try? FrameHead.next(in: rest.span.bytes) {
        frames.append((head.type, Array(rest[head.body])))
        rest.removeFirst(head.end)
      }
    }
  }

  func closed(_ reason: Reason) {
    read()
    ending = reason
    target.engine.linkClosed(link, at: network.now)
  }

  func last<F: Frame>(_: F.Type) -> F? {
    frames.last { $0.type == F.type }.flatMap { try? F(decoding: $0.body.span.bytes) }
  }

  // MARK: Frames of an honest host

  static let bond: UInt64 = 7

  func greet(
    incarnation: UInt64 = 1, bond: UInt64 = Rogue.bond, expects: UInt64? = nil, ordinal: UInt32 = 1,
    features: Hello.Features = []
  ) {
    say(
      Hello(
        incarnation: Incarnation(incarnation), bond: bond, expects: expects ?? last(Hello.self)?.bond ?? 0,
        ordinal: ordinal, features: features))
  }

  func attach(features: Hello.Features = []) {
    greet(features: features)
    say(attachment)
  }

  var attachment: Attach {
    Attach(bond: Self.bond, expects: last(Hello.self)?.bond ?? 0, received: 0, first: 1, next: 1)
  }

  var carrier: Carrier { carrier(of: peerKey) }

  func carrier(of peer: PublicKey, incarnation: UInt64 = 1) -> Carrier {
    let statement = Carrier.signedBytes(peer: peer, host: key, incarnation: Incarnation(incarnation))
    return Carrier(
      peer: peer, incarnation: Incarnation(incarnation), signature: network.crypto.sign(statement, with: peerKey))
  }

  func entry(peer: PublicKey? = nil, showsIdentity: Bool = false) -> Entry {
    Entry(
      endpoint: endpoint, incarnation: EndpointIncarnation(host: Incarnation(1), count: 0), peer: peer ?? peerKey,
      host: host, name: try! DisplayName(name),  // a short name
      terms: Terms(encryption: .required, showsIdentity: showsIdentity, peersMax: 256), rank: 0, inviter: endpoint,
      addresses: [])
  }

  func invitation(_ testPeer: TestPeer, id: UInt64 = 1, entry: Entry? = nil, carrier: Carrier? = nil) -> Invite {
    Invite(
      id: id, type: network.type, to: testPeer.peer, adhoc: false, group: GroupID(endpoint.raw),
      entry: entry ?? self.entry(),
      carrier: carrier ?? self.carrier, standing: Standing(size: 1, peersMax: 256, needs: .requiresEncryption),
      millisecondsLeft: 30_000, context: [])
  }

  /// Acknowledges all records that came.
  func acknowledge() {
    var last: [UInt32: UInt64] = [:]
    for frame in frames where frame.type.isRecord {
      var reader = Reader(frame.body.span.bytes)
      if let head = try? RecordHead(from: &reader) { last[head.strand] = head.sequence }
    }
    for strand in last.keys.sorted() { say(Ack(strand: strand, received: last[strand, default: 0])) }
  }

  func head(_ strand: UInt32 = 1) -> RecordHead {
    sequences[strand, default: 0] += 1
    return RecordHead(strand: strand, sequence: sequences[strand, default: 0])
  }

  func join(_ testPeer: TestPeer, index: UInt32 = 1, entry: Entry? = nil, tickets: [Introduction] = []) -> Join {
    Join(
      record: head(), index: index, target: testPeer.endpoint,
      targetIncarnation: EndpointIncarnation(host: Incarnation(1), count: 0), seen: 0, admits: .all,
      entry: entry ?? self.entry(),
      carrier: carrier, tickets: tickets)
  }

  /// Joins a test peer's session as anybody would: invites, is accepted, joins, and admits.
  func enter(with testPeer: TestPeer, showsIdentity: Bool = false, features: Hello.Features = []) throws {
    attach(features: features)
    let entry = entry(showsIdentity: showsIdentity)
    say(invitation(testPeer, entry: entry))
    try testPeer.accept()
    network.run()
    say(Confirm(id: 1, reason: .none, rank: 1))
    say(join(testPeer, entry: entry))
    guard let theirs = last(Join.self) else { return }
    say(Verdict(record: head(), about: theirs.index, by: .all, reason: .none, seen: 1))
  }
}
