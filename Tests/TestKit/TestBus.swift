import Glibc
import Synchronization

/// A `dbus-daemon` of a test's own, which lets everybody do everything.
public final class TestBus: Sendable {
  public struct Failure: Error {}

  private let folder = TemporaryFolder()
  /// 0 once it was stopped.
  private let process: Mutex<pid_t>
  public var path: String { "\(folder.path)/a bus" }

  public init() throws {
    let configuration = """
      <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
        "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig>
        <listen>unix:path=\(folder.path)/a%20bus</listen>
        <auth>EXTERNAL</auth>
        <policy context="default">
          <allow send_destination="*"/>
          <allow receive_sender="*"/>
          <allow own="*"/>
          <allow user="*"/>
        </policy>
      </busconfig>
      """
    try folder.write(configuration.utf8, to: "bus.conf")
    var ends: [CInt] = [0, 0]
    guard pipe(&ends) == 0 else { throw Failure() }
    defer { close(ends[0]) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    for end in ends { posix_spawn_file_actions_addclose(&actions, end) }
    let options = ["--config-file=\(folder.path)/bus.conf", "--nofork", "--nopidfile", "--print-address=1"]
    let words = (["dbus-daemon"] + options).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    let failure = posix_spawnp(&process, "dbus-daemon", &actions, nil, words, environ)
    close(ends[1])
    self.process = Mutex(failure == 0 ? process : 0)
    // Its address, once it listens.
    var byte: UInt8 = 0
    guard read(ends[0], &byte, 1) == 1 else { throw Failure() }
  }

  deinit { stop() }

  public func stop() {
    process.withLock { process in
      guard process > 0 else { return }
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
      process = 0
    }
  }
}
