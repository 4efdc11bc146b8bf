import Testing
import Wire

@testable import Engine

/// A peer with a session of its own, on a host of the test network. Its name in small letters is the peer's, in
/// capitals the endpoint's.
final class TestPeer {
  let network: TestNetwork
  let name: String
  let host: TestNetwork.Host
  let peer: PeerID
  let endpoint: EndpointID

  init(network: TestNetwork, name: String, host: TestNetwork.Host, peer: PeerID, endpoint: EndpointID) {
    self.network = network
    self.name = name
    self.host = host
    self.peer = peer
    self.endpoint = endpoint
  }

  var engine: Engine { host.engine }

  /// Its host's events since the last call.
  func take() -> [String] { host.take() }

  /// The endpoints that are connected with this one, by name.
  var connected: String { engine.connectedMembers(of: endpoint).map(network.name).sorted().joined(separator: " ") }

  var lastInvitation: InvitationID? {
    for case .invitation(let id, _, _, let to, _, _, _) in host.outputs.reversed() where to == peer { return id }
    return nil
  }

  var lastDecision: DecisionID? {
    for case .decision(let id, _, let of, _) in host.outputs.reversed() where of == endpoint { return id }
    return nil
  }

  @discardableResult
  func invite(_ other: TestPeer, _ context: String = "", timeout: Duration = .zero) throws -> InvitationID {
    try engine.invite(
      other.peer, as: network.type, to: endpoint, context: Array(context.utf8), timeout: timeout, at: network.now)
  }

  func accept() throws { try engine.accept(try #require(lastInvitation), with: endpoint, at: network.now) }
  func decline() throws { try engine.decline(try #require(lastInvitation), at: network.now) }
  func decide(_ admit: Bool) throws { try engine.decide(try #require(lastDecision), admit, at: network.now) }
  func leave() { engine.leave(endpoint, at: network.now) }

  func remove(_ other: TestPeer, ban: Bool = false) throws {
    try engine.remove(other.endpoint, from: endpoint, ban: ban, at: network.now)
  }

  @discardableResult
  func say(
    _ text: String, to: [TestPeer]? = nil, _ mode: Mode = .reliable, as type: String? = nil, receipt: Bool = false
  ) throws(EngineError) -> MessageID {
    let bytes = Array(text.utf8)
    let recipients = to.map { RecipientIDs.only($0.map(\.endpoint)) } ?? .all
    let type = type.map { try! ContentType($0) }  // the tests give legal ones
    return try engine.send(
      bytes.span.bytes, contentType: type, from: endpoint, to: recipients, mode, receipt: receipt, at: network.now)
  }

  /// Its messages, in order, without their senders.
  var heard: [String] {
    host.outputs.compactMap { output in
      guard case .message(let from, let to, _, _, _) = output, to.all.contains(endpoint) else { return nil }
      return network.name(from)
    }
  }

  func advertise(_ info: [String: String] = [:]) throws {
    try engine.startAdvertising(peer, network.type, info: try DiscoveryInfo(info), at: network.now)
  }

  func browse() throws { try engine.startBrowsing(peer, network.type, at: network.now) }
  func stopAdvertising() { engine.stopAdvertising(peer, network.type, at: network.now) }
  func stopBrowsing() { engine.stopBrowsing(peer, network.type, at: network.now) }

  func startAdhoc() throws {
    try engine.startAdhoc(endpoint, network.type, info: .empty, at: network.now)
  }
}

extension TestNetwork {
  var type: ServiceType {
    get { try! ServiceType("chat") }  // a legal type, by its four letters
  }

  /// A peer that neither advertises nor browses yet.
  func silentPeer(
    _ name: String, on host: Host? = nil, _ session: SessionSettings = SessionSettings(),
    _ settings: Settings = Settings()
  ) throws -> TestPeer {
    let host = try host ?? self.host(name, settings)
    let peer = host.engine.addPeer(crypto.key(named: "peer " + name), name: try DisplayName(name), at: now)
    call(peer, name)
    return try testPeer(name.uppercased(), of: peer, on: host, session)
  }

  /// Another session of a peer.
  func testPeer(_ name: String, of peer: PeerID, on host: Host, _ session: SessionSettings = SessionSettings()) throws
    -> TestPeer
  {
    let endpoint = try host.engine.openSession(peer, session, at: now)
    call(endpoint, name)
    host.endpoints.append(endpoint)
    return TestPeer(network: self, name: name, host: host, peer: peer, endpoint: endpoint)
  }

  /// A peer that advertises and browses.
  func testPeer(
    _ name: String, on host: Host? = nil, _ session: SessionSettings = SessionSettings(),
    _ settings: Settings = Settings()
  ) throws -> TestPeer {
    let testPeer = try silentPeer(name, on: host, session, settings)
    try testPeer.advertise()
    try testPeer.browse()
    run()
    for host in hosts { host.lines = [] }
    return testPeer
  }

  /// Invited, accepted, and left alone for a moment.
  func connect(_ a: TestPeer, _ b: TestPeer) throws {
    try a.invite(b)
    run(.milliseconds(400))
    try b.accept()
    run(.milliseconds(400))
  }

  /// All of them in one session, with empty transcripts.
  func gather(_ names: String..., session: SessionSettings = SessionSettings(), settings: Settings = Settings()) throws
    -> [TestPeer]
  {
    let peers = try names.map { try testPeer($0, session, settings) }
    for testPeer in peers.dropFirst() { try connect(peers[0], testPeer) }
    run(.seconds(1))
    expectAllConnected(peers)
    clear()
    return peers
  }

  func clear() { for host in hosts { host.lines = [] } }

  func expectAllConnected(_ peers: [TestPeer], sourceLocation: SourceLocation = #_sourceLocation) {
    for testPeer in peers {
      let others = peers.filter { $0 !== testPeer }.map { name($0.endpoint) }.sorted().joined(separator: " ")
      #expect(testPeer.connected == others, "of \(testPeer.name)", sourceLocation: sourceLocation)
    }
  }
}
