import Glibc

@testable import lab_rig

/// The program `vicinity` on a host, and who it is there.
@Laboratory
struct VicinityPeer {
  let host: LabHost
  let program: Program
  let peer: String
  let name: String

  /// The peers that are connected by the events so far.
  var connected: Set<String> {
    program.events.reduce(into: []) { connected, event in
      guard let peer = event["peer"] else { return }
      if event.name == "connected" { connected.insert(peer) }
      if event.name == "notConnected" { connected.remove(peer) }
    }
  }

  /// The messages of others, in order.
  var messages: [String] { told("message").compactMap { $0["text"] } }

  func told(_ name: String) -> [Event] { program.events.filter { $0.name == name } }

  func say(_ text: String) throws { try program.say("say \(text)") }

  @discardableResult
  func meets(_ other: VicinityPeer, within time: Duration = .seconds(5)) async throws -> Event {
    try await program.event("connected", within: time) { $0["peer"] == other.peer }
  }

  @discardableResult
  func finds(_ other: VicinityPeer, within time: Duration = .seconds(5)) async throws -> Event {
    try await program.event("found", within: time) { $0["peer"] == other.peer }
  }

  @discardableResult
  func hears(_ text: String, within time: Duration = .seconds(5)) async throws -> Event {
    try await program.event("message", within: time) { $0["text"] == text }
  }

  /// Says goodbye and ends.
  func leave() async throws {
    try program.say("quit")
    try await program.ended()
  }
}

extension LabHost {
  /// Starts a command, and waits until it has printed its IDs.
  func visit(_ command: String, _ type: String, _ arguments: String..., name: String? = nil) async throws
    -> VicinityPeer
  {
    try await visit(command, type, arguments, name: name)
  }

  func visit(_ command: String, _ type: String, _ arguments: [String], name: String? = nil) async throws -> VicinityPeer
  {
    let name = name ?? self.name
    let program = try vicinity([command, type] + arguments + ["--name", name])
    let started = try await program.event("started", within: .seconds(10))
    guard let peer = started["peer"] else { throw LabError("\(self.name) started, and did not say as whom") }
    return VicinityPeer(host: self, program: program, peer: peer, name: name)
  }

  func vicinity(_ arguments: [String]) throws -> Program { try startVicinity(arguments + ["--json"]) }

  func vicinity(_ arguments: String...) throws -> Program { try vicinity(arguments) }
}

extension Rig {
  /// All in ad hoc mode, started at once.
  func visit(_ hosts: [LabHost], _ type: String, _ arguments: [String] = []) async throws -> [VicinityPeer] {
    try await withThrowingTaskGroup(of: VicinityPeer.self) { group in
      for host in hosts { group.addTask { try await host.visit("adhoc", type, arguments) } }
      var visitors: [VicinityPeer] = []
      while let visitor = try await group.next() { visitors.append(visitor) }
      return visitors.sorted { $0.host.number < $1.host.number }
    }
  }

  /// All of this rig's in one session, each connected with each, and found by each.
  func party(_ type: String, within time: Duration = .seconds(10)) async throws -> [VicinityPeer] {
    let visitors = try await visit(hosts, type)
    for visitor in visitors {
      for other in visitors where other.peer != visitor.peer {
        try await visitor.meets(other, within: time)
        try await visitor.finds(other, within: time)
      }
    }
    return visitors
  }
}
