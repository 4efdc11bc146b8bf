import Glibc
import Reactor
import Testing

/// A shell that is told line by line what to do, and ends with this object, or with the process that holds it.
final class Shell {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let name: String
  private var process: pid_t = 0
  private var pipe: Descriptor?
  private var heard: [UInt8] = []

  /// The words in front of `sh` say how it is started.
  init(_ name: String, _ words: [String] = []) throws {
    self.name = name
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
    let arguments = (words + ["sh"]).map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    let code = posix_spawnp(&process, words.first ?? "sh", &actions, nil, arguments, environ)
    guard code == 0 else { throw SystemError("start a shell", code: code) }
  }

  deinit {
    pipe = nil
    guard process > 0 else { return }
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }

  /// Runs lines of shell and gives what they write; throws where the last one fails.
  @discardableResult
  func run(_ script: String, seconds: Int = 20) throws -> String {
    say("{\n\(script)\n} 2>&1 </dev/null\necho \"=== done $?\"\n")
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
}
