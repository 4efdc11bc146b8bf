internal import Programs

/// Hosts of the laboratory, each with a network of its own and an Avahi daemon, as `lab-rig` puts them up.
final class LabRig {
  private let rig: Child
  private var doors: [String] = []
  private(set) var addresses: [String] = []

  init(hosts: Int) throws {
    rig = try Child([program("lab-rig"), "\(hosts)"])
    while true {
      let line = try rig.line()
      if line.hasPrefix("Say here:") { break }
      guard !line.hasPrefix("failed") else { throw Failure("the laboratory: \(line)") }
      if line.hasPrefix("    ") { doors.append(line) } else { addresses.append(address(in: line)) }
    }
    guard doors.count == hosts, addresses.count == hosts else {
      throw Failure("the laboratory does not say where its hosts are")
    }
  }

  private func address(in line: String) -> String {
    String(line.split(separator: " ").first { $0.hasSuffix("/24") }?.dropLast(3) ?? "")
  }

  /// Starts a command on a host, from 0 on.
  func start(_ command: String, on host: Int) throws -> Child {
    try Child(["sh", "-c", "exec \(doors[host]) -c 'exec \(command)'"])
  }

  func partner(on host: Int) throws -> Child { try start(program("lan-partner"), on: host) }

  func kill(_ host: Int) throws { try rig.say("kill h\(host + 1)") }

  /// Limits the bytes a second of a host's cable, each way; nil ends that.
  func limit(_ host: Int, to rate: Int?) throws {
    try rig.say(rate.map { "rate h\(host + 1) \($0)" } ?? "mend h\(host + 1)")
  }

  /// Drops so many percent of a host's packets, each way, until its limits end.
  func lose(_ host: Int, percent: Int) throws { try rig.say("loss h\(host + 1) \(percent)") }

  /// Ends all that runs there.
  func close() throws {
    try rig.say("quit")
    _ = rig.ended()
  }
}
