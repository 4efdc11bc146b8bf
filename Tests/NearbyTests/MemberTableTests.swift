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
      awaySince: nil, medium: nil)
  }

  @Test("A member is kept once, in its latest form, until the last session has lost it, and is known for a while then")
  func shared() throws {
    var (one, other) = (SlotSet(), SlotSet())
    func insert(_ number: Int, _ numbers: inout SlotSet) -> Int {
      defer { numbers.insert(number) }
      return numbers.contains(number) ? 0 : 1
    }
    let before = try member(1, "Before")
    table.add([before]) { insert($0, &one) }
    table.add([try member(2)]) { insert($0, &one) }
    // Both at once, of which one has it already.
    let numbers = table.add([try member(1, "After")]) { insert($0, &one) + insert($0, &other) }
    let number = try #require(numbers.only)
    #expect(one.count == 2 && other.slots == [0] && number == 0)
    #expect(table.member(before.id, in: one)?.name == "After" && table.members(other).map(\.name) == ["After"])
    one.remove(number)
    table.release(number, times: 1)
    #expect(table.member(before.id, in: one) == nil && table.member(before.id, in: other) != nil)
    table.release(number, times: 0)
    #expect(table.number(of: before.id) == number)
    table.removeAll(from: &other)
    #expect(table.number(of: before.id) == nil && table.known([before.id]).map(\.name) == ["After"])
    // Its number is free for another.
    table.add([try member(3)]) { insert($0, &other) }
    #expect(other.slots == [0] && one.slots == [1])
  }
}
