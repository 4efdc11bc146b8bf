internal import CLinux
internal import Glibc

extension Reactor {
  /// Starts a program with one open descriptor of this process, under a number, and with its standard error. It is out of
  /// reach of the terminal's signals; its exit code is taken when there is one, so that no zombie stays.
  public func startProgram(
    _ path: String, with descriptor: borrowing Descriptor, as number: CInt
  ) throws(SystemError) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, mode) in [(CInt(0), O_RDONLY), (1, O_WRONLY)] {
      posix_spawn_file_actions_addopen(&actions, number, "/dev/null", mode, 0)
    }
    posix_spawn_file_actions_adddup2(&actions, descriptor.number, number)
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP))
    let words = [strdup(path), nil]
    defer { free(words[0]) }
    var process: pid_t = 0
    let code = posix_spawn(&process, path, &actions, &attributes, words, environ)
    guard code == 0 else { throw SystemError("start \(path)", code: code) }
    reap(process)
  }

  private func reap(_ process: pid_t) {
    let number = pidfd_open(process, 0)
    guard number >= 0 else { return }
    let watch = ProcessWatch(Descriptor(owning: number))
    watch.registration = try? register(watch.descriptor, for: .readable) { [unowned self] _ in
      var status: CInt = 0
      _ = waitpid(process, &status, WNOHANG)
      watch.registration.map(deregister)
      watch.registration = nil
    }
  }
}

/// The descriptor of a process, which its registration keeps.
private final class ProcessWatch {
  let descriptor: Descriptor
  var registration: Registration?

  init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
}
