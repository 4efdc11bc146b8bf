internal import Notation
internal import Reactor
internal import Testing

@testable internal import Gateway

@Suite("Memory for large answers")
struct ResponseBudgetTests {
  private let anna = ClientID(text: "anna")
  private let bert = ClientID(text: "bert")

  /// The completions, in order.
  private final class Completions {
    var granted: [(name: String, reservation: ResponseReservation)] = []
    var refused: [(name: String, problem: Problem)] = []
    var names: [String] { granted.map(\.name) }

    func tell(_ name: String) -> ResponseBudget.Completion {
      { [unowned self] reserved in
        switch reserved {
        case .success(let reservation): granted.append((name, reservation))
        case .failure(let problem): refused.append((name, problem))
        }
      }
    }
  }

  /// The loop, until it has done what is due by then.
  private func turn(_ reactor: Reactor, after time: Duration = .zero) {
    _ = reactor.schedule(after: time) { reactor.soon { reactor.stop() } }
    reactor.run()
  }

  @Test("A client has one large answer at a time, and others have theirs meanwhile")
  func turns() throws {
    let reactor = try Reactor()
    let (budget, told) = (ResponseBudget(on: reactor), Completions())
    for name in ["a1", "a2", "a3"] { budget.reserve(16 << 20, for: anna, told.tell(name)) }
    budget.reserve(16 << 20, for: bert, told.tell("b1"))
    #expect(told.names == ["a1", "b1"] && budget.bytes == 32 << 20 && budget.waitingCount == 2)
    #expect(budget.json(of: anna)["bytes"] == 16_777_216 && budget.json(of: anna)["waiting"] == 2)
    told.granted[0].reservation.resize(to: 1 << 20)
    #expect(budget.bytes == 17 << 20)
    told.granted.removeFirst()
    // Not from within what let go of it.
    #expect(told.names == ["b1"] && budget.bytes == 16 << 20)
    turn(reactor)
    #expect(told.names == ["b1", "a2"] && budget.waitingCount == 1)
    told.granted = []
    #expect(budget.bytes == 0)
  }

  @Test("A response waits while clients use the whole budget, and is refused with the reason")
  func full() throws {
    let reactor = try Reactor()
    let (budget, told) = (ResponseBudget(on: reactor, waiting: .milliseconds(20)), Completions())
    for number in 0..<6 { budget.reserve(16 << 20, for: ClientID(text: "\(number)"), told.tell("\(number)")) }
    budget.reserve(1 << 20, for: anna, told.tell("anna"))
    budget.reserve(1 << 20, for: ClientID(text: "0"), told.tell("again"))
    #expect(told.names == ["0", "1", "2", "3", "4", "5"] && budget.bytes == ResponseBudget.bytesMax)
    turn(reactor, after: .milliseconds(40))
    #expect(told.refused.map(\.name) == ["anna", "again"])
    #expect(told.refused.map(\.problem.status) == [503, 429] && told.refused.allSatisfy { $0.problem.retryAfter == 1 })
    #expect(budget.waitingCount == 0 && budget.refusals == 2 && budget.json(of: anna)["refused"] == 1)
    budget.forget(anna)
    #expect(budget.json(of: anna)["refused"] == 0)
    told.granted = []
  }

  @Test("So many requests of a client wait, and more are refused at once")
  func waiting() throws {
    let reactor = try Reactor()
    let (budget, told) = (ResponseBudget(on: reactor), Completions())
    for _ in 0...ResponseBudget.waitingMax { budget.reserve(1 << 20, for: anna, told.tell("one")) }
    #expect(told.refused.isEmpty && budget.waitingCount == ResponseBudget.waitingMax)
    budget.reserve(1 << 20, for: anna, told.tell("another"))
    #expect(told.refused.map(\.problem.status) == [429])
    budget.reserve(1 << 20, for: bert, told.tell("bert"))
    #expect(told.names == ["one", "bert"])
    told.granted = []
  }
}
