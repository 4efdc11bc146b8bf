import Glibc

/// A child process, which ends with this.
final class Program {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let process: pid_t
  private let input: CInt
  private let output: CInt
  /// The port on which it says that it listens.
  private(set) var port = 0

  /// Waits until the program has said its port.
  init(_ words: [String], in folder: String, port pattern: Regex<(Substring, Substring)>) throws {
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
    let command = ["sh", "-c", "cd \"$0\" && exec \"$@\"", folder] + words
    var arguments = command.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    let code = posix_spawnp(&process, "sh", &actions, nil, &arguments, environ)
    close(down[0])
    close(up[1])
    (self.process, input, output) = (process, down[1], up[0])
    guard code == 0 else { throw Failure(description: "\(words[0]) does not start: errno \(code)") }
    try readPort(pattern)
  }

  deinit {
    kill()
    close(input)
    close(output)
  }

  private func readPort(_ pattern: Regex<(Substring, Substring)>) throws {
    var said = ""
    var room = [UInt8](repeating: 0, count: 4_096)
    while true {
      var wait = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, 20_000) == 1 else { throw Failure(description: "it goes on and names no port: \(said)") }
      let count = read(output, &room, room.count)
      guard count > 0 else { throw Failure(description: "it named no port: \(said)") }
      said += String(decoding: room.prefix(count), as: UTF8.self)
      guard let match = said.firstMatch(of: pattern), let port = Int(match.output.1) else { continue }
      self.port = port
      return
    }
  }

  func say(_ text: String) {
    let bytes = Array(text.utf8)
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
