import Testing
import Wire

@testable import Engine
@testable internal import Nearby

@Suite("Members that several sessions see")
struct MemberTableTests {
  private let table = MemberTable()

  private func member(_ number: UInt64, _ name: String = "A") throws -> Member {
    let id = ID128(high: 0, low: number)
    return Member(
      MemberView(
        endpoint: EndpointID(id), peer: PeerID(id), host: HostID(id), name: try DisplayName(name), awaySince: nil,
        encryption: .optional, inviter: nil, chain: []),
      awaySince: nil)
  }

  @Test("A member is kept once, in its latest form, until the last session has lost it, and is known for a while then")
  func shared() throws {
    var (one, other) = (SlotSet(), SlotSet())
    let before = try member(1, "Before")
    table.add(before, to: &one)
    table.add(try member(2), to: &one)
    table.add(try member(1, "After"), to: &other)
    table.add(try member(1, "After"), to: &other)
    #expect(one.count == 2 && other.slots == [0])
    #expect(table.member(before.id, in: one)?.name == "After" && table.members(other).map(\.name) == ["After"])
    table.remove(before.id, from: &one)
    #expect(table.member(before.id, in: one) == nil && table.member(before.id, in: other) != nil)
    table.remove(before.id, from: &one)
    table.removeAll(from: &other)
    #expect(table.number(of: before.id) == nil && table.known([before.id]).map(\.name) == ["After"])
    // Its number is free for another.
    table.add(try member(3), to: &other)
    #expect(other.slots == [0] && one.slots == [1])
  }
}
