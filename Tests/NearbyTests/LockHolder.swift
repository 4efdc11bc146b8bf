import Glibc

/// Another process that holds a lock as a host would, until it is killed.
final class LockHolder {
  struct Failure: Error {}

  let process: pid_t

  init(of lock: String) throws {
    var ends: [CInt] = [0, 0]
    guard pipe(&ends) == 0 else { throw Failure() }
    defer { close(ends[0]) }
    let program = """
      import fcntl, os, signal, sys
      f = open(sys.argv[1], "r+"); fcntl.flock(f, fcntl.LOCK_EX)
      f.truncate(0); f.write(str(os.getpid()) + "\\n"); f.flush()
      os.write(1, b"!"); os.close(1)
      signal.alarm(60); signal.pause()
      """
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addclose(&actions, ends[0])
    let words: [String] = ["python3", "-c", program, lock]
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    guard posix_spawnp(&process, "python3", &actions, nil, &arguments, environ) == 0 else { throw Failure() }
    self.process = process
    // It says one byte once it holds the lock; that it ends without is the failure.
    close(ends[1])
    var byte: UInt8 = 0
    guard read(ends[0], &byte, 1) == 1 else { throw Failure() }
  }

  func kill() {
    Glibc.kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }
}
