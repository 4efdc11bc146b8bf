import BuiltProgram

@testable import lab_rig

extension LabHost {
  /// The program as people get it.
  func startVicinity(_ arguments: [String]) throws -> Program { try start([try BuiltProgram.vicinity()] + arguments) }

  /// Whether an answer comes from there within a second.
  func reaches(_ address: String) async throws -> Bool {
    // The kernel would retry an unanswered neighbour only after a second.
    let ping = try start("sh", "-c", "ip neigh flush all; exec ping -n -c 1 -W 1 \(address)")
    return try await ping.ended() == .exited(0)
  }

  func reaches(_ other: LabHost) async throws -> Bool { try await reaches(other.cable.address) }

  /// Sends so many packets, as fast as the clock of the kernel lets it; gives how many were answered within what time.
  func pings(to other: LabHost, count: Int, bytes: Int = 56) async throws -> (answers: Int, time: Duration) {
    let ping = try start(
      "ping", "-n", "-q", "-c", "\(count)", "-s", "\(bytes)", "-i", "0.001", "-W", "1", other.cable.address)
    let line = try await ping.line("its tally", within: .seconds(30)) { $0.contains(" received") }
    guard let match = line.firstMatch(of: #/(\d+) received.* time (\d+)ms/#), let answers = Int(match.output.1),
      let milliseconds = Int(match.output.2)
    else { throw LabError("'\(line)' is no tally") }
    return (answers, .milliseconds(milliseconds))
  }

  /// Whether anything at all comes of dialling a port there, be it a refusal.
  func isAnswered(at port: UInt16, of other: LabHost) async throws -> Bool {
    let dialling = try start("timeout", "1", "bash", "-c", ": <>/dev/tcp/\(other.cable.address)/\(port)")
    let timedOut: CInt = 124
    return try await dialling.ended() != .exited(timedOut)
  }

  /// Lines of the kinds `+` (there), `=` (resolved) and `-` (gone).
  func browse(_ type: String) throws -> Program {
    try start("avahi-browse", "--parsable", "--resolve", "_\(type)._tcp")
  }

  func publish(_ name: String, _ type: String, port: UInt16 = 7777) async throws -> Program {
    let program = try start("avahi-publish", "--service", name, "_\(type)._tcp", "\(port)")
    _ = try await program.line("that it is established") { $0.hasPrefix("Established") }
    return program
  }
}

extension Program {
  /// A line of `avahi-browse` of that kind about that service.
  @discardableResult
  func tells(_ kind: String, _ name: String, _ detail: String = "", within time: Duration = .seconds(5)) async throws
    -> String
  {
    try await line("'\(kind)' for \(name) \(detail)", within: time) {
      let fields = $0.split(separator: ";", omittingEmptySubsequences: false)
      return fields.count > 3 && fields[0] == kind && fields[3] == name && $0.contains(detail)
    }
  }
}
