internal import Notation
internal import Reactor

/// The memory for large responses: of each client, and of all clients together.
///
/// Invariants, for responses of more than `smallBytesMax`:
/// - Bytes are reserved before they are read or made, and until they are written to the connection or dropped.
/// - A client has one large response at a time. Its others wait in their order, and those of other clients continue.
/// - Responses wait as well where those of all clients would take more than `bytesMax`; the waiting clients have their
///   turns round robin.
/// - A request that has waited for `waitTime` is refused with 429, or 503 where other clients were the reason.
final class ResponseBudget {
  static let smallBytesMax = 256 << 10
  static let bytesMax = 96 << 20
  static let waitTime: Duration = .seconds(30)
  /// Limit for the waiting requests of one client: each is small.
  static let waitingMax = 1_024

  typealias Completion = (Result<ResponseReservation, Problem>) -> Void

  private final class Waiter {
    let bytes: Int
    let completion: Completion
    var timer: Timer?

    init(_ bytes: Int, _ completion: @escaping Completion) {
      self.bytes = bytes
      self.completion = completion
    }
  }

  private struct Account {
    var bytes = 0
    /// Whether a response is under way.
    var isTaken = false
    var waiting: ArraySlice<Waiter> = []
    var refusals = 0
  }

  private let reactor: Reactor
  private let waitTime: Duration
  private var accounts: [ClientID: Account] = [:]
  /// The waiting clients, the next one first.
  private var turns: ArraySlice<ClientID> = []
  private var isGranting = false
  private(set) var bytes = 0
  private(set) var refusals = 0

  init(on reactor: Reactor, waiting time: Duration = ResponseBudget.waitTime) {
    self.reactor = reactor
    waitTime = time
  }

  deinit {
    for account in accounts.values {
      for waiter in account.waiting { if let timer = waiter.timer { reactor.cancel(timer) } }
    }
  }

  var waitingCount: Int { accounts.values.reduce(0) { $0 + $1.waiting.count } }

  /// Calls `completion` once, now or later; the memory stays reserved until the reservation is released.
  func reserve(_ bytes: Int, for client: ClientID, _ completion: @escaping Completion) {
    let account = accounts[client] ?? Account()
    if !account.isTaken, account.waiting.isEmpty, hasRoom(for: bytes) {
      return completion(.success(take(bytes, client)))
    }
    if account.waiting.count >= Self.waitingMax { return completion(.failure(refusal(of: client))) }
    let waiter = Waiter(bytes, completion)
    waiter.timer = reactor.schedule(after: waitTime) { [weak self, weak waiter] in
      if let self, let waiter { timeOut(waiter, of: client) }
    }
    if account.waiting.isEmpty { turns.append(client) }
    accounts[client, default: Account()].waiting.append(waiter)
  }

  /// Whether a large response of the client is under way.
  func isTaken(by client: ClientID) -> Bool { accounts[client]?.isTaken ?? false }

  /// Its state as REST shows it to the client and to operators.
  func json(of client: ClientID) -> JSON {
    let account = accounts[client] ?? Account()
    return [
      "bytes": .number(account.bytes), "bytesMax": .number(Self.bytesMax), "waiting": .number(account.waiting.count),
      "waitingMax": .number(Self.waitingMax), "refused": .number(account.refusals),
    ]
  }

  /// Forgets a client that is gone, and its count of refusals.
  func forget(_ client: ClientID) {
    accounts[client]?.refusals = 0
    drop(client)
  }

  private func hasRoom(for bytes: Int) -> Bool { self.bytes == 0 || self.bytes + bytes <= Self.bytesMax }

  private func take(_ bytes: Int, _ client: ClientID) -> ResponseReservation {
    accounts[client, default: Account()].isTaken = true
    accounts[client]?.bytes = bytes
    self.bytes += bytes
    return ResponseReservation(bytes, of: client, in: self)
  }

  fileprivate func resize(by bytes: Int, _ client: ClientID) {
    accounts[client]?.bytes += bytes
    self.bytes += bytes
    if bytes < 0 { grantSoon() }
  }

  fileprivate func release(_ bytes: Int, _ client: ClientID) {
    accounts[client]?.isTaken = false
    accounts[client]?.bytes -= bytes
    self.bytes -= bytes
    drop(client)
    grantSoon()
  }

  /// Removes the account of a client that has nothing here.
  private func drop(_ client: ClientID) {
    if let account = accounts[client], !account.isTaken, account.waiting.isEmpty, account.refusals == 0 {
      accounts[client] = nil
    }
  }

  /// Grants later, and not within the release: the waiting requests then do their work.
  private func grantSoon() {
    if turns.isEmpty || isGranting { return }
    isGranting = true
    reactor.soon { [weak self] in
      self?.isGranting = false
      self?.grant()
    }
  }

  private func grant() {
    for client in Array(turns) {
      guard let account = accounts[client], !account.isTaken, let next = account.waiting.first else { continue }
      // First come, first served: otherwise small answers would starve a large one.
      guard hasRoom(for: next.bytes) else { return }
      remove(next, of: client)
      // Round robin: the client moves behind the others.
      if let place = turns.firstIndex(of: client) {
        turns.remove(at: place)
        turns.append(client)
      }
      next.completion(.success(take(next.bytes, client)))
    }
  }

  private func timeOut(_ waiter: Waiter, of client: ClientID) {
    let refusal = refusal(of: client)
    remove(waiter, of: client)
    waiter.completion(.failure(refusal))
  }

  private func remove(_ waiter: Waiter, of client: ClientID) {
    if let timer = waiter.timer.take() { reactor.cancel(timer) }
    guard let place = accounts[client]?.waiting.firstIndex(where: { $0 === waiter }) else { return }
    accounts[client]?.waiting.remove(at: place)
    if accounts[client]?.waiting.isEmpty == true { turns.removeAll { $0 == client } }
  }

  private func refusal(of client: ClientID) -> Problem {
    accounts[client, default: Account()].refusals += 1
    refusals += 1
    guard accounts[client]?.isTaken == true else {
      var problem = Problem(
        .unavailable, "large responses of other clients wait to be read: retry in a moment, or request less",
        rule: "largeAnswersBytes", limit: Self.bytesMax)
      problem.retryAfter = 1
      return problem
    }
    return .rateLimited(
      "another large response for this client waits to be read, and a client has one at a time: read it, or request less",
      after: 1, rule: "largeAnswers", limit: 1)
  }
}

/// Memory that is reserved for a response, until this object is released.
final class ResponseReservation: @unchecked Sendable {
  // `@unchecked`: it is made, changed and released on the loop of its budget alone, as tasks of a core are.

  private weak var budget: ResponseBudget?
  private let client: ClientID
  private var bytes: Int

  fileprivate init(_ bytes: Int, of client: ClientID, in budget: ResponseBudget) {
    self.bytes = bytes
    self.client = client
    self.budget = budget
  }

  /// Corrects the reservation to the real size.
  func resize(to bytes: Int) {
    budget?.resize(by: bytes - self.bytes, client)
    self.bytes = bytes
  }

  deinit {
    budget?.release(bytes, client)
  }
}
