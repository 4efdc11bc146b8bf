import BuiltProgram
import FoundationEssentials
import Glibc
import Reactor

/// A process that is one host. What it says is kept, line by line, and can be waited for.
final class Player {
  struct Silence: Error, CustomStringConvertible {
    let description: String
  }

  private let reactor: Reactor
  private let process: pid_t
  private var plug: Plug?
  private(set) var lines: [String] = []
  /// How many of the lines were waited for, or passed over.
  private var heard = 0
  private var piece: [UInt8] = []
  private var wait: (start: String, continuation: CheckedContinuation<String, any Error>, timer: Timer)?

  private(set) var address = SocketAddress.loopback(port: 0)
  private(set) var host = ""
  private(set) var peer = ""

  init(on reactor: Reactor) throws {
    self.reactor = reactor
    var numbers: [CInt] = [0, 0]
    guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &numbers) == 0 else {
      throw SystemError("socketpair", code: errno)
    }
    let ours = Descriptor(owning: numbers[0])
    let theirs = Descriptor(owning: numbers[1])
    process = try Self.spawn(talkingOver: theirs)
    plug = try Plug(ours, on: reactor) { [weak self] in self?.took($0) }
  }

  /// Starts the program and waits until it has printed its IDs and its address.
  func start() async throws {
    let words = try await says("listening ", within: .seconds(20)).split(separator: " ").map(String.init)
    let port = words[0].split(separator: ":").last.flatMap { UInt16($0) }
    guard words.count == 3, let port else { throw Silence(description: "'\(words)' is no place to listen at") }
    address = .loopback(port: port)
    (host, peer) = (words[1], words[2])
  }

  func say(_ command: String) { plug?.send(Array((command + "\n").utf8)) }

  /// Waits for a line that begins so, passing over others, and gives what follows in it.
  func says(_ start: String, within time: Duration = .seconds(10)) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      let timer = reactor.schedule(after: time) { [unowned self] in
        let last = lines.suffix(12).map { $0.prefix(100) }.joined(separator: "\n  ")
        wait?.continuation.resume(
          throwing: Silence(description: "nothing like '\(start)' was said within \(time), but last:\n  \(last)"))
        wait = nil
      }
      wait = (start, continuation, timer)
      listen()
    }
  }

  func signal(_ signal: CInt) { kill(process, signal) }

  /// Ends the process for certain, and leaves nothing of it.
  func end() {
    plug?.close()
    plug = nil
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }

  private func took(_ bytes: [UInt8]) {
    let parts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for part in parts.dropLast() {
      lines.append(String(decoding: piece + part, as: UTF8.self))
      piece = []
    }
    piece += parts.last ?? []
    if bytes.isEmpty { lines.append("ended") }
    listen()
  }

  private func listen() {
    guard let wait else { return }
    while heard < lines.count {
      heard += 1
      guard lines[heard - 1].hasPrefix(wait.start) else { continue }
      reactor.cancel(wait.timer)
      self.wait = nil
      return wait.continuation.resume(returning: String(lines[heard - 1].dropFirst(wait.start.count)))
    }
  }

  // MARK: The process

  private static func spawn(talkingOver socket: borrowing Descriptor) throws -> pid_t {
    let path = try BuiltProgram.besideTests("first-contact")
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for number in [STDIN_FILENO, STDOUT_FILENO] {
      posix_spawn_file_actions_adddup2(&actions, socket.number, number)
    }
    var variables = ProcessInfo.processInfo.environment
    // Swift's would outlive a process that crashes and is then killed, and hold on to what the tests write to.
    variables["SWIFT_BACKTRACE"] = "enable=no"
    let environment = variables.map { strdup("\($0)=\($1)") } + [nil]
    let arguments = [strdup(path), nil]
    defer { for text in environment + arguments { free(text) } }
    var process: pid_t = 0
    let code = posix_spawn(&process, path, &actions, nil, arguments, environment)
    guard code == 0 else { throw SystemError("start \(path)", code: code) }
    return process
  }
}
