import BuiltProgram
import FoundationEssentials
import Glibc

/// The real program in a process of its own, over pipes or a pseudo-terminal.
final class Program {
  struct Silence: Error, CustomStringConvertible {
    let description: String
  }

  enum Ways {
    /// Standard input, output and error are three pipes.
    case pipes
    /// Standard input is this file.
    case input(String)
    /// All three are one terminal of so many columns, which is of this kind.
    case terminal(columns: UInt16, kind: String)

    /// Nothing comes on standard input, ever.
    static let noInput = input("/dev/null")
  }

  // Constants of <stdlib.h> and <spawn.h> under _GNU_SOURCE only: TIOCGPTN, TIOCSPTLCK, POSIX_SPAWN_SETSID.
  private static let terminalNumber: UInt = 0x8004_5430
  private static let terminalLock: UInt = 0x4004_5431
  private static let newSession: Int16 = 0x80

  /// The settings of a terminal, as `stty -a` shows them.
  struct TerminalSettings: Equatable {
    let input, output, control, local: tcflag_t
    let characters: [cc_t]
  }

  let process: pid_t
  /// The settings of its terminal before it was started.
  private(set) var settingsAtStart: TerminalSettings?
  private var input: CInt
  private var outputs: [CInt]
  /// The bytes of standard output and standard error; on a terminal, all of them in the first.
  private var texts: [[UInt8]] = [[], []]
  private var heard = 0
  private var code: CInt?

  init(
    _ arguments: [String], _ ways: Ways = .pipes, in folder: String = ".", environment: [String: String] = [:],
    through launcher: [String] = [], running other: String? = nil
  ) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var variables = ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no", "HOME": folder, "LANG": "C.UTF-8"]
    var theirs: [CInt] = []
    switch ways {
    case .pipes, .input:
      var (toIt, out, err): ([CInt], [CInt], [CInt]) = ([-1, -1], [-1, -1], [-1, -1])
      guard pipe(&toIt) == 0, pipe(&out) == 0, pipe(&err) == 0 else { throw Silence(description: "no pipes") }
      (input, outputs) = (toIt[1], [out[0], err[0]])
      theirs = [toIt[0], out[1], err[1]]
      if case .input(let path) = ways {
        posix_spawn_file_actions_addopen(&actions, 0, path, O_RDONLY, 0)
      } else {
        posix_spawn_file_actions_adddup2(&actions, theirs[0], 0)
      }
      posix_spawn_file_actions_adddup2(&actions, theirs[1], 1)
      posix_spawn_file_actions_adddup2(&actions, theirs[2], 2)
    case .terminal(let columns, let kind):
      variables["TERM"] = kind
      let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
      var (number, unlocked): (CInt, CInt) = (0, 0)
      guard ioctl(terminal, Self.terminalNumber, &number) == 0, ioctl(terminal, Self.terminalLock, &unlocked) == 0
      else {
        throw Silence(description: "no terminal")
      }
      var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
      _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
      (input, outputs) = (dup(terminal), [terminal])
      settingsAtStart = Self.settings(of: terminal)
      // The first terminal that a session of its own opens is the one that Ctrl-C comes from.
      posix_spawnattr_setflags(&attributes, Self.newSession)
      posix_spawn_file_actions_addopen(&actions, 0, "/dev/pts/\(number)", O_RDWR, 0)
      posix_spawn_file_actions_adddup2(&actions, 0, 1)
      posix_spawn_file_actions_adddup2(&actions, 0, 2)
    }
    for number in outputs + [input] { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
    variables.merge(environment) { $1 }
    let environment = variables.map { strdup("\($0)=\($1)") } + [nil]
    let path = try other ?? BuiltProgram.vicinity()
    let words =
      (["sh", "-c", "cd \"$0\" && exec \"$@\"", folder] + launcher + [path] + arguments).map { strdup($0) } + [nil]
    defer { for text in environment + words { free(text) } }
    var process: pid_t = 0
    let failure = posix_spawn(&process, "/bin/sh", &actions, &attributes, words, environment)
    for number in theirs { close(number) }
    guard failure == 0 else { throw Silence(description: "\(path) does not start: \(failure)") }
    self.process = process
  }

  deinit {
    for number in outputs + [input] where number >= 0 { close(number) }
    if code == nil {
      kill(process, SIGKILL)
      waitpid(process, nil, 0)
    }
  }

  /// The current settings of its terminal.
  func settings() -> TerminalSettings? { Self.settings(of: input) }

  /// Changes settings of its terminal, as `stty` in another window does.
  func changeSettings(_ change: (inout termios) -> Void) {
    var mode = termios()
    tcgetattr(input, &mode)
    change(&mode)
    tcsetattr(input, TCSANOW, &mode)
  }

  private static func settings(of terminal: CInt) -> TerminalSettings? {
    var mode = termios()
    guard tcgetattr(terminal, &mode) == 0 else { return nil }
    let characters = withUnsafeBytes(of: mode.c_cc) { Array($0) }
    return TerminalSettings(
      input: mode.c_iflag, output: mode.c_oflag, control: mode.c_cflag, local: mode.c_lflag, characters: characters)
  }

  var out: String { String(decoding: texts[0], as: UTF8.self) }
  var err: String { String(decoding: texts[1], as: UTF8.self) }
  var bytes: [UInt8] { texts[0] }

  // MARK: Talking

  func say(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { write(input, $0.baseAddress, $0.count) }
      if count <= 0 { return }
      bytes = bytes.dropFirst(count)
    }
  }

  func endInput() {
    close(input)
    input = -1
  }

  func signal(_ number: CInt) { kill(process, number) }

  /// Waits for a line, of those that were not waited for or passed over, on standard output (0) or error (1).
  @discardableResult
  func line(_ wanted: String, on channel: Int = 0, within seconds: Int = 20) throws -> String {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while true {
      let lines = String(decoding: texts[channel], as: UTF8.self).split(
        separator: "\n", omittingEmptySubsequences: false)
      let whole = lines.dropLast()
      let start = channel == 0 ? heard : 0
      if let place = whole.indices.first(where: { $0 >= start && whole[$0].contains(wanted) }) {
        if channel == 0 { heard = place + 1 }
        return String(whole[place])
      }
      guard try listen(until: deadline) else {
        throw Silence(description: "'\(wanted)' was not said on \(channel), but:\n\(out)\n--\n\(err)")
      }
    }
  }

  /// Waits for a text anywhere in what came, for output that is not in lines.
  func text(_ wanted: String, within seconds: Int = 20) throws {
    try text(within: seconds, wanted) { $0.contains(wanted) }
  }

  /// Waits for a text that comes after another one.
  func text(_ wanted: String, after earlier: String, within seconds: Int = 20) throws {
    try text(within: seconds, wanted) { out in
      guard let place = out.firstRange(of: earlier) else { return false }
      return out[place.upperBound...].contains(wanted)
    }
  }

  private func text(within seconds: Int, _ wanted: String, isShown: (String) -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while !isShown(out) {
      guard try listen(until: deadline) else { throw Silence(description: "'\(wanted)' was not shown, but:\n\(out)") }
    }
  }

  /// Reads all that comes until the process has ended; gives its exit code, or minus the signal.
  func ended(within seconds: Int = 20) throws -> CInt {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try listen(until: deadline) {}
    if let code { return code }
    var status: CInt = 0
    while waitpid(process, &status, WNOHANG) == 0 {
      guard ContinuousClock.now < deadline else {
        throw Silence(description: "it did not end, but said:\n\(out)\n--\n\(err)")
      }
      var nothing = pollfd(fd: -1, events: 0, revents: 0)
      poll(&nothing, 1, 5)
    }
    let ended = status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
    code = ended
    return ended
  }

  /// Waits until nothing more goes into standard output, of which nobody reads anything.
  func fillsOutput(within seconds: Int = 20) throws {
    let pageBytes: CInt = 4_096
    let getPipeSize: CInt = 1_032  // F_GETPIPE_SZ, which <fcntl.h> shows under _GNU_SOURCE only
    let room = fcntl(outputs[0], getPipeSize)
    var waiting: CInt = 0
    try wait("its output is not full", within: seconds) { [outputs] in
      ioctl(outputs[0], UInt(FIONREAD), &waiting) == 0 && waiting > room - pageBytes
    }
  }

  /// The exit code of a process of whose output nobody reads anything.
  func endedUnread(within seconds: Int = 20) throws -> CInt {
    var status: CInt = 0
    try wait("it did not end", within: seconds) { [process] in waitpid(process, &status, WNOHANG) != 0 }
    let ended = status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
    code = ended
    return ended
  }

  private func wait(_ fault: String, within seconds: Int, until isSo: () -> Bool) throws {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while !isSo() {
      guard ContinuousClock.now < deadline else { throw Silence(description: fault) }
      var nothing = pollfd(fd: -1, events: 0, revents: 0)
      poll(&nothing, 1, 5)
    }
  }

  /// False at the end of all output, or of the time.
  private func listen(until deadline: ContinuousClock.Instant) throws -> Bool {
    var waits = outputs.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let left = max(0, (deadline - .now) / .milliseconds(1))
    guard waits.contains(where: { $0.fd >= 0 }), poll(&waits, UInt(waits.count), CInt(left)) > 0 else { return false }
    for (place, wait) in waits.enumerated() where wait.revents != 0 {
      var bytes = [UInt8](repeating: 0, count: 64 << 10)
      let count = read(wait.fd, &bytes, bytes.count)
      if count > 0 {
        texts[place] += bytes.prefix(count)
      } else {
        close(wait.fd)
        outputs[place] = -1
      }
    }
    return true
  }
}

extension Program {
  /// Runs to the end.
  static func run(
    _ arguments: String..., input: String = "", environment: [String: String] = [:]
  ) throws -> (code: CInt, out: String, err: String) {
    let program = try Program(arguments, environment: environment)
    program.say(input)
    program.endInput()
    return (try program.ended(), program.out, program.err)
  }
}

extension Program {
  /// Takes one connection of the web, on loopback, and gives one answer.
  final class Server {
    let port: UInt16
    private let socket: CInt

    init() {
      socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let socket = socket
      withUnsafeMutablePointer(to: &address) {
        // Every sockaddr begins as a `sockaddr` does, and its true size goes with it.
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          _ = bind(socket, $0, length)
          Glibc.listen(socket, 1)
          getsockname(socket, $0, &length)
        }
      }
      port = UInt16(bigEndian: address.sin_port)
    }

    deinit {
      close(socket)
    }

    /// Waits for the question.
    func answer(_ text: String) {
      var wait = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, 20_000) == 1 else { return }
      let connection = accept(socket, nil, nil)
      defer { close(connection) }
      var question: [UInt8] = []
      while !String(decoding: question, as: UTF8.self).contains("\r\n\r\n") {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = read(connection, &bytes, bytes.count)
        guard count > 0 else { return }
        question += bytes.prefix(count)
      }
      _ = write(connection, text, text.utf8.count)
    }
  }
}
