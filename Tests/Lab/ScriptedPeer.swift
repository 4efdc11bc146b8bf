@testable import lab_rig

/// The program `lab-peer` on a host, with a peer `a` and its session `s`: for what the command line has no word for.
@Laboratory
struct ScriptedPeer {
  let host: LabHost
  let program: Program
  let peer: String
  let hostID: String

  var messages: [String] { told("message").compactMap { $0["text"] } }

  func told(_ name: String) -> [Event] { program.events.filter { $0.name == name } }

  /// Returns once it is done.
  func does(_ line: String, within time: Duration = .seconds(5)) async throws {
    try program.say(line)
    try await expectDone(line, within: time)
  }

  func expectDone(_ line: String, within time: Duration = .seconds(5)) async throws {
    try await program.event("done", within: time) { $0["command"] == Self.command(of: line) }
  }

  /// Why that could not be done.
  @discardableResult
  func fails(_ line: String, within time: Duration = .seconds(5)) async throws -> Event {
    try program.say(line)
    return try await expectFailure(line, within: time)
  }

  @discardableResult
  func expectFailure(_ line: String, within time: Duration = .seconds(5)) async throws -> Event {
    try await program.event("failed", within: time) { $0["command"] == Self.command(of: line) }
  }

  @discardableResult
  func meets(_ other: ScriptedPeer, on session: String = "s", within time: Duration = .seconds(5)) async throws -> Event
  {
    try await program.event("connected", within: time) { $0["peer"] == other.peer && $0["on"] == session }
  }

  /// Finds it, invites it, and is connected with it.
  func invites(_ other: ScriptedPeer, _ type: String, on session: String = "s") async throws {
    try program.say("browse \(type) a \(type)")
    try await program.event("found") { $0["peer"] == other.peer }
    try program.say("invite \(session) \(other.peer) \(type) 10")
    try await meets(other, on: session)
    try await other.meets(self)
  }

  @discardableResult
  func hears(_ text: String, within time: Duration = .seconds(5)) async throws -> Event {
    try await program.event("message", within: time) { $0["text"] == text }
  }

  /// The host that relays the link to the other one; nil for a direct link.
  func relay(to other: ScriptedPeer) async throws -> String? {
    try program.say("relay \(other.hostID)")
    return try await program.event("relay")["relay"]
  }

  /// The most memory that it ever had.
  func memory() async throws -> Int {
    try program.say("memory")
    return try await Self.number(program.event("memory")["bytesMax"])
  }

  static func number(_ text: String?) throws -> Int {
    guard let number = text.flatMap({ Int($0) }) else { throw LabError("'\(text ?? "")' is no number") }
    return number
  }

  private static func command(of line: String) -> String { String(line.prefix { $0 != " " }) }
}

extension LabHost {
  func puppet(_ options: String...) async throws -> ScriptedPeer { try await puppet(options) }

  func puppet(_ options: [String]) async throws -> ScriptedPeer {
    let program = try startBuilt("lab-peer", options)
    let started = try await program.event("started", within: .seconds(10))
    try program.say("peer a \(name)")
    guard let peer = try await program.event("peer")["peer"] else { throw LabError("\(name) has no peer") }
    let puppet = ScriptedPeer(host: self, program: program, peer: peer, hostID: started["id"] ?? "")
    try program.say("session s a")
    return puppet
  }
}

extension Rig {
  /// One on each host, all in one session, to which the first has invited the others.
  func puppets(_ type: String) async throws -> [ScriptedPeer] { try await puppets(type, of: hosts[...]) }

  func puppets(_ type: String, of hosts: ArraySlice<LabHost>, at port: UInt16) async throws -> [ScriptedPeer] {
    try await puppets(type, of: hosts, ["port=\(port)"])
  }

  func puppets(_ type: String, of hosts: ArraySlice<LabHost>, _ options: [String] = []) async throws -> [ScriptedPeer] {
    try await puppets(type, of: hosts, each: hosts.map { _ in options })
  }

  /// Each with its own options.
  func puppets(
    _ type: String, of hosts: ArraySlice<LabHost>, each options: [[String]]
  ) async throws -> [ScriptedPeer] {
    var puppets: [ScriptedPeer] = []
    for (host, options) in zip(hosts, options) {
      let puppet = try await host.puppet(options)
      if let first = puppets.first {
        try puppet.program.say("advertise x a \(type) s")
        try await first.invites(puppet, type)
        for other in puppets.dropFirst() {
          try await other.meets(puppet)
          try await puppet.meets(other)
        }
      }
      puppets.append(puppet)
    }
    return puppets
  }
}
