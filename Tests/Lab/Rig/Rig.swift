internal import FoundationEssentials
internal import Glibc

/// Some hosts and the networks between them, on this machine and apart from it.
///
/// Invariant: nothing of a rig has a name or a place outside of it. Its namespaces are known by the processes in them,
/// its files lie in its own memory; all of it goes when its first process does. That one ends with its input, which
/// this process holds, so that a run that is killed leaves nothing, and two rigs never meet.
@Laboratory
final class Rig {
  /// Addresses are numbered in one byte.
  nonisolated static let hostsMax = 250

  private(set) var networks: [Network] = []
  /// The hosts that are lent; more may stand by.
  var hosts: [LabHost] { Array(allHosts.prefix(lentCount)) }
  private var allHosts: [LabHost] = []
  private var lentCount = 0
  private let shell: Program
  let namespaces: Namespaces

  // MARK: Up and down

  static func start(hosts count: Int) async throws -> Rig {
    try checkTools()
    let shell = try Program(
      "switch",
      Namespaces.opening(
        [.network, .mount, .process], isOutermost: true,
        script: "mount -t tmpfs -o mode=755 tmpfs /run\nmkdir \(disks) \(disks)/shared", []))
    let rig = Rig(shell, try await outermostNamespaces(of: shell))
    do {
      try await rig.addNetwork()
      try await rig.ready(count)
    } catch {
      try? await rig.close()
      throw error
    }
    return rig
  }

  private init(_ shell: Program, _ namespaces: Namespaces) {
    self.shell = shell
    self.namespaces = namespaces
  }

  /// Prepares this number of hosts, and makes new ones if there are too few.
  private func ready(_ count: Int) async throws {
    precondition(count <= Self.hostsMax, "a rig has no addresses for \(count) hosts")
    let fresh = (allHosts.count..<max(count, allHosts.count)).map { LabHost($0 + 1, of: self) }
    for host in fresh { try await run(["mkdir", "-p", Self.disk(of: host)]) }
    try await withThrowingTaskGroup { group in
      for host in fresh { group.addTask { try await host.boot() } }
      try await group.waitForAll()
    }
    allHosts += fresh
    lentCount = count
  }

  /// When this returns, nothing of it is left.
  func close() async throws {
    kill(namespaces.process, SIGKILL)
    for host in allHosts { try await host.ended() }
    try await shell.ended()
  }

  @discardableResult
  func addNetwork() async throws -> Network {
    let network = try await Network(networks.count + 1, of: self)
    networks.append(network)
    return network
  }

  // MARK: Lending

  private static var idle: [Rig] = []
  /// The logs of the rigs that were lent since the logs were last read.
  private static var logs: [String] = []

  /// A rig that may have been used before, in good order. It is kept for others unless its use ends in an error.
  static func lend<Result>(_ count: Int, _ use: @Laboratory (Rig) async throws -> Result) async throws -> Result {
    let rig: Rig
    if let used = idle.popLast() {
      rig = used
      try await rig.ready(count)
    } else {
      rig = try await start(hosts: count)
    }
    do {
      let result: Result
      do {
        defer { logs.append(rig.log) }
        result = try await use(rig)
      }
      try await rig.tidy()
      idle.append(rig)
      return result
    } catch {
      try await rig.close()
      throw error
    }
  }

  static func takeLogs() -> [String] {
    defer { logs = [] }
    return logs
  }

  static func closeIdle() async throws {
    while let rig = idle.popLast() { try await rig.close() }
  }

  private func tidy() async throws {
    try await withThrowingTaskGroup { group in
      for host in allHosts { group.addTask { try await host.tidy() } }
      try await group.waitForAll()
    }
    // No program is left that writes there; two who delete one tree at a time would fail.
    try await run(["find", "\(Self.disks)/shared", "-mindepth", "1", "-delete"])
    for network in networks.dropFirst() { try await configure(["link del \(network.name)"]) }
    networks.removeSubrange(1...)
  }

  private var log: String { hosts.map(\.log).joined(separator: "\n") }

  // MARK: Commands at the switch

  private static let disks = "/run/disks"

  /// Seen from the switch, whose memory it is.
  static func disk(of host: LabHost) -> String { "\(disks)/\(host.name)" }

  /// Configures interfaces, one command of `ip` a line.
  func configure(_ commands: [String], in namespaces: Namespaces? = nil) async throws {
    let arguments = ["bash", "-c", "printf '%s\\n' \"$@\" | ip -batch -", "bash"] + commands
    try await run(arguments, in: namespaces)
  }

  @discardableResult
  func run(_ command: [String], in place: Namespaces? = nil) async throws -> String {
    let program = try Program(command[0], (place ?? namespaces).entering([.network, .mount], command))
    // The kernel makes and clears networks one after another, those of other rigs too.
    guard try await program.ended(within: .seconds(30)) == .exited(0) else {
      throw LabError("'\(command.joined(separator: " "))' failed:\n\(program.log())")
    }
    return program.output
  }

  /// The namespaces of a shell that has started and printed its process number.
  static func namespaces(of shell: Program) async throws -> Namespaces {
    let line = try await shell.line("that it is up", within: .seconds(10)) { $0.hasPrefix("up ") }
    guard let process = pid_t(line.dropFirst("up ".count)) else { throw LabError("'\(line)' names no process") }
    return Namespaces(process: process)
  }

  private static func outermostNamespaces(of shell: Program) async throws -> Namespaces {
    do {
      return try await namespaces(of: shell)
    } catch {
      throw LabError(
        """
        a rig needs root, or user namespaces that anybody may make: run it as root, or allow them by \
        'sysctl kernel.apparmor_restrict_unprivileged_userns=0' or 'sysctl kernel.unprivileged_userns_clone=1', \
        whichever there is; \(error)
        """)
    }
  }

  // MARK: What is needed

  /// SwiftPM puts programs and tests in one folder.
  static let buildFolder = {
    let program = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(filePath: program).deletingLastPathComponent().path + "/"
  }()

  private static let tools = [
    "avahi-daemon", "bash", "bridge", "dbus-daemon", "hostname", "ip", "mount", "nft", "nsenter", "setpriv", "tc",
    "unshare",
  ]

  private static func checkTools() throws {
    let folders = Program.environment["PATH", default: ""].split(separator: ":")
    let missing = tools.filter { tool in
      !folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(tool)") }
    }
    guard missing.isEmpty else {
      throw LabError("a rig needs \(missing.joined(separator: ", ")): './vic lab' installs what is missing")
    }
  }
}
