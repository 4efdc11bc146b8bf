import Testing
import Wire

@testable import Engine

@Suite struct InvitationTests {
  let stage = Stage()
  let type: ServiceType

  init() throws { type = try ServiceType("chat") }

  /// Two hosts that see each other: `b` advertises, `a` browses; each has a session.
  func pair(_ settings: SessionSettings = SessionSettings()) throws -> (Stage.Host, EndpointID, Stage.Host, EndpointID) {
    let a = try stage.host("a")
    let b = try stage.host("b")
    let atA = try a.engine.openSession(a.peer, settings, at: stage.now)
    let atB = try b.engine.openSession(b.peer, settings, at: stage.now)
    stage.call(atA, "A")
    stage.call(atB, "B")
    try a.engine.startBrowsing(a.peer, type, at: stage.now)
    try b.engine.startAdvertising(b.peer, type, info: .empty, at: stage.now)
    stage.run()
    return (a, atA, b, atB)
  }

  @Test("P-ADV-4 An invitation carries its context and is accepted")
  func accepted() throws {
    let (a, atA, b, atB) = try pair()
    #expect(a.take() == ["found b as chat"])
    _ = try a.engine.invite(b.peer, as: type, to: atA, context: Array("hi".utf8), timeout: .zero, at: stage.now)
    stage.run()
    #expect(b.take() == ["invited by a with hi"])
    try b.engine.accept(try #require(b.lastInvitation), with: atB, at: stage.now)
    stage.run()
    #expect(a.take() == ["invitation ended: none", "A: b connecting", "A: b connected"])
    #expect(b.take() == ["invitation ended: none", "B: a connecting", "B: a connected"])
    try a.engine.say("hello", from: atA, receipt: true, at: stage.now)
    stage.run(.milliseconds(100))
    #expect(b.take() == ["B < A hello"])
    #expect(a.take() == ["delivered to B"])
  }
}
