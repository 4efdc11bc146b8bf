internal import FoundationEssentials
internal import Glibc

/// A host of its own: interfaces, host name, processes, D-Bus and Avahi, and a disk, which alone outlives a power cut.
///
/// It is a shell that waits, the first process of its namespaces. When it ends, so does all that is in them.
@Laboratory
final class LabHost {
  /// The mount point of the disk inside; it is the home of every program.
  static let home = "/run/home"
  /// A folder that all hosts of a rig have, as containers of one machine may.
  static let shared = "/run/shared"

  let number: Int
  unowned let rig: Rig
  private(set) var cables: [Cable] = []
  /// The programs that were started here and not by the host itself, in the order of starting, ended or not.
  private(set) var programs: [Program] = []
  private(set) var bus: Program?
  private(set) var avahi: Program?
  private var shell: Program?
  private var namespaces: Namespaces?

  init(_ number: Int, of rig: Rig) {
    self.number = number
    self.rig = rig
  }

  nonisolated var name: String { "h\(number)" }
  var isUp: Bool { shell.map { $0.ending == nil } ?? false }

  /// The first process inside, as we count them.
  var process: Int {
    guard let namespaces else { preconditionFailure("\(name) was never up") }
    return Int(namespaces.process)
  }

  /// The cable to the first network.
  var cable: Cable { cables[0] }

  // MARK: Up and down

  func boot() async throws {
    let command = Namespaces.opening(
      [.network, .mount, .host, .process], isOutermost: false, script: Self.script,
      [name, Rig.disk(of: self), Self.busConfiguration, Self.users, Self.groups])
    let shell = try Program(
      name, rig.namespaces.entering([.network, .mount, .process], command), entersNamespaces: true)
    self.shell = shell
    namespaces = try await Rig.namespaces(of: shell)
    cables = [try await Cable(self, to: rig.networks[0])]
    try await startBus()
    try await startAvahi()
  }

  /// Cuts the power: no program ends in good order, and no goodbye is sent.
  func kill() async throws {
    for cable in cables { try await cable.unplug() }
    cables = []
    Glibc.kill(pid_t(process), SIGKILL)
    try await ended()
  }

  /// Wakes those who stand outside, frozen with a program inside: until they have seen its end, it is not over.
  func release() {
    for program in allPrograms { program.release() }
  }

  /// Waits until all is over that its end has ended. Some may stop only now, because the one inside has: each is woken.
  func ended() async throws {
    try await Laboratory.wait(until: "all has ended on \(name)", within: .seconds(5)) {
      release()
      return allPrograms.allSatisfy { $0.ending != nil }
    }
    bus = nil
    avahi = nil
  }

  private var allPrograms: [Program] { [shell, bus, avahi].compactMap { $0 } + programs }

  /// The disk is the current folder until something else lies over it. A container may keep us from showing the host's
  /// own processes and interfaces under `/proc` and `/sys`; then those of the machine are seen there.
  private static let script = """
    hostname "$1"
    cd "$2"
    mount -t tmpfs -o mode=755 tmpfs /run
    mkdir -p /run/dbus /run/avahi-daemon /run/tmp \(home) \(shared)
    mount --no-canonicalize --bind . \(home)
    mount --no-canonicalize --bind ../shared \(shared)
    mount -t proc proc /proc || :
    mount -t sysfs sysfs /sys || :
    printf '%s' "$3" >/run/bus.conf
    printf '%s' "$4" >/run/passwd
    printf '%s' "$5" >/run/group
    mount --bind /run/passwd /etc/passwd
    mount --bind /run/group /etc/group
    """

  // MARK: Programs

  /// A program, by its name in the path or by its place.
  func start(_ command: [String]) throws -> Program {
    let program = try start(named: command[0].split(separator: "/").last.map(String.init) ?? "", command)
    programs.append(program)
    return program
  }

  func start(_ command: String...) throws -> Program { try start(command) }

  /// A program of this package, as it was built with the tests.
  func startBuilt(_ name: String, _ arguments: [String] = []) throws -> Program {
    try start([Rig.buildFolder + name] + arguments)
  }

  /// Runs a program to its end, which must be a good one; gives what it wrote.
  @discardableResult
  func run(_ command: String..., within time: Duration = .seconds(10)) async throws -> String {
    try await run(command, within: time)
  }

  @discardableResult
  func run(_ command: [String], within time: Duration = .seconds(10)) async throws -> String {
    let program = try start(command)
    guard try await program.ended(within: time) == .exited(0) else {
      throw LabError("'\(command.joined(separator: " "))' on \(name) failed:\n\(program.log())")
    }
    return program.output
  }

  private func start(named title: String, _ command: [String]) throws -> Program {
    guard let namespaces, isUp else { throw LabError("\(name) is down, and starts no '\(command[0])'") }
    var environment = Program.environment
    environment["HOME"] = Self.home
    environment["XDG_DATA_HOME"] = Self.home + "/.local/share"
    environment["XDG_RUNTIME_DIR"] = "/run"
    environment["TMPDIR"] = "/run/tmp"
    environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=/run/dbus/system_bus_socket"
    return try Program(
      "\(name) \(title)", namespaces.entering([.network, .mount, .host, .process], command),
      environment: environment, entersNamespaces: true)
  }

  /// How somebody gets in by hand.
  var door: String {
    guard let namespaces else { return "" }
    let inside = ["env", "HOME=\(Self.home)", "XDG_DATA_HOME=\(Self.home)/.local/share", "bash"]
    return namespaces.entering([.network, .mount, .host, .process], inside).joined(separator: " ")
  }

  // MARK: Daemons

  func startBus() async throws {
    let bus = try start(
      named: "D-Bus",
      ["dbus-daemon", "--config-file=/run/bus.conf", "--nofork", "--nopidfile", "--print-address"])
    self.bus = bus
    _ = try await bus.line("its address") { $0.hasPrefix("unix:") }
  }

  func stopBus(by signal: CInt = SIGTERM) async throws {
    try await stop(bus, by: signal)
    bus = nil
  }

  /// Starts Avahi, with additional settings if some are given.
  func startAvahi(_ settings: String = "") async throws {
    // One that was killed has left its number, which by now may be that of another process.
    let daemon =
      "\(number > Self.hostsOfOwnPace ? "nice -n 10 " : "")avahi-daemon --file=/run/avahi.conf --no-drop-root --no-chroot --no-rlimits --no-proc-title"
    let avahi = try start(
      named: "Avahi",
      [
        "sh", "-c", "printf %s \"$1\" >/run/avahi.conf; rm -f /run/avahi-daemon/pid; exec \(daemon)", "sh",
        Self.avahiConfiguration(name: name, settings),
      ])
    self.avahi = avahi
    _ = try await avahi.line("that it is up", within: .seconds(20)) { $0.hasPrefix("Server startup complete") }
  }

  /// Each host outside has processors of its own. Here the daemons of a crowd would take most of the few that there are,
  /// and the programs that are tried would have to wait for seconds: so more of them than these give way.
  private static let hostsOfOwnPace = 8

  func stopAvahi(by signal: CInt = SIGTERM) async throws {
    try await stop(avahi, by: signal)
    avahi = nil
  }

  private func stop(_ daemon: Program?, by signal: CInt) async throws {
    try await daemon?.signal(signal)
    try await daemon?.ended()
  }

  // MARK: More networks, and good order

  /// Configures interfaces, one command of `ip` a line.
  func configure(_ commands: [String]) async throws {
    try await rig.configure(commands, in: namespaces)
  }

  func configure(with command: [String]) async throws {
    try await rig.run(command, in: namespaces)
  }

  @discardableResult
  func plug(into network: Network) async throws -> Cable {
    let cable = try await Cable(self, to: network)
    cables.append(cable)
    return cable
  }

  func unplug(_ cable: Cable) async throws {
    cables.removeAll { $0 === cable }
    try await cable.unplug()
  }

  /// Up, with nothing wrong, nothing running and an empty disk, as those find it who come next.
  func tidy() async throws {
    for program in programs { try await program.end() }
    programs = []
    if isUp {
      for cable in cables.dropFirst() { try await unplug(cable) }
      try await cable.mend()
      // The kernel would retry an unanswered neighbour only after a second.
      try await configure(["neigh flush dev \(cable.interface)"])
      // Avahi 0.8 may lose its own name where one address comes and another goes within an instant.
      if try await cable.restoreAddresses() { try await stopAvahi() }
      if bus?.ending != nil || bus == nil { try await startBus() }
      if avahi?.ending != nil || avahi == nil { try await startAvahi() }
    } else {
      try await boot()
    }
    try await run("find", Self.home, "-mindepth", "1", "-delete")
    programs = []
  }

  var log: String {
    allPrograms.map { "\($0.name)\n\($0.log())\n" }.joined(separator: "\n")
  }
}
