import BuiltProgram
import Glibc

/// The program `store-writer` in a process of its own, which ends with this.
final class StoreChild {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  let process: pid_t
  private let input: CInt
  private let output: CInt
  private var heard: [UInt8] = []

  /// Starts the program in a shell, after the words of `before`.
  init(_ arguments: String..., before: String = "") throws {
    var (down, up): ([CInt], [CInt]) = ([0, 0], [0, 0])
    guard pipe(&down) == 0, pipe(&up) == 0 else { throw Failure(description: "no pipe: errno \(errno)") }
    // Other programs that start meanwhile shall not hold these open.
    for end in down + up { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, down[0], 0)
    posix_spawn_file_actions_adddup2(&actions, up[1], 1)
    posix_spawn_file_actions_adddup2(&actions, up[1], 2)
    let program = try BuiltProgram.besideTests("store-writer")
    let command = ["sh", "-c", "\(before) exec \"$0\" \"$@\"", program] + arguments
    var words = command.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    let code = posix_spawnp(&process, "sh", &actions, nil, &words, environ)
    close(down[0])
    close(up[1])
    (self.process, input, output) = (process, down[1], up[0])
    guard code == 0 else { throw Failure(description: "\(program) does not start: errno \(code)") }
  }

  deinit {
    kill()
    close(input)
    close(output)
  }

  /// The next that it says; nil once it has ended.
  func line() throws -> String? {
    while true {
      if let end = heard.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: heard[..<end], as: UTF8.self)
        heard.removeFirst(end + 1)
        return line
      }
      var wait = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, 30_000) == 1 else { throw Failure(description: "it goes on and says nothing") }
      var room = [UInt8](repeating: 0, count: 4_096)
      let count = read(output, &room, room.count)
      guard count > 0 else { return nil }
      heard += room.prefix(count)
    }
  }

  func say(_ text: String) {
    let bytes = Array("\(text)\n".utf8)
    _ = write(input, bytes, bytes.count)
  }

  private var isKilled = false

  func kill() {
    if isKilled { return }
    isKilled = true
    Glibc.kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }
}
