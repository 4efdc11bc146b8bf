import CLinux
import Glibc
import Reactor
import Testing

/// A machine of its own for a test: network, mounts and processes in namespaces that end with it. It is spoken to through
/// a shell inside, which is the first of its processes: with it, all of them end, even where the test crashes.
final class Box: @unchecked Sendable {
  // `@unchecked`: only the test's own task uses it, one call after another.

  let name: String
  /// The shell's number outside of its namespace.
  let process: pid_t
  private let shell: Shell

  init(_ name: String) throws {
    guard getuid() == 0 else {
      let why = "This test makes network namespaces with an Avahi daemon in each, which takes root: run it as root."
      throw Shell.Failure(description: why)
    }
    self.name = name
    shell = try Shell(
      name, ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"])
    process = try #require(pid_t(try shell.run("cut -d ' ' -f 4 /proc/self/stat").filter(\.isNumber)))
    try run("mount -t tmpfs tmpfs /run && mkdir -p /run/dbus /run/avahi-daemon && ip link set lo up")
    try write(Self.busConfiguration, to: "/run/bus.conf")
  }

  @discardableResult
  func run(_ script: String, seconds: Int = 20) throws -> String { try shell.run(script, seconds: seconds) }

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
