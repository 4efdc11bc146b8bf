internal import Reactor
internal import Testing
internal import Wire

@testable internal import Engine
@testable internal import Gateway
@testable internal import Nearby

/// Events of sessions that wait for the next turn of the loop.
struct SessionEventQueueTests {
  private static let here = EndpointID(ID128(high: 1, low: 0))
  private static let there = EndpointID(ID128(high: 1, low: 1))

  /// So many members, as a newcomer finds them.
  private static func members(_ numbers: Range<UInt64>) throws -> [Member] {
    try numbers.map { number in
      let id = ID128(high: 0, low: number)
      return Member(
        MemberView(
          endpoint: EndpointID(id), peer: PeerID(id), host: HostID(id), name: try DisplayName("Member"),
          awaySince: nil, encryption: .optional, inviter: nil, chain: []),
        awaySince: nil, medium: nil)
    }
  }

  private final class Lists {
    /// The members that are listed together, by their number, and their state.
    var listed: [String] = []
  }

  /// The events that are listed, in their order, where no awaited members are due by themselves.
  private func listed(_ enqueue: @escaping (SessionEventQueue) -> Void) throws -> [String] {
    let (reactor, lists) = (try Reactor(), Lists())
    let queue = SessionEventQueue(on: reactor) { listing, state in
      lists.listed.append("\(listing.members.count) \(state.word)")
    } handle: { event in
      if case .closed = event.kind { reactor.stop() }
    }
    queue.awaitedTime = 600_000_000_000
    reactor.soon {
      enqueue(queue)
      queue.enqueue(.closed, in: [Self.here])
    }
    withExtendedLifetime(queue) { reactor.run() }
    return lists.listed
  }

  @Test func `members that connect at once are listed as connected alone`() throws {
    let many = try Self.members(0..<20)
    #expect(
      try listed { queue in
        queue.enqueue(many, .connecting, in: [Self.here])
        queue.enqueue(many, .connected, in: [Self.here])
      } == ["20 connected"])
  }

  @Test func `members of whom some connect are listed once one of the others is lost`() throws {
    let many = try Self.members(0..<20)
    #expect(
      try listed { queue in
        queue.enqueue(many, .connecting, in: [Self.here])
        queue.enqueue(Array(many[3..<5]), .connected, in: [Self.here])
        queue.enqueue([many[9]], .notConnected(.lost), in: [Self.here])
      } == ["2 connected", "18 connecting", "1 notConnected"])
  }

  @Test func `members that are awaited in several sessions are listed before some of them connect with one`() throws {
    let many = try Self.members(0..<20)
    #expect(
      try listed { queue in
        queue.enqueue(many, .connecting, in: [Self.here, Self.there])
        queue.enqueue(Array(many[3..<5]), .connected, in: [Self.here])
      } == ["20 connecting", "2 connected"])
  }

  @Test func `members of others, and in other sessions, leave those that are awaited alone`() throws {
    let (many, others) = (try Self.members(0..<20), try Self.members(20..<22))
    #expect(
      try listed { queue in
        queue.enqueue(many, .connecting, in: [Self.here])
        queue.enqueue(others, .connected, in: [Self.here])
        queue.enqueue(Array(many[3..<5]), .connected, in: [Self.there])
      } == ["2 connected", "2 connected"])
  }
}
