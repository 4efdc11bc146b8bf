import Testing
import Wire

@testable import Engine

/// The addresses at which a host is dialled. The hosts here are discovered and never answer by themselves.
@Suite struct ReachingTests {
  let network = TestNetwork()

  /// A peer that has invited one of a host that is only a record.
  private func invited(at addresses: [String]) throws -> (peer: TestPeer, sighting: Sighting) {
    let peer = try network.silentPeer("a")
    try peer.browse()
    let key = network.crypto.key(named: "far")
    let sighting = Sighting(
      peer: PeerID(digest: network.crypto.hash(PeerID.preimage(of: key))),
      host: HostID(digest: network.crypto.hash(HostID.preimage(of: key))), type: network.type,
      name: try DisplayName("far"), info: .empty, addresses: try addresses.map(Address.init(text:)))
    show(sighting, to: peer)
    while peer.engine.nextOutput() != nil {}
    _ = try peer.engine.invite(
      sighting.peer, as: network.type, to: peer.endpoint, context: [], timeout: .seconds(600), at: network.now)
    return (peer, sighting)
  }

  private func show(_ sighting: Sighting, to peer: TestPeer, as id: UInt64 = 1) {
    peer.engine.sighted(SightingID(rawValue: id), sighting, at: network.now)
  }

  private func dials(of peer: TestPeer) -> [(id: DialID, addresses: [String])] {
    var dials: [(DialID, [String])] = []
    while let output = peer.engine.nextOutput() {
      switch output {
      case .dial(let id, _, let addresses), .dialAlso(let id, let addresses):
        dials.append((id, addresses.map(\.description)))
      default: break
      }
    }
    return dials
  }

  @Test("A dial names every address that is known, and one that comes to be known while it is under way joins it")
  func late() throws {
    var (peer, sighting) = try invited(at: ["one", "two"])
    let first = dials(of: peer)
    #expect(first.map(\.addresses) == [["one", "two"]])
    show(sighting, to: peer)
    #expect(dials(of: peer).isEmpty)
    sighting.addresses.append(try Address(text: "three"))
    show(sighting, to: peer, as: 2)
    let second = dials(of: peer)
    #expect(second.map(\.addresses) == [["three"]] && second[0].id == first[0].id)
    peer.engine.dialFailed(first[0].id, at: network.now)
    #expect(dials(of: peer).isEmpty)
    peer.engine.advance(to: network.now + .milliseconds(499))
    #expect(dials(of: peer).isEmpty)
    peer.engine.advance(to: network.now + .milliseconds(500))
    #expect(dials(of: peer).map(\.addresses) == [["one", "two", "three"]])
  }

  @Test("Records that change without end are not dialled without end")
  func floods() throws {
    var (peer, sighting) = try invited(at: ["one"])
    for number in 0..<100 {
      sighting.addresses = [try Address(text: "elsewhere \(number)")]
      show(sighting, to: peer)
    }
    #expect(dials(of: peer).flatMap(\.addresses).count == 48)
  }

  @Test("Once a link is there, addresses that come to be known begin no dial")
  func reached() throws {
    var (peer, sighting) = try invited(at: ["one"])
    let link = LinkID(rawValue: 700)
    peer.engine.linkOpened(
      link, to: network.crypto.key(named: "far"), exporter: network.exporter(of: link), dial: dials(of: peer)[0].id,
      datagramBytesMax: 0, at: network.now)
    sighting.addresses = [try Address(text: "two")]
    show(sighting, to: peer)
    #expect(dials(of: peer).isEmpty)
  }

  @Test("A suspended host is dialled at once where a record shows it to be now, though a dial to where it was goes on")
  func moved() throws {
    let peer = try network.testPeer("v")
    let rogue = Rogue("r", to: peer.host, on: network)
    try rogue.enter(with: peer)
    var sighting = Sighting(
      peer: rogue.peer, host: rogue.host, type: network.type, name: try DisplayName("r"), info: .empty,
      addresses: [try Address(text: "old")])
    show(sighting, to: peer)
    // A link that ends as soon as it begins is not dialled at once.
    network.run(.milliseconds(2_500))
    peer.engine.linkClosed(rogue.link, at: network.now)
    let first = dials(of: peer)
    #expect(first.map(\.addresses) == [["old"]])
    sighting.addresses = [try Address(text: "new")]
    show(sighting, to: peer)
    let second = dials(of: peer)
    #expect(second.map(\.addresses) == [["new"]])
    #expect(second[0].id == first[0].id)
    peer.engine.dialFailed(first[0].id, at: network.now)
    #expect(dials(of: peer).isEmpty)
    // The addresses change before the pause is over.
    sighting.addresses = [try Address(text: "newest")]
    show(sighting, to: peer)
    #expect(dials(of: peer).map(\.addresses) == [["newest"]])
  }

  @Test("New addresses are told in hello and entries, as many as fit; who was out of reach is dialled at once")
  func ownAddresses() throws {
    let peers = try network.gather("a", "b")
    let (a, b) = (peers[0], peers[1])
    let host = try #require(b.engine.hosts[a.engine.hostID])
    #expect(b.engine.addresses(of: host).map(\.description) == ["a"])
    network.walls.insert(["a", "b"])
    network.cut(a.host, b.host)
    network.run(.milliseconds(200))
    a.engine.setAddresses(try (0..<20).map { try Address(text: "a\($0)") }, at: network.now)
    network.run()
    #expect(a.take() == ["A: B suspended"])
    network.walls.removeAll()
    let all = a.engine.settings.addresses
    a.engine.setAddresses(all, at: network.now)
    network.run()
    #expect(a.take() == [])
    a.engine.setAddresses(all + [try Address(text: "a")], at: network.now)
    network.run()
    #expect(a.take() == ["A: B resumed"])
    #expect(host.ownAddresses.map(\.description) == (0..<8).map { "a\($0)" })
    #expect(a.engine.entry(of: try #require(a.engine.endpoints[a.endpoint])).addresses == Array(all.prefix(4)))
  }
}
