import Testing
import Wire

@testable import Engine

@Suite struct GroupTests {
  let stage = Stage()

  @Test("P-SES-2 Whoever any member invites is connected with every member")
  func chain() throws {
    let seats = try ["a", "b", "c", "d", "e"].map { try stage.seat($0) }
    for (inviter, invitee) in zip(seats, seats.dropFirst()) { try stage.connect(inviter, invitee) }
    stage.run(.seconds(1))
    stage.expectAllConnected(seats)
  }

  @Test("P-SES-2 A newcomer is told of each member once, and each member of the newcomer")
  func toldOnce() throws {
    let seats = try stage.gather("a", "b", "c")
    let d = try stage.seat("d")
    try stage.connect(seats[1], d)
    stage.run(.seconds(10))
    for seat in seats {
      #expect(
        seat.take().filter { $0.contains("D") } == [
          "\(seat.name.uppercased()): D connecting", "\(seat.name.uppercased()): D connected",
        ])
    }
    let told = d.take()
    for name in ["A", "B", "C"] {
      #expect(told.filter { $0.contains(name) } == ["D: \(name) connecting", "D: \(name) connected"])
    }
  }

  @Test("Two sessions of two become one session of four: all six pairs")
  func twoAndTwo() throws {
    let seats = try ["a", "b", "c", "d"].map { try stage.seat($0) }
    try stage.connect(seats[0], seats[1])
    try stage.connect(seats[2], seats[3])
    try stage.connect(seats[1], seats[2])
    stage.run(.seconds(1))
    stage.expectAllConnected(seats)
    stage.clear()
    for seat in seats { try seat.say("from \(seat.name)") }
    stage.run(.seconds(1))
    for seat in seats { #expect(seat.take().count == 3) }
  }

  @Test("A late datagram to all is not for those who joined after it was said")
  func lateDatagram() throws {
    let (near, far) = (try stage.host("near"), try stage.host("far"))
    let a = try stage.seat("a", on: near)
    let b = try stage.seat("b", on: far)
    try stage.connect(a, b)
    let others = try (0..<9).map { try stage.seat("c\($0)", on: far) }
    for other in others.dropFirst() { try stage.connect(others[0], other) }
    stage.clear()
    // In pieces: their verdicts on A come before they are known there.
    stage.latency = .milliseconds(20)
    stage.windowBytes = 500
    try others[0].invite(b)
    stage.run()
    try b.accept()
    stage.run(.milliseconds(30))
    #expect(a.connected == "B")
    stage.holdsDatagrams = true
    try a.say("late", .unreliable)
    stage.run(.seconds(5))
    stage.expectAllConnected([a, b] + others)
    stage.clear()
    stage.letDatagramsGo()
    stage.run()
    #expect(b.take() == ["B < A: ~late"])
  }

  @Test("A late datagram to all is not for those whose session became one with its sender's after it was said")
  func lateDatagramFromBefore() throws {
    let (near, far) = (try stage.host("near"), try stage.host("far"))
    let (a, b) = (try stage.seat("a", on: near), try stage.seat("b", on: near))
    let c = try stage.seat("c", on: far)
    let others = try (0..<9).map { try stage.seat("d\($0)", on: far) }
    try stage.connect(a, c)
    try stage.connect(b, others[0])
    for other in others.dropFirst() { try stage.connect(others[0], other) }
    stage.clear()
    // In pieces: their verdicts on A come before it is known there that the groups were merged.
    stage.latency = .milliseconds(20)
    stage.windowBytes = 500
    try c.invite(others[0])
    stage.run()
    try others[0].accept()
    stage.run(.milliseconds(10))
    #expect(a.connected == "C")
    stage.holdsDatagrams = true
    try a.say("late", .unreliable)
    stage.run(.seconds(5))
    stage.expectAllConnected([a, b, c] + others)
    stage.clear()
    stage.letDatagramsGo()
    stage.run()
    #expect(c.take() == ["C < A: ~late"])
  }

  @Test(
    "A late datagram to all is not for those who were announced in vain before it was said", arguments: [true, false])
  func lateDatagramAfterAnnouncement(isAlone: Bool) throws {
    let (a, b, c) = (try stage.seat("a"), try stage.seat("b"), try stage.seat("c"))
    let d = try stage.seat("d", on: c.host)
    // Nobody introduces D to A's host, where it asks in vain until rosters are compared.
    stage.walls = [["a", "c"]]
    try stage.connect(b, a)
    try stage.connect(b, c)
    try stage.connect(c, d)
    stage.latency = .milliseconds(20)
    stage.heal(a.host, c.host)
    for _ in 0..<200 where a.connected != "B C" { stage.run(.milliseconds(10)) }
    stage.run(.milliseconds(50))
    #expect(a.connected == "B C")
    stage.holdsDatagrams = true
    try a.say("late", .unreliable)
    stage.run(.seconds(5))
    stage.expectAllConnected([a, b, c, d])
    // Messages in order since then show nothing about those that had not come by then.
    if !isAlone { try a.say("in time") }
    stage.run(.seconds(1))
    stage.clear()
    stage.letDatagramsGo()
    stage.run()
    #expect(c.take() == (isAlone ? ["C < A: ~late"] : []))
  }

  @Test("Two sessions that invite each other at once become one")
  func groupsCross() throws {
    let seats = try ["a", "b", "c", "d"].map { try stage.seat($0) }
    try stage.connect(seats[0], seats[1])
    try stage.connect(seats[2], seats[3])
    try seats[1].invite(seats[2])
    try seats[2].invite(seats[1])
    try seats[0].invite(seats[3])
    try seats[3].invite(seats[0])
    stage.run(.seconds(5))
    stage.expectAllConnected(seats)
  }

  @Test("P-SES-5 A peer takes part in two sessions, which never become one because it is in both")
  func twoSessions() throws {
    let a = try stage.seat("a")
    let b = try stage.seat("b")
    let c = try stage.seat("c")
    let other = try stage.seat("A2", of: a.peer, on: a.host)
    try stage.connect(a, b)
    try stage.connect(other, c)
    stage.run(.seconds(20))
    #expect([a.connected, b.connected, c.connected, other.connected] == ["B", "A", "A2", "C"])
    stage.clear()
    try a.say("to b")
    try other.say("to c")
    stage.run()
    #expect(b.take() == ["B < A: to b"])
    #expect(c.take() == ["C < A2: to c"])
    a.leave()
    stage.run(.seconds(1))
    #expect([a.connected, b.connected, c.connected, other.connected] == ["", "", "A2", "C"])
  }

  @Test("P-SES-5 Two peers are connected in two sessions at once, each on its own")
  func samePairTwice() throws {
    let a = try stage.seat("a")
    let b = try stage.seat("b")
    let a2 = try stage.seat("A2", of: a.peer, on: a.host)
    let b2 = try stage.seat("B2", of: b.peer, on: b.host)
    try stage.connect(a, b)
    try a2.invite(b)
    stage.run()
    try b.engine.accept(try #require(b.lastInvitation), with: b2.endpoint, at: stage.now)
    stage.run(.seconds(20))
    #expect([a.connected, b.connected, a2.connected, b2.connected] == ["B", "A", "B2", "A2"])
    stage.clear()
    try a.say("one")
    try a2.say("two")
    stage.run()
    #expect(b.take() == ["B < A: one", "B2 < A2: two"])
    b2.leave()
    stage.run(.seconds(1))
    #expect([a.connected, b.connected, a2.connected, b2.connected] == ["B", "A", "", ""])
  }

  @Test("Groups merge where one host has an endpoint in each")
  func mergeOnOneHost() throws {
    let a = try stage.seat("a")
    let b = try stage.seat("b", on: a.host)
    let c = try stage.seat("c")
    let d = try stage.seat("d")
    let e = try stage.seat("e", on: d.host)
    try stage.connect(a, c)
    try stage.connect(b, d)
    try stage.connect(d, e)
    #expect(a.connected == "C")
    #expect(b.connected == "D E")
    try stage.connect(c, e)
    stage.run(.seconds(1))
    stage.expectAllConnected([a, b, c, d, e])
    stage.clear()
    try a.say("hello")
    try e.say("hello")
    stage.run(.seconds(1))
    #expect([a, b, c, d, e].map { $0.heard.sorted() } == [["E"], ["A", "E"], ["A", "E"], ["A", "E"], ["A"]])
  }

  @Test("Groups that merge agree on an endpoint that left one of them as soon as it had come, and is in the other")
  func mergeOverIncarnations() throws {
    let (a, b, c) = (try stage.seat("a"), try stage.seat("b"), try stage.seat("c"))
    let (d, e) = (try stage.seat("d", on: a.host), try stage.seat("e", on: b.host))
    try stage.connect(a, b)
    try stage.connect(b, c)
    stage.latency = .milliseconds(20)
    try c.invite(d)
    stage.run(.milliseconds(100))
    try d.accept()
    // It is introduced to all before they learn that it has left, which only C's host is told.
    stage.run(.milliseconds(10))
    d.leave()
    stage.run(.seconds(1))
    try stage.connect(e, d)
    try stage.connect(a, d)
    stage.run(.seconds(60))
    stage.expectAllConnected([a, b, c, d, e])
  }

  @Test("A message in the midst of a merge of groups comes once, to those who were connected")
  func mergeWithTraffic() throws {
    stage.latency = .milliseconds(5)
    let a = try stage.seat("a")
    let b = try stage.seat("b", on: a.host)
    let c = try stage.seat("c")
    let d = try stage.seat("d", on: c.host)
    try stage.connect(a, c)
    try stage.connect(b, d)
    try a.invite(d)
    stage.run(.milliseconds(20))
    try d.accept()
    for _ in 0..<20 {
      for seat in [a, b, c, d] { try seat.say("x") }
      stage.run(.milliseconds(1))
    }
    stage.run(.seconds(1))
    stage.expectAllConnected([a, b, c, d])
    #expect(c.heard.filter { $0 == "A" }.count == 20)
    #expect(a.heard.filter { $0 == "C" }.count == 20)
    #expect(d.heard.filter { $0 == "B" }.count == 20)
    #expect(b.heard.filter { $0 == "D" }.count == 20)
  }

  @Test("Peers of one host find, invite and message each other as others do")
  func localPeers() throws {
    let a = try stage.seat("a")
    let b = try stage.seat("b", on: a.host)
    stage.clear()
    try stage.connect(a, b)
    #expect(
      a.take().sorted() == [
        "A: B connected", "A: B connecting", "B: A connected", "B: A connecting", "b invited by a: ",
        "invitation ended: none", "invitation ended: none",
      ])
    try a.say("hello", receipt: true)
    try b.say("dear")
    stage.run(.seconds(1))
    #expect(a.take().sorted() == ["A < B: dear", "B < A: hello", "delivered to B"])
    b.leave()
    stage.run()
    #expect(a.take().sorted() == ["A: B notConnected left", "B: A notConnected left"])
  }

  @Test("Several peers on each of three hosts are one session, and a message to all reaches each once")
  func manyOnHosts() throws {
    var seats: [Seat] = []
    for name in ["a", "b", "c"] {
      let first = try stage.seat("\(name)1")
      seats += [first, try stage.seat("\(name)2", on: first.host), try stage.seat("\(name)3", on: first.host)]
    }
    for seat in seats.dropFirst() { try stage.connect(seats[0], seat) }
    stage.run(.seconds(1))
    stage.expectAllConnected(seats)
    try seats[4].say("hello")
    stage.run()
    for seat in seats { #expect(seat.heard == (seat === seats[4] ? [] : ["B2"]), "of \(seat.name)") }
  }

  @Test("A pair without a path is connecting, then unreachable, and connects when there is one")
  func unreachablePair() throws {
    stage.walls.insert(["b", "c"])
    let a = try stage.seat("a")
    let b = try stage.seat("b")
    let c = try stage.seat("c")
    try stage.connect(a, b)
    try stage.connect(a, c)
    stage.run(.seconds(40))
    #expect(a.connected == "B C")
    #expect(b.take().filter { $0.contains("C") }.suffix(2) == ["B: C connecting", "B: C notConnected unreachable"])
    #expect(c.take().filter { $0.contains("B") }.suffix(2) == ["C: B connecting", "C: B notConnected unreachable"])
    stage.heal(b.host, c.host)
    stage.run(.seconds(10))
    stage.expectAllConnected([a, b, c])
    #expect(b.take().filter { $0.contains("C") } == ["B: C connecting", "B: C connected"])
  }

  @Test("An introduction comes to who joins in the same moment by another member")
  func joinTogether() throws {
    stage.latency = .milliseconds(7)
    let seats = try stage.gather("a", "b", "c")
    let d = try stage.seat("d")
    let e = try stage.seat("e")
    try seats[0].invite(d)
    try seats[1].invite(e)
    stage.run(.milliseconds(30))
    try d.accept()
    try e.accept()
    stage.run(.seconds(10))
    stage.expectAllConnected(seats + [d, e])
  }

  @Test("Sessions that come and go between two hosts use the same strands and slots again")
  func reuse() throws {
    let seats = try stage.gather("a", "b")
    for number in 0..<40 {
      let guest = try stage.seat("g\(number)", on: seats[1].host)
      try stage.connect(seats[0], guest)
      stage.run(.seconds(1))
      stage.expectAllConnected(seats + [guest])
      guest.engine.removePeer(guest.peer, at: stage.now)
      stage.run(.seconds(1))
    }
    for _ in 0..<40 {
      seats[1].leave()
      stage.run(.seconds(1))
      try stage.connect(seats[0], seats[1])
      stage.run(.seconds(1))
    }
    stage.expectAllConnected(seats)
    for seat in seats {
      for host in seat.engine.hosts.values { #expect(try #require(host.bond).lastStrand <= 4) }
      for group in seat.engine.groups.values { #expect(group.locals.count <= 3) }
    }
  }
}
