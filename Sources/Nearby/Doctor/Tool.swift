internal import Glibc

enum Tool {
  /// Enough for a rule set of thousands of lines; longer output is cut.
  private static let bytesMax = 4 << 20

  /// Nil where it does not exist; else its exit code and output.
  static func run(_ name: String, _ arguments: [String]) -> (code: CInt, text: String)? {
    let folders = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
    let paths: [String] = folders.map { "\($0)/\(name)" }
    guard let path = paths.first(where: { access($0, X_OK) == 0 }) else { return nil }
    var ends: [CInt] = [0, 0]
    guard pipe(&ends) == 0 else { return nil }
    defer { close(ends[0]) }
    _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addclose(&actions, ends[1])
    let words = ([path] + arguments).map { strdup($0) } + [nil]
    let environment = [strdup("LC_ALL=C"), strdup("PATH=\(folders.joined(separator: ":"))"), nil]
    defer { for text in words + environment { free(text) } }
    var process: pid_t = 0
    let failure = posix_spawn(&process, path, &actions, nil, words, environment)
    close(ends[1])
    guard failure == 0 else { return nil }
    var text: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    while text.count < bytesMax {
      let count = read(ends[0], &bytes, bytes.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      text += bytes.prefix(count)
    }
    var status: CInt = 0
    while waitpid(process, &status, 0) == -1, errno == EINTR {}
    return (status & 0x7F == 0 ? status >> 8 & 0xFF : -1, String(decoding: text, as: UTF8.self))
  }
}
