internal import Engine
internal import Synchronization
internal import Wire

/// The members that sessions of this host see: each once, however many sessions see it, and under a small number, so
/// that a session has sets of numbers.
final class MemberTable: Sendable {
  private struct Entry {
    var member: Member
    /// How many sessions see it.
    var sessionCount = 1
  }

  private struct State {
    var entries: [Entry?] = []
    var numbers: [EndpointID: Int] = [:]
    var freeNumbers: [Int] = []
    /// Some former members, for later reports about them.
    var former: [EndpointID: Member] = [:]

    mutating func release(_ number: Int) {
      guard let entry = entries[number] else { return }
      guard entry.sessionCount == 1 else {
        entries[number]?.sessionCount -= 1
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

  /// Adds a member to those that one session sees, or updates it for all of them.
  func add(_ member: Member, to numbers: inout SlotSet) {
    let known = numbers
    let number = state.withLock { state in
      guard let number = state.numbers[member.id] else {
        let number = state.freeNumbers.popLast() ?? state.entries.count
        if number == state.entries.count { state.entries.append(nil) }
        state.entries[number] = Entry(member: member)
        state.numbers[member.id] = number
        return number
      }
      state.entries[number]?.member = member
      if !known.contains(number) { state.entries[number]?.sessionCount += 1 }
      return number
    }
    numbers.insert(number)
  }

  func remove(_ id: EndpointID, from numbers: inout SlotSet) {
    guard let number = number(of: id), numbers.contains(number) else { return }
    numbers.remove(number)
    state.withLock { $0.release(number) }
  }

  /// Removes all whom a session sees.
  func removeAll(from numbers: inout SlotSet) {
    let gone = numbers
    state.withLock { state in gone.forEach { state.release($0) } }
    numbers = SlotSet()
  }

  /// It is away, or present again.
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
