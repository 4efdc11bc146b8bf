internal import Foundation
internal import Nearby
internal import Notation
internal import PowerCut
internal import Reactor
internal import Store
internal import Testing

@testable internal import Gateway

/// A gateway whose threads are blocked while one other thread runs their jobs and calls its clients, in an order that a seed
/// chooses. Timers and sockets wait until it is closed.
///
/// One thread uses it at a time, which is the proof of `@unchecked`.
final class SteppedGateway: @unchecked Sendable {
  struct Thread {
    let name: String
    let reactor: SteppedReactor
  }

  /// Work that did not end: the gateway never waits for a real event, so this is a deadlock or a livelock.
  struct Stuck: Error, CustomStringConvertible {
    let description: String
  }

  /// The steps of a run, in order.
  final class Trace {
    var lines: [String] = []
  }

  let gateway: TestGateway
  let anna: TwoClients.SessionClient
  let bert: TwoClients.SessionClient
  /// The gateway lets go of it on its loop.
  private weak let core: Core?
  private let loop: SteppedReactor
  private let threads: [Thread]

  private init(_ gateway: TestGateway, _ meeting: TwoClients, _ core: Core, _ threads: [Thread]) {
    (self.gateway, anna, bert) = (gateway, meeting.anna, meeting.bert)
    (self.core, self.threads) = (core, threads)
    loop = threads[0].reactor
  }

  /// Anna and Bert, who are connected in a session, and whose gateway is idle.
  static func open(_ change: (inout GatewayOptions) -> Void) async throws -> SteppedGateway {
    let gateway = try await TestGateway.open("Box") { options in
      // The scrub has a thread of its own, which is not stepped.
      options.scrubTime = .zero
      change(&options)
    }
    do {
      return try await block(gateway, try await TwoClients.near(at: gateway, ["resources": "ask"]))
    } catch {
      await gateway.close()
      throw error
    }
  }

  /// Blocks the threads of one gateway of a meeting.
  static func block(_ gateway: TestGateway, _ meeting: TwoClients) async throws -> SteppedGateway {
    let box = CoreBox()
    await gateway.running.run { box.core = $0 }
    let core = try #require(box.core)
    let (host, writer) = (gateway.running.host, try #require(await gateway.running.sessionStore).writer)
    var reactors = [("loop", host.reactor), ("disk", try await host.diskReactor)]
    reactors += zip(["store", "checkpoints"], writer.reactors)
    var threads: [Thread] = []
    for (name, reactor) in reactors { threads.append(Thread(name: name, reactor: try await .block(reactor))) }
    return SteppedGateway(gateway, meeting, core, threads)
  }

  /// The threads go on by themselves.
  func release() { for thread in threads { thread.reactor.release() } }

  func close() async {
    release()
    await gateway.close()
  }

  /// The core belongs to the loop, whose thread hands it over, which is the proof of `@unchecked`.
  private final class CoreBox: @unchecked Sendable {
    var core: Core?
  }

  // MARK: Steps

  /// More than any run needs by far.
  private static let stepsMax = 20_000

  /// Runs the body on the loop, as the handler of a descriptor.
  func onLoop<Result>(_ body: (Core) throws -> Result) rethrows -> Result {
    guard let core else { preconditionFailure("the gateway is closed") }
    return try loop.perform { try body(core) }
  }

  /// Runs jobs of the threads and steps of the clients in an order that follows from `chance`, until nothing is left to do.
  /// Some threads are slower than others. `checked` is called after each step.
  func run(
    _ clients: [any SteppedClient], _ chance: inout Chance, _ trace: Trace, checked: () -> Void = {}
  ) throws {
    let shares = threads.map { _ in [1, 2, 4, 12].randomElement(using: &chance) ?? 1 }
    for _ in 0..<Self.stepsMax {
      let ready = threads.indices.filter { threads[$0].reactor.hasJobs }
      let willing = clients.indices.filter { clients[$0].canStep }
      let total = ready.reduce(4 * willing.count) { $0 + shares[$1] }
      if total == 0 {
        if clients.allSatisfy(\.isDone) { return }
        throw stuck(clients, "nothing is left to run")
      }
      var pick = chance.number(in: 0..<total)
      let thread = ready.first { index in
        pick -= shares[index]
        return pick < 0
      }
      if let thread {
        trace.lines.append(threads[thread].name)
        threads[thread].reactor.step()
      } else {
        let client = clients[willing[pick / 4]]
        try onLoop { try client.step($0, trace) }
      }
      checked()
    }
    throw stuck(clients, "\(Self.stepsMax) steps were not enough")
  }

  private func stuck(_ clients: [any SteppedClient], _ reason: String) -> Stuck {
    let waiting = clients.filter { !$0.isDone }.map(\.description)
    let busy = threads.filter(\.reactor.hasJobs).map(\.name)
    return onLoop { core in
      Stuck(
        description: "\(reason); clients that wait: \(waiting); threads with jobs: \(busy); "
          + "uploads: \(core.uploads.count); places reserved: \(core.quotaReservations.count); "
          + "changes under way: \(core.changeLocks.names.sorted())")
    }
  }

  /// Runs everything that is left, each thread in its turn.
  func settle() throws {
    for _ in 0..<Self.stepsMax {
      let ready = threads.filter(\.reactor.hasJobs)
      if ready.isEmpty { return }
      for thread in ready { thread.reactor.step() }
    }
    throw stuck([], "\(Self.stepsMax) steps were not enough")
  }

  /// One request and its answer, while nothing else is asked.
  func ask(_ asker: HTTPClient, _ method: String, _ path: String, _ json: JSON? = nil) throws -> Answer {
    let request = try onLoop { try SteppedGateway.request($0, asker, method, path, json) }
    try settle()
    guard let answer = onLoop({ _ in request.answer }) else { throw stuck([], "no answer to \(method) \(path)") }
    return answer
  }

  /// Sends a request whole, on the loop.
  static func request(
    _ core: Core, _ asker: HTTPClient, _ method: String, _ path: String, _ json: JSON? = nil,
    _ headers: [String: String] = [:]
  ) throws -> MemoryRequest {
    let body = json?.bytes ?? []
    let type = json.map { _ in ["Content-Type": "application/json"] } ?? [:]
    let head = try asker.memoryHead(method, path, json.map { _ in body.count }, headers.merging(type) { $1 })
    let service = try #require(core.service)
    return try MemoryRequest(head, body: body, isWhole: true, to: service, on: core.reactor)
  }

  /// The result of a read from the store.
  func stored<Value: Sendable>(_ read: @escaping @Sendable (Database) throws -> Value) throws -> Value {
    let box = ValueBox<Value>()
    _ = onLoop { core in
      core.store.enqueue {
        box.value = try read($0)
      } answer: {
        box.error = $0
      }
    }
    try settle()
    if let error = box.error { throw error }
    return try #require(box.value)
  }

  /// The writer's thread fills it in a step, and the same thread of the test reads it, which is the proof of `@unchecked`.
  private final class ValueBox<Value>: @unchecked Sendable {
    var value: Value?
    var error: (any Error)?
  }
}

/// A client that does one thing in each of its steps, on the loop.
protocol SteppedClient: AnyObject, CustomStringConvertible {
  var isDone: Bool { get }
  /// Whether it has something to do now, and does not wait for an answer.
  var canStep: Bool { get }
  func step(_ core: Core, _ trace: SteppedGateway.Trace) throws
}
