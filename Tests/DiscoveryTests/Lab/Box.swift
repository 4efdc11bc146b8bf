import CLinux
import Glibc
import Reactor
import Testing

/// A machine of its own for a test: network, mounts and processes in namespaces that end with it. It is spoken to through
/// a shell inside, which is the first of its processes: with it, all of them end, even where the test crashes.
final class Box: @unchecked Sendable {
  // `@unchecked`: only the test's own task uses it, one call after another.

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  let name: String
  /// The shell's number outside of its namespace.
  private(set) var process: pid_t = 0
  private var holder: pid_t = 0
  private var pipe: Descriptor?
  private var heard: [UInt8] = []

  init(_ name: String) throws {
    guard getuid() == 0 else {
      throw Failure(
        description:
          "This test makes network namespaces with an Avahi daemon in each, which takes root: run it as root.")
    }
    self.name = name
    try open()
    process = try #require(pid_t(try run("cut -d ' ' -f 4 /proc/self/stat").filter(\.isNumber)))
    try run("mount -t tmpfs tmpfs /run && mkdir -p /run/dbus /run/avahi-daemon && ip link set lo up")
    try write(Self.busConfiguration, to: "/run/bus.conf")
  }

  deinit {
    pipe = nil
    if holder > 0 {
      kill(holder, SIGKILL)
      waitpid(holder, nil, 0)
    }
  }

  /// Runs lines of shell and gives what they write; throws where the last one fails.
  @discardableResult
  func run(_ script: String, seconds: Int = 20) throws -> String {
    let mark = "=== done"
    say("{\n\(script)\n} 2>&1 </dev/null\necho \"\(mark) $?\"\n")
    let end = Reactor.now + UInt64(seconds) * 1_000_000_000
    while true {
      let text = String(decoding: heard, as: UTF8.self)
      if let found = text.firstMatch(of: #/=== done (\d+)\n/#) {
        heard = []
        let said = String(text[..<found.range.lowerBound])
        guard found.output.1 == "0" else { throw Failure(description: "\(name): '\(script)' failed: \(said)") }
        return said
      }
      try listen(until: end, for: script)
    }
  }

  func write(_ text: String, to path: String) throws {
    try run("cat >\(path) <<'END'\n\(text)\nEND")
  }

  /// Moves the calling thread into the box, for good.
  func enter() throws {
    // Mounts are shared with other threads as long as these are.
    guard unshare(0x0000_0200) == 0 else { throw SystemError("unshare CLONE_FS", code: errno) }
    for (name, kind) in [("net", 0x4000_0000), ("mnt", 0x0002_0000)] {
      let number = Glibc.open("/proc/\(process)/ns/\(name)", O_RDONLY | O_CLOEXEC)
      guard number >= 0 else { throw SystemError("open the namespace \(name)", code: errno) }
      let namespace = Descriptor(owning: number)
      guard setns(namespace.number, CInt(kind)) == 0 else { throw SystemError("setns \(name)", code: errno) }
    }
  }

  // MARK: The shell

  private func open() throws {
    var numbers: [CInt] = [0, 0]
    guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &numbers) == 0 else {
      throw SystemError("socketpair", code: errno)
    }
    pipe = Descriptor(owning: numbers[0])
    let theirs = Descriptor(owning: numbers[1])
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_adddup2(&actions, theirs.number, number)
    }
    let words = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh"]
    let arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    let code = posix_spawnp(&holder, "unshare", &actions, nil, arguments, environ)
    guard code == 0 else { throw SystemError("start unshare", code: code) }
  }

  private func say(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty, let number = pipe?.number {
      let count = bytes.withUnsafeBytes { send(number, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
      // That it is gone, listening tells too.
      guard count > 0 else { return }
      bytes = bytes.dropFirst(count)
    }
  }

  private func listen(until end: UInt64, for script: String) throws {
    var waiting = pollfd(fd: pipe?.number ?? -1, events: Int16(POLLIN), revents: 0)
    let left = end > Reactor.now ? (end - Reactor.now) / 1_000_000 : 0
    guard left > 0, poll(&waiting, 1, CInt(left)) > 0 else {
      throw Failure(description: "\(name): '\(script)' did not end: \(String(decoding: heard, as: UTF8.self))")
    }
    let room = 64 << 10
    let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      count = max(0, recv(waiting.fd, buffer.baseAddress, room, 0))
    }
    guard !bytes.isEmpty else {
      throw Failure(description: "\(name): the shell ended: \(String(decoding: heard, as: UTF8.self))")
    }
    heard += bytes
  }

  // MARK: Daemons

  func startBus() throws {
    try run(
      "rm -f /run/dbus/system_bus_socket && dbus-daemon --config-file=/run/bus.conf --fork --print-pid >/run/bus.pid")
  }

  func stopBus() throws { try run("kill -9 $(cat /run/bus.pid)") }

  func startDaemon(_ configuration: String = "", hostName: String? = nil) throws {
    try write(
      """
      [server]
      host-name=\(hostName ?? name)
      use-ipv4=yes
      use-ipv6=yes
      ratelimit-interval-usec=1000000
      ratelimit-burst=1000
      \(configuration)
      [wide-area]
      enable-wide-area=no
      [publish]
      publish-hinfo=no
      publish-workstation=no
      """, to: "/run/avahi.conf")
    try run("rm -f /run/avahi-daemon/pid; avahi-daemon -D -f /run/avahi.conf --no-drop-root --no-chroot --no-rlimits")
  }

  func killDaemon() throws { try run("kill -9 $(cat /run/avahi-daemon/pid)") }

  /// Anybody may do anything on it.
  private static let busConfiguration = """
    <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
     "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
    <busconfig>
      <type>system</type>
      <listen>unix:path=/run/dbus/system_bus_socket</listen>
      <auth>EXTERNAL</auth>
      <policy context="default">
        <allow user="*"/> <allow own="*"/>
        <allow send_type="method_call"/> <allow send_type="signal"/>
        <allow send_requested_reply="true" send_type="method_return"/>
        <allow send_requested_reply="true" send_type="error"/>
        <allow receive_type="method_call"/> <allow receive_type="method_return"/>
        <allow receive_type="error"/> <allow receive_type="signal"/>
      </policy>
    </busconfig>
    """
}
