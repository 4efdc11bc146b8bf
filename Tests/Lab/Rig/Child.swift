internal import CLinux
internal import Glibc
internal import Reactor

/// A process that this one has started: its input, its outputs, its end.
///
/// Invariant: it never outlives this process. It is started on the laboratory's thread, which lives as long as the
/// process, so that the signal at its parent's death comes with that of the process, and not before.
@Laboratory
final class Child {
  enum Ending: Equatable, Sendable, CustomStringConvertible {
    case exited(CInt)
    case killed(by: CInt)

    var description: String {
      switch self {
      case .exited(let code): "exited with \(code)"
      case .killed(let signal): "was killed by signal \(signal)"
      }
    }
  }

  enum Stream { case output, errors }

  let process: pid_t
  private var input: Descriptor?
  private let outlets: [OutputPipe]
  private var lifetime: Descriptor?
  private var registration: Registration?
  private let ended: (Ending) -> Void

  init(
    _ arguments: [String], environment: [String: String], came: @escaping (Stream, [UInt8]) -> Void,
    ended: @escaping (Ending) -> Void
  ) throws {
    self.ended = ended
    var numbers: [CInt] = [0, 0]
    // A socket, since writing to one that nobody reads can be an error rather than a signal.
    guard socketpair(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &numbers) == 0 else {
      throw SystemError("socketpair", code: errno)
    }
    let ours = Descriptor(owning: numbers[0])
    let theirs = Descriptor(owning: numbers[1])
    let output = try OutputPipe { came(.output, $0) }
    let errors = try OutputPipe { came(.errors, $0) }
    outlets = [output, errors]
    do {
      process = try output.give { output in
        try errors.give { errors in
          try Self.spawn(
            ["setpriv", "--pdeathsig", "KILL", "--"] + arguments, environment, [theirs.number, output, errors])
        }
      }
    } catch {
      for outlet in outlets { outlet.finish() }
      throw error
    }
    input = consume ours
    let number = pidfd_open(process, 0)
    guard number >= 0 else { throw SystemError("pidfd_open", code: errno) }
    let lifetime = Descriptor(owning: number)
    registration = try Laboratory.reactor.register(lifetime, for: .readable) { [weak self] _ in self?.reap() }
    self.lifetime = consume lifetime
  }

  func write(_ text: String) throws {
    guard let number = input?.number else { throw LabError("its input is closed") }
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let flags = CInt(MSG_DONTWAIT | MSG_NOSIGNAL)
      let count = bytes.withUnsafeBytes { send(number, $0.baseAddress, $0.count, flags) }
      guard count > 0 else { throw LabError("it does not read its input: \(SystemError("send", code: errno))") }
      bytes = bytes.dropFirst(count)
    }
  }

  func closeInput() { input = nil }

  private func reap() {
    var status: CInt = 0
    guard waitpid(process, &status, WNOHANG) == process else { return }
    if let registration { Laboratory.reactor.deregister(registration) }
    registration = nil
    lifetime = nil
    closeInput()
    // The rest of its output is reported before its end is.
    for outlet in outlets { outlet.finish() }
    let signal = status & 0x7f
    ended(signal == 0 ? .exited(status >> 8 & 0xff) : .killed(by: signal))
  }

  // MARK: Starting

  private static func spawn(
    _ arguments: [String], _ environment: [String: String], _ standard: [CInt]
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (target, number) in standard.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, number, CInt(target))
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The loop's thread blocks signals that a program expects.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let texts = arguments.map { strdup($0) } + [nil]
    let variables = environment.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in texts + variables { free(text) } }
    var process: pid_t = 0
    let code = posix_spawnp(&process, arguments[0], &actions, &attributes, texts, variables)
    guard code == 0 else { throw SystemError("start \(arguments[0])", code: code) }
    return process
  }
}
