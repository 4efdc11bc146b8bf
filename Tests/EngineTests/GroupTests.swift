import Testing
import Wire

@testable import Engine

@Suite struct GroupTests {
  let network = TestNetwork()

  @Test("P-SES-2 A peer that any member invites is connected with every member")
  func chain() throws {
    let peers = try ["a", "b", "c", "d", "e"].map { try network.testPeer($0) }
    for (inviter, invitee) in zip(peers, peers.dropFirst()) { try network.connect(inviter, invitee) }
    network.run(.seconds(1))
    network.expectAllConnected(peers)
  }

  @Test("P-SES-2 A newcomer is told of each member once, and each member of the newcomer")
  func toldOnce() throws {
    let peers = try network.gather("a", "b", "c")
    let d = try network.testPeer("d")
    try network.connect(peers[1], d)
    network.run(.seconds(10))
    for peer in peers {
      #expect(
        peer.take().filter { $0.contains("D") } == [
          "\(peer.name.uppercased()): D connecting", "\(peer.name.uppercased()): D connected",
        ])
    }
    let told = d.take()
    for name in ["A", "B", "C"] {
      #expect(told.filter { $0.contains(name) } == ["D: \(name) connecting", "D: \(name) connected"])
    }
  }

  @Test("Two sessions of two become one session of four: all six pairs")
  func twoAndTwo() throws {
    let peers = try ["a", "b", "c", "d"].map { try network.testPeer($0) }
    try network.connect(peers[0], peers[1])
    try network.connect(peers[2], peers[3])
    try network.connect(peers[1], peers[2])
    network.run(.seconds(1))
    network.expectAllConnected(peers)
    network.clear()
    for peer in peers { try peer.say("from \(peer.name)") }
    network.run(.seconds(1))
    for peer in peers { #expect(peer.take().count == 3) }
  }

  @Test("A late datagram to all is not for those who joined after it was said")
  func lateDatagram() throws {
    let (near, far) = (try network.host("near"), try network.host("far"))
    let a = try network.testPeer("a", on: near)
    let b = try network.testPeer("b", on: far)
    try network.connect(a, b)
    let others = try (0..<9).map { try network.testPeer("c\($0)", on: far) }
    for other in others.dropFirst() { try network.connect(others[0], other) }
    network.clear()
    // In pieces: their verdicts on A come before they are known there.
    network.latency = .milliseconds(20)
    network.windowBytes = 500
    try others[0].invite(b)
    network.run()
    try b.accept()
    network.run(.milliseconds(30))
    #expect(a.connected == "B")
    network.holdsDatagrams = true
    try a.say("late", .unreliable)
    network.run(.seconds(5))
    network.expectAllConnected([a, b] + others)
    network.clear()
    network.letDatagramsGo()
    network.run()
    #expect(b.take() == ["B < A: ~late"])
  }

  @Test("A late datagram to all is not for those whose session became one with its sender's after it was said")
  func lateDatagramFromBefore() throws {
    let (near, far) = (try network.host("near"), try network.host("far"))
    let (a, b) = (try network.testPeer("a", on: near), try network.testPeer("b", on: near))
    let c = try network.testPeer("c", on: far)
    let others = try (0..<9).map { try network.testPeer("d\($0)", on: far) }
    try network.connect(a, c)
    try network.connect(b, others[0])
    for other in others.dropFirst() { try network.connect(others[0], other) }
    network.clear()
    // In pieces: their verdicts on A come before it is known there that the groups were merged.
    network.latency = .milliseconds(20)
    network.windowBytes = 500
    try c.invite(others[0])
    network.run()
    try others[0].accept()
    network.run(.milliseconds(10))
    #expect(a.connected == "C")
    network.holdsDatagrams = true
    try a.say("late", .unreliable)
    network.run(.seconds(5))
    network.expectAllConnected([a, b, c] + others)
    network.clear()
    network.letDatagramsGo()
    network.run()
    #expect(c.take() == ["C < A: ~late"])
  }

  @Test(
    "A late datagram to all is not for those who were announced in vain before it was said", arguments: [true, false])
  func lateDatagramAfterAnnouncement(isAlone: Bool) throws {
    let (a, b, c) = (try network.testPeer("a"), try network.testPeer("b"), try network.testPeer("c"))
    let d = try network.testPeer("d", on: c.host)
    // Nobody introduces D to A's host, which refuses D until rosters are compared.
    network.walls = [["a", "c"]]
    try network.connect(b, a)
    try network.connect(b, c)
    try network.connect(c, d)
    network.latency = .milliseconds(20)
    network.heal(a.host, c.host)
    for _ in 0..<200 where a.connected != "B C" { network.run(.milliseconds(10)) }
    network.run(.milliseconds(50))
    #expect(a.connected == "B C")
    network.holdsDatagrams = true
    try a.say("late", .unreliable)
    network.run(.seconds(5))
    network.expectAllConnected([a, b, c, d])
    // Messages in order since then show nothing about those that had not come by then.
    if !isAlone { try a.say("in time") }
    network.run(.seconds(1))
    network.clear()
    network.letDatagramsGo()
    network.run()
    #expect(c.take() == (isAlone ? ["C < A: ~late"] : []))
  }

  @Test("Two sessions that invite each other at once become one")
  func groupsCross() throws {
    let peers = try ["a", "b", "c", "d"].map { try network.testPeer($0) }
    try network.connect(peers[0], peers[1])
    try network.connect(peers[2], peers[3])
    try peers[1].invite(peers[2])
    try peers[2].invite(peers[1])
    try peers[0].invite(peers[3])
    try peers[3].invite(peers[0])
    network.run(.seconds(5))
    network.expectAllConnected(peers)
  }

  @Test("P-SES-5 A peer takes part in two sessions, which never become one because it is in both")
  func twoSessions() throws {
    let a = try network.testPeer("a")
    let b = try network.testPeer("b")
    let c = try network.testPeer("c")
    let other = try network.testPeer("A2", of: a.peer, on: a.host)
    try network.connect(a, b)
    try network.connect(other, c)
    network.run(.seconds(20))
    #expect([a.connected, b.connected, c.connected, other.connected] == ["B", "A", "A2", "C"])
    network.clear()
    try a.say("to b")
    try other.say("to c")
    network.run()
    #expect(b.take() == ["B < A: to b"])
    #expect(c.take() == ["C < A2: to c"])
    a.leave()
    network.run(.seconds(1))
    #expect([a.connected, b.connected, c.connected, other.connected] == ["", "", "A2", "C"])
  }

  @Test("P-SES-5 Two peers are connected in two sessions at once, each on its own")
  func samePairTwice() throws {
    let a = try network.testPeer("a")
    let b = try network.testPeer("b")
    let a2 = try network.testPeer("A2", of: a.peer, on: a.host)
    let b2 = try network.testPeer("B2", of: b.peer, on: b.host)
    try network.connect(a, b)
    try a2.invite(b)
    network.run()
    try b.engine.accept(try #require(b.lastInvitation), with: b2.endpoint, at: network.now)
    network.run(.seconds(20))
    #expect([a.connected, b.connected, a2.connected, b2.connected] == ["B", "A", "B2", "A2"])
    network.clear()
    try a.say("one")
    try a2.say("two")
    network.run()
    #expect(b.take() == ["B < A: one", "B2 < A2: two"])
    b2.leave()
    network.run(.seconds(1))
    #expect([a.connected, b.connected, a2.connected, b2.connected] == ["B", "A", "", ""])
  }

  @Test("Groups merge where one host has an endpoint in each")
  func mergeOnOneHost() throws {
    let a = try network.testPeer("a")
    let b = try network.testPeer("b", on: a.host)
    let c = try network.testPeer("c")
    let d = try network.testPeer("d")
    let e = try network.testPeer("e", on: d.host)
    try network.connect(a, c)
    try network.connect(b, d)
    try network.connect(d, e)
    #expect(a.connected == "C")
    #expect(b.connected == "D E")
    try network.connect(c, e)
    network.run(.seconds(1))
    network.expectAllConnected([a, b, c, d, e])
    network.clear()
    try a.say("hello")
    try e.say("hello")
    network.run(.seconds(1))
    #expect([a, b, c, d, e].map { $0.heard.sorted() } == [["E"], ["A", "E"], ["A", "E"], ["A", "E"], ["A"]])
  }

  @Test("Groups that merge agree on an endpoint that left one of them as soon as it had come, and is in the other")
  func mergeOverIncarnations() throws {
    let (a, b, c) = (try network.testPeer("a"), try network.testPeer("b"), try network.testPeer("c"))
    let (d, e) = (try network.testPeer("d", on: a.host), try network.testPeer("e", on: b.host))
    try network.connect(a, b)
    try network.connect(b, c)
    network.latency = .milliseconds(20)
    try c.invite(d)
    network.run(.milliseconds(100))
    try d.accept()
    // Its introduction reaches all members before the news that it has left, which only C's host has.
    network.run(.milliseconds(10))
    d.leave()
    network.run(.seconds(1))
    try network.connect(e, d)
    try network.connect(a, d)
    network.run(.seconds(60))
    network.expectAllConnected([a, b, c, d, e])
  }

  @Test("A message in the midst of a merge of groups comes once, to those who were connected")
  func mergeWithTraffic() throws {
    network.latency = .milliseconds(5)
    let a = try network.testPeer("a")
    let b = try network.testPeer("b", on: a.host)
    let c = try network.testPeer("c")
    let d = try network.testPeer("d", on: c.host)
    try network.connect(a, c)
    try network.connect(b, d)
    try a.invite(d)
    network.run(.milliseconds(20))
    try d.accept()
    for _ in 0..<20 {
      for peer in [a, b, c, d] { try peer.say("x") }
      network.run(.milliseconds(1))
    }
    network.run(.seconds(1))
    network.expectAllConnected([a, b, c, d])
    #expect(c.heard.filter { $0 == "A" }.count == 20)
    #expect(a.heard.filter { $0 == "C" }.count == 20)
    #expect(d.heard.filter { $0 == "B" }.count == 20)
    #expect(b.heard.filter { $0 == "D" }.count == 20)
  }

  @Test("Messages of who is announced to a member that has just left reach all with whom it is connected")
  func announceToTheGone() throws {
    let (near, far) = (try network.host("near"), try network.host("far"))
    let near3 = try ["a", "b", "c"].map { try network.testPeer($0, on: near) }
    let far2 = try ["d", "e"].map { try network.testPeer($0, on: far) }
    try network.connect(near3[0], far2[0])
    try network.connect(near3[1], far2[0])
    try network.connect(near3[2], far2[1])
    network.latency = .milliseconds(20)
    // Both hosts have both groups become one, and A, to whom D and E are announced anew, leaves before that arrives.
    try near3[1].invite(near3[2])
    try far2[0].invite(far2[1])
    network.run()
    near3[0].leave()
    try near3[2].accept()
    try far2[1].accept()
    network.clear()
    var sent: [String: Int] = [:]
    for _ in 0..<200 {
      let connected = far2[1].connected.split(separator: " ").map(String.init)
      for name in connected { sent[name, default: 0] += 1 }
      if !connected.isEmpty { try far2[1].say("x") }
      network.run(.milliseconds(1))
    }
    network.run(.seconds(1))
    network.expectAllConnected([near3[1], near3[2]] + far2)
    for peer in [near3[1], near3[2], far2[0]] {
      #expect(peer.heard.filter { $0 == "E" }.count == sent[peer.name, default: 0], "\(peer.name)")
    }
  }

  @Test("Peers of one host find, invite and message each other as others do")
  func localPeers() throws {
    let a = try network.testPeer("a")
    let b = try network.testPeer("b", on: a.host)
    network.clear()
    try network.connect(a, b)
    #expect(
      a.take().sorted() == [
        "A: B connected", "A: B connecting", "B: A connected", "B: A connecting", "b invited by a: ",
        "invitation ended: none", "invitation ended: none",
      ])
    try a.say("hello", receipt: true)
    try b.say("dear")
    network.run(.seconds(1))
    #expect(a.take().sorted() == ["A < B: dear", "B < A: hello", "delivered to B"])
    b.leave()
    network.run()
    #expect(a.take().sorted() == ["A: B notConnected left", "B: A notConnected left"])
  }

  @Test("Several peers on each of three hosts are one session, and a message to all reaches each once")
  func manyOnHosts() throws {
    var peers: [TestPeer] = []
    for name in ["a", "b", "c"] {
      let first = try network.testPeer("\(name)1")
      peers += [
        first, try network.testPeer("\(name)2", on: first.host), try network.testPeer("\(name)3", on: first.host),
      ]
    }
    for peer in peers.dropFirst() { try network.connect(peers[0], peer) }
    network.run(.seconds(1))
    network.expectAllConnected(peers)
    try peers[4].say("hello")
    network.run()
    for peer in peers { #expect(peer.heard == (peer === peers[4] ? [] : ["B2"]), "of \(peer.name)") }
  }

  @Test("A pair without a path is connecting, then unreachable, and connects when there is one")
  func unreachablePair() throws {
    network.walls.insert(["b", "c"])
    let a = try network.testPeer("a")
    let b = try network.testPeer("b")
    let c = try network.testPeer("c")
    try network.connect(a, b)
    try network.connect(a, c)
    network.run(.seconds(40))
    #expect(a.connected == "B C")
    #expect(b.take().filter { $0.contains("C") }.suffix(2) == ["B: C connecting", "B: C notConnected unreachable"])
    #expect(c.take().filter { $0.contains("B") }.suffix(2) == ["C: B connecting", "C: B notConnected unreachable"])
    network.heal(b.host, c.host)
    network.run(.seconds(10))
    network.expectAllConnected([a, b, c])
    #expect(b.take().filter { $0.contains("C") } == ["B: C connecting", "B: C connected"])
  }

  @Test("An introduction comes to who joins in the same moment by another member")
  func joinTogether() throws {
    network.latency = .milliseconds(7)
    let peers = try network.gather("a", "b", "c")
    let d = try network.testPeer("d")
    let e = try network.testPeer("e")
    try peers[0].invite(d)
    try peers[1].invite(e)
    network.run(.milliseconds(30))
    try d.accept()
    try e.accept()
    network.run(.seconds(10))
    network.expectAllConnected(peers + [d, e])
  }

  @Test("Each of a crowd that came from another session of its host can leave, and the last ones can talk")
  func mergedCrowd() throws {
    let first = try network.silentPeer("p0")
    var crowds: [[TestPeer]] = []
    for (name, count) in [("p", 18), ("q", 20)] {
      let rest = try (1..<count).map { try network.silentPeer("\(name)\($0)", on: first.host) }
      crowds.append(try [name == "p" ? first : network.silentPeer("q0", on: first.host)] + rest)
    }
    for crowd in crowds {
      for guest in crowd { try guest.advertise() }
      for guest in crowd.dropFirst() { try network.connect(crowd[0], guest) }
      network.expectAllConnected(crowd)
    }
    try network.connect(crowds[1][0], crowds[0][0])
    network.run(.seconds(1))
    network.expectAllConnected(crowds[0] + crowds[1])
    for peer in crowds[0].dropFirst(2).reversed() {
      peer.leave()
      network.run(.milliseconds(10))
    }
    network.clear()
    try crowds[0][0].say("left")
    network.run()
    for peer in crowds[1] + [crowds[0][1]] { #expect(peer.heard == ["P0"]) }
  }

  @Test("Sessions that come and go between two hosts use the same strands and slots again")
  func reuse() throws {
    let peers = try network.gather("a", "b")
    for number in 0..<40 {
      let guest = try network.testPeer("g\(number)", on: peers[1].host)
      try network.connect(peers[0], guest)
      network.run(.seconds(1))
      network.expectAllConnected(peers + [guest])
      guest.engine.removePeer(guest.peer, at: network.now)
      network.run(.seconds(1))
    }
    for _ in 0..<40 {
      peers[1].leave()
      network.run(.seconds(1))
      try network.connect(peers[0], peers[1])
      network.run(.seconds(1))
    }
    network.expectAllConnected(peers)
    for peer in peers {
      for host in peer.engine.hosts.values { #expect(try #require(host.bond).lastStrand <= 4) }
      for group in peer.engine.groups.values { #expect(group.locals.count <= 3) }
    }
  }
}
