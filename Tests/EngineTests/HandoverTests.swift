import Testing
import Wire

@testable import Engine

/// The bond of two hosts goes over from one medium to another, and back.
@Suite struct HandoverTests {
  let network = TestNetwork()
  private let lan = MediumID.first
  private let bluetooth = MediumID(rawValue: 1)
  private let folder = MediumID(rawValue: 2)

  private func gather(_ media: [MediumProfile] = [.lan, .bluetooth]) throws -> [TestPeer] {
    var settings = Settings()
    settings.media = media
    network.latencies = [lan: .milliseconds(1), bluetooth: .milliseconds(40)]
    var session = SessionSettings()
    session.resources.acceptsUnasked = true
    let peers = try ["a", "b"].map { try network.testPeer($0, session, settings) }
    try network.connect(peers[0], peers[1])
    network.run(.seconds(4))
    network.expectAllConnected(peers)
    network.clear()
    return peers
  }

  private func media(_ peers: [TestPeer]) -> [MediumID?] {
    [peers[0].engine.medium(of: peers[1].engine.hostID), peers[1].engine.medium(of: peers[0].engine.hostID)]
  }

  private var open: [MediumID] { network.pipes.map(\.medium).sorted() }

  @Test("P-SES-9 The best medium is used, and one link of another stands by")
  func standby() throws {
    let peers = try gather()
    #expect(media(peers) == [lan, lan])
    #expect(open == [lan, bluetooth])
    network.run(.seconds(120))
    #expect(open == [lan, bluetooth])
    #expect(peers[0].take() == [] && peers[1].take() == [])
  }

  @Test("A link over a medium that the system does not measure measures its round trip with its heartbeats")
  func roundTrip() throws {
    let peers = try gather()
    let ends = [peers[0].host, peers[1].host]
    func trips(of medium: String) -> [Duration?] {
      ends.flatMap { $0.engine.openLinks.filter { $0.medium == medium }.map(\.roundTrip) }
    }
    network.run(.seconds(4))
    #expect(trips(of: "bluetooth") == [.milliseconds(80), .milliseconds(80)])
    #expect(trips(of: "lan") == [nil, nil])
    var count: [FrameType: Int] = [:]
    network.filter = { type, _, _ in
      count[type, default: 0] += 1
      return true
    }
    // A link on standby has a heartbeat every 3 s, with those of the other link; a ping is one, and its answer comes besides.
    network.latencies[bluetooth] = .milliseconds(30)
    network.run(.seconds(60))
    #expect((18...22).contains(count[.ping, default: 0]), "\(count)")
    #expect(count[.pong, default: 0] <= 2 * 60 + 40, "\(count)")
    #expect(trips(of: "bluetooth") == [.milliseconds(60), .milliseconds(60)])
    // The shortest of the last minute counts, until that has passed.
    network.latencies[bluetooth] = .milliseconds(50)
    network.run(.seconds(6))
    #expect(trips(of: "bluetooth") == [.milliseconds(60), .milliseconds(60)])
    network.run(.seconds(90))
    #expect(trips(of: "bluetooth") == [.milliseconds(100), .milliseconds(100)])
  }

  @Test("The time until an answer to an earlier ping is no round trip")
  func lateAnswer() {
    var meter = RoundTripMeter()
    var now = Instant(nanoseconds: 0)
    #expect(meter.isDue(at: now))
    meter.begin(7, at: now)
    now = now + .seconds(5)
    #expect(meter.isDue(at: now))
    meter.begin(8, at: now)
    meter.take(7, at: now + .milliseconds(1))
    #expect(meter.shortest == nil)
    meter.take(8, at: now + .milliseconds(40))
    meter.take(8, at: now + .milliseconds(20))
    #expect(meter.shortest == .milliseconds(40))
    #expect(!meter.isDue(at: now + .milliseconds(4_999)))
  }

  @Test("P-SES-9 A medium that ends with notice: the other one is used after a round trip, and nobody is suspended")
  func noticed() throws {
    let peers = try gather()
    network.down = [lan]
    try peers[0].say("one")
    try peers[1].say("two")
    network.cut(lan)
    try peers[0].say("three")
    network.run(.milliseconds(121))
    #expect(peers[0].take() == ["A < B: two"])
    #expect(peers[1].take() == ["B < A: one", "B < A: three"])
    #expect(media(peers) == [bluetooth, bluetooth])
    network.run(.seconds(30))
    #expect(peers[0].take() == [] && peers[1].take() == [])
  }

  @Test("P-SES-9 One side's interface goes, and the other side follows", arguments: [0, 1])
  func noticedByOne(side: Int) throws {
    let peers = try gather()
    network.down = [lan]
    let pipe = try #require(network.pipes.first { $0.medium == lan })
    network.close(pipe, from: pipe.side(of: peers[side].host))
    try peers[0].say("one")
    try peers[1].say("two")
    network.run(.milliseconds(125))
    #expect(peers[0].take() == ["A < B: two"])
    #expect(peers[1].take() == ["B < A: one"])
    network.run(.seconds(30))
    #expect(media(peers) == [bluetooth, bluetooth])
    #expect(peers[0].take() == [] && peers[1].take() == [])
  }

  @Test("P-SES-9 A medium that falls silent is given up after its silence, and nobody is suspended")
  func silent() throws {
    let peers = try gather()
    network.down = [lan]
    try peers[0].say("one")
    network.run(.milliseconds(3_500))
    #expect(peers[1].take() == ["B < A: one"])
    #expect(media(peers) == [bluetooth, bluetooth])
    #expect(peers[0].take() == [])
  }

  @Test(
    "P-SES-9 The one in use and the one on standby fall silent: the third is used in 4.5 s, and nobody is suspended")
  func bothSilent() throws {
    let peers = try gather([.lan, .bluetooth, .folder])
    #expect(media(peers) == [folder, folder])
    #expect(open == [lan, folder])
    network.down = [lan, folder]
    try peers[0].say("one")
    network.run(.milliseconds(4_500))
    #expect(peers[1].take() == ["B < A: one"])
    #expect(media(peers) == [bluetooth, bluetooth])
    #expect(peers[0].take() == [])
    network.down = []
    network.run(.seconds(40))
    #expect(media(peers) == [folder, folder])
    #expect(peers[0].take() == [] && peers[1].take() == [])
  }

  @Test("P-SES-9 A link that is lost while its medium stands is back at once, though the one on standby is dead")
  func deadStandby() throws {
    let peers = try gather()
    network.down = [bluetooth]
    network.run(.seconds(2))
    network.cut(lan)
    try peers[0].say("one")
    network.run(.milliseconds(100))
    #expect(peers[1].take() == ["B < A: one"])
    #expect(media(peers) == [lan, lan])
    #expect(peers[0].take() == [])
  }

  @Test(
    "P-SES-9 A link that is lost while its medium stands is dialled anew, and the one on standby stays",
    arguments: [nil, 0, 1])
  func keptStandby(side: Int?) throws {
    let peers = try gather()
    let standby = try #require(network.pipes.first { $0.medium == bluetooth })
    let used = try #require(network.pipes.first { $0.medium == lan })
    if let side { network.close(used, from: used.side(of: peers[side].host)) } else { network.cut(lan) }
    try peers[0].say("one")
    network.run(.milliseconds(200))
    #expect(media(peers) == [lan, lan])
    #expect(network.pipes.contains { $0 === standby })
    network.down = [lan]
    network.cut(lan)
    try peers[0].say("two")
    network.run(.milliseconds(121))
    #expect(media(peers) == [bluetooth, bluetooth])
    #expect(peers[0].take() == [])
    #expect(peers[1].take() == ["B < A: one", "B < A: two"])
  }

  @Test("P-SES-9 A better medium is taken when it comes, not within 5 s of the last change, and nothing is dropped")
  func upgraded() throws {
    let peers = try gather()
    network.down = [lan]
    network.cut(lan)
    network.run(.seconds(1))
    network.down = []
    network.run(.milliseconds(3_900))
    #expect(media(peers) == [bluetooth, bluetooth])
    network.clear()
    for number in 0..<600 {
      try peers[number % 2].say("\(number)", number % 3 == 0 ? .unreliable : .reliable)
      network.run(.milliseconds(10))
    }
    network.run(.seconds(4))
    #expect(media(peers) == [lan, lan])
    for (place, peer) in peers.enumerated() {
      let numbers = peer.take().compactMap { $0.split(separator: " ").last.map { Int($0.replacing("~", with: "")) } }
      let expected = (0..<600).filter { $0 % 2 != place }
      #expect(numbers.count == expected.count && Set(numbers) == Set(expected))
      let reliable = numbers.filter { $0.map { $0 % 3 != 0 } ?? false }
      #expect(reliable == expected.filter { $0 % 3 != 0 })
    }
    #expect(open == [lan, bluetooth])
  }

  @Test("P-SES-9 A better medium is back, and the other one goes before an upgrade: it is used at once")
  func lostBeforeUpgrade() throws {
    let peers = try gather()
    network.down = [lan]
    network.cut(lan)
    network.run(.seconds(1))
    network.down = []
    network.run(.milliseconds(3_500))
    #expect(media(peers) == [bluetooth, bluetooth])
    #expect(open == [lan, bluetooth])
    network.clear()
    network.down = [bluetooth]
    try peers[0].say("one")
    network.cut(bluetooth)
    try peers[1].say("two")
    network.run(.milliseconds(10))
    #expect(peers[0].take() == ["A < B: two"])
    #expect(peers[1].take() == ["B < A: one"])
    #expect(media(peers) == [lan, lan])
    network.run(.seconds(30))
    #expect(peers[0].take() == [] && peers[1].take() == [])
  }

  @Test(
    "P-SES-9 One side alone has lost a link on standby: a new one takes over, and the other medium stands by",
    arguments: [0, 1])
  func halfLost(side: Int) throws {
    let peers = try gather()
    network.down = [lan]
    network.cut(lan)
    network.run(.seconds(1))
    network.down = []
    network.run(.seconds(3))
    #expect(media(peers) == [bluetooth, bluetooth])
    #expect(open == [lan, bluetooth])
    network.down = [lan]
    let pipe = try #require(network.pipes.first { $0.medium == lan })
    network.close(pipe, from: pipe.side(of: peers[side].host))
    network.run(.milliseconds(1_500))
    network.down = []
    for _ in 0..<1_000 where media(peers) != [lan, lan] { network.run(.milliseconds(10)) }
    #expect(media(peers) == [lan, lan])
    network.run(.milliseconds(2_100))
    #expect(open == [lan, bluetooth])
    network.down = [lan]
    try peers[0].say("one")
    network.cut(lan)
    network.run(.milliseconds(121))
    #expect(peers[0].take() == [])
    #expect(peers[1].take() == ["B < A: one"])
    #expect(media(peers) == [bluetooth, bluetooth])
  }

  @Test("P-SES-9 A host that dies is lost as soon as ever, though a link to it stood by")
  func dead() throws {
    let peers = try gather()
    network.run(.milliseconds(500))
    network.powerOff(peers[1].host)
    network.run(.seconds(5))
    #expect(peers[0].take().contains("A: B notConnected lost"))
  }

  @Test("P-RES-5 P-SES-9 A file goes on from where it was over another medium, and back")
  func file() throws {
    let peers = try gather()
    network.windowBytes = 8_000
    let bytes = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 * 7 % 251) }
    try peers[0].offer("file", bytes, to: peers[1])
    network.run(.milliseconds(20))
    network.down = [lan]
    network.cut(lan)
    network.run(.seconds(2))
    #expect(media(peers) == [bluetooth, bluetooth])
    network.down = []
    network.run(.seconds(30))
    #expect(peers[1].file("file") == bytes)
    #expect(peers[0].takeFlows() == ["file ended: none"])
    #expect(peers[1].host.program.storedFrom.count < 400_000 / 16_384 + 1 + 2 * 2)
    #expect(media(peers) == [lan, lan])
  }
}
