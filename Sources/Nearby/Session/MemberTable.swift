internal import Engine
internal import Synchronization
internal import Wire

/// The members that sessions of this host see: each once, however many sessions see it, and under a small number, so
/// that a session has sets of numbers.
final class MemberTable: Sendable {
  private struct Entry {
    var member: Member
    /// How many sessions see it.
    var sessionCount: Int
  }

  private struct State {
    var entries: [Entry?] = []
    var numbers: [EndpointID: Int] = [:]
    var freeNumbers: [Int] = []
    /// Some former members, for later reports about them.
    var former: [EndpointID: Member] = [:]

    mutating func number(of member: Member) -> Int {
      if let number = numbers[member.id] { return number }
      let number = freeNumbers.popLast() ?? entries.count
      if number == entries.count { entries.append(nil) }
      numbers[member.id] = number
      return number
    }

    mutating func release(_ number: Int, times count: Int) {
      guard count > 0, let entry = entries[number] else { return }
      guard entry.sessionCount == count else {
        entries[number]?.sessionCount -= count
        return
      }
      entries[number] = nil
      numbers[entry.member.id] = nil
      freeNumbers.append(number)
      if former.count == MemberTable.formerMax { former = [:] }
      former[entry.member.id] = entry.member
    }
  }

  private let state = Mutex(State())
  private static let formerMax = 4_096

  /// Adds members, or updates them for all sessions that see them. `see` marks a number in the sets of sessions, and
  /// returns how many of them did not have it before; at least one session has it then.
  @discardableResult
  func add(_ members: [Member], _ see: (_ number: Int) -> Int) -> SlotSet {
    state.withLock { state in
      var numbers = SlotSet()
      for member in members {
        let number = state.number(of: member)
        let count = (state.entries[number]?.sessionCount ?? 0) + see(number)
        state.entries[number] = Entry(member: member, sessionCount: count)
        numbers.insert(number)
      }
      return numbers
    }
  }

  /// So many sessions no longer see it.
  func release(_ number: Int, times count: Int) { state.withLock { $0.release(number, times: count) } }

  /// Removes all whom a session sees.
  func removeAll(from numbers: inout SlotSet) {
    let gone = numbers
    state.withLock { state in gone.forEach { state.release($0, times: 1) } }
    numbers = SlotSet()
  }

  /// It is away or present again, is reached by another medium, or has shown its certificates.
  func update(_ member: Member) {
    state.withLock { state in
      if let number = state.numbers[member.id] { state.entries[number]?.member = member }
    }
  }

  func number(of id: EndpointID) -> Int? { state.withLock { $0.numbers[id] } }

  func contains(_ id: EndpointID, in numbers: SlotSet) -> Bool { number(of: id).map(numbers.contains) ?? false }

  func member(_ id: EndpointID, in numbers: SlotSet) -> Member? {
    state.withLock { state in
      guard let number = state.numbers[id], numbers.contains(number) else { return nil }
      return state.entries[number]?.member
    }
  }

  func members(_ numbers: SlotSet) -> [Member] {
    state.withLock { state in numbers.slots.compactMap { state.entries[$0]?.member } }
  }

  /// Those of the members, present or former, that are still known.
  func known(_ ids: [EndpointID]) -> [Member] {
    state.withLock { state in
      ids.compactMap { id in state.numbers[id].flatMap { state.entries[$0]?.member } ?? state.former[id] }
    }
  }
}
