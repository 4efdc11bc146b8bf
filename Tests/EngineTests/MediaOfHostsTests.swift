import Testing
import Wire

@testable import Engine

/// Several media: where a host is dialled, and when it is lost. The other host is a record here, and never answers.
@Suite struct MediaOfHostsTests {
  let network = TestNetwork()
  private let media: [MediumProfile] = [.lan, .folder, .bluetooth]
  private let bluetooth = MediumID(rawValue: 2)

  private func browser() throws -> TestPeer {
    var settings = Settings()
    settings.media = media
    let peer = try network.silentPeer("a", SessionSettings(), settings)
    try peer.browse()
    return peer
  }

  private func sighting(at addresses: String..., medium: MediumID = .first) throws -> Sighting {
    let key = network.crypto.key(named: "far")
    let sighting = Sighting(
      peer: PeerID(digest: network.crypto.hash(PeerID.preimage(of: key))),
      host: HostID(digest: network.crypto.hash(HostID.preimage(of: key))), type: network.type,
      name: try DisplayName("far"), info: .empty, addresses: try addresses.map(Address.init(text:)), medium: medium)
    network.call(sighting.peer, "far")
    return sighting
  }

  private func show(_ sighting: Sighting, to peer: TestPeer, as id: UInt64) {
    peer.engine.sighted(SightingID(rawValue: id), sighting, at: network.now)
  }

  /// Runs for so long, and returns the records that were probed.
  private func probes(of peer: TestPeer, within time: Duration, answers: Set<UInt64> = []) -> Set<UInt64> {
    var probed: Set<UInt64> = []
    let end = network.now + time
    var now = network.now
    while let due = peer.engine.nextDeadline, due <= end {
      now = max(now, due)
      peer.engine.advance(to: now)
      while let output = peer.engine.nextOutput() {
        guard case .probe(let id) = output else { continue }
        probed.insert(id.rawValue)
        if answers.contains(id.rawValue) { peer.engine.probeAnswered(id, at: now) }
      }
    }
    network.run(time)
    return probed
  }

  @Test("P-SES-9 A host is dialled by its best medium first, whichever shows it first")
  func ranks() throws {
    let peer = try browser()
    show(try sighting(at: "rfcomm:00:11", medium: bluetooth), to: peer, as: 1)
    show(try sighting(at: "10.0.0.1:7", "[fe80::1]:7"), to: peer, as: 2)
    show(try sighting(at: "folder:1/far", medium: MediumID(rawValue: 1)), to: peer, as: 3)
    while peer.engine.nextOutput() != nil {}
    let far = try sighting().peer
    _ = try peer.engine.invite(
      far, as: network.type, to: peer.endpoint, context: [], timeout: .seconds(60), at: network.now)
    var dialled: [String] = []
    while let output = peer.engine.nextOutput() {
      if case .dial(_, _, let addresses) = output { dialled += addresses.map(\.description) }
    }
    #expect(dialled == ["folder:1/far", "10.0.0.1:7", "[fe80::1]:7", "rfcomm:00:11"])
  }

  @Test("P-SES-9 An address belongs to the medium with the longest prefix")
  func prefixes() throws {
    let peer = try browser()
    func name(_ address: String) throws -> String? {
      peer.engine.medium(of: try Address(text: address)).map { media[$0.rawValue].name }
    }
    #expect(try name("10.0.0.1:7") == "lan")
    #expect(try name("folder:1/far") == "folder")
    #expect(try name("rfcomm:00:11") == "bluetooth")
    #expect(try name("folders") == "lan")
  }

  @Test("P-BRO-1 A record of a medium without probes is not probed, and stands until it is taken back")
  func unprobed() throws {
    let peer = try browser()
    show(try sighting(at: "rfcomm:00:11", medium: bluetooth), to: peer, as: 1)
    network.run()
    #expect(peer.take() == ["a found far as chat"])
    #expect(probes(of: peer, within: .seconds(30)) == [])
    #expect(peer.take() == [])
    peer.engine.sightingGone(SightingID(rawValue: 1), at: network.now)
    network.run()
    #expect(peer.take() == ["a lost far"])
  }

  @Test("P-BRO-2 A host is lost once every medium has lost it", arguments: [true, false])
  func lostByAll(isProbeLast: Bool) throws {
    let peer = try browser()
    show(try sighting(at: "10.0.0.1:7"), to: peer, as: 1)
    show(try sighting(at: "rfcomm:00:11", medium: bluetooth), to: peer, as: 2)
    network.run()
    #expect(peer.take() == ["a found far as chat"])
    if isProbeLast {
      peer.engine.sightingGone(SightingID(rawValue: 2), at: network.now)
      network.run(.seconds(1))
      #expect(peer.take() == [])
      network.run(.seconds(20))
      #expect(peer.take() == ["a lost far"])
    } else {
      network.run(.seconds(20))
      #expect(peer.take() == [])
      peer.engine.sightingGone(SightingID(rawValue: 2), at: network.now)
      network.run()
      #expect(peer.take() == ["a lost far"])
    }
  }

  @Test("A found peer is reached by its best medium, with the time of the last answer by that")
  func reach() throws {
    let peer = try browser()
    func reach() throws -> ReachState? { peer.engine.reach(of: try sighting().peer, as: network.type) }
    #expect(try reach() == nil)
    show(try sighting(at: "10.0.0.1:7"), to: peer, as: 1)
    show(try sighting(at: "rfcomm:00:11", medium: bluetooth), to: peer, as: 2)
    // The first probe comes after three seconds.
    network.run(.milliseconds(3_020))
    peer.engine.probeAnswered(SightingID(rawValue: 1), at: network.now)
    let host = try sighting().host
    #expect(try reach() == ReachState(host: host, medium: "lan", link: nil, roundTrip: .milliseconds(20)))
    peer.engine.sightingGone(SightingID(rawValue: 1), at: network.now)
    #expect(try reach() == ReachState(host: host, medium: "bluetooth", link: nil, roundTrip: nil))
    peer.engine.sightingGone(SightingID(rawValue: 2), at: network.now)
    network.run()
    #expect(try reach() == nil)
  }

  @Test("A late answer, which may be to an earlier probe, says nothing of the round trip")
  func lateAnswer() throws {
    let peer = try browser()
    show(try sighting(at: "10.0.0.1:7"), to: peer, as: 1)
    // The interval between probes, and a half of it.
    network.run(.milliseconds(4_600))
    peer.engine.probeAnswered(SightingID(rawValue: 1), at: network.now)
    #expect(peer.engine.reach(of: try sighting().peer, as: network.type)?.roundTrip == nil)
  }

  @Test("P-BRO-2 Each medium with probes is probed, and an answer by one keeps the host")
  func probedByAll() throws {
    let peer = try browser()
    show(try sighting(at: "10.0.0.1:7"), to: peer, as: 1)
    show(try sighting(at: "folder:1/far", medium: MediumID(rawValue: 1)), to: peer, as: 2)
    network.run()
    #expect(peer.take() == ["a found far as chat"])
    #expect(probes(of: peer, within: .seconds(20), answers: [2]) == [1, 2])
    #expect(peer.take() == [])
    network.run(.seconds(20))
    #expect(peer.take() == ["a lost far"])
  }
}
