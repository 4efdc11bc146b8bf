internal import FoundationEssentials
internal import Glibc
internal import Reactor

/// A process with lines in and out. What it says is kept, with its time, and can be waited for; each line is given to
/// one who waits for it, so that the order in which is waited does not matter.
@Laboratory
final class Program {
  struct Line {
    enum Kind { case output, error, end }

    let kind: Kind
    let text: String
    /// Nanoseconds on the monotonic clock.
    let time: UInt64
    let event: Event?
    fileprivate(set) var isTaken = false
  }

  private struct Wait {
    let what: String
    let matches: (Line) -> Bool
    let continuation: CheckedContinuation<Line, any Error>
    let timer: Timer
  }

  /// More than any test has a use for; a program that says more is ended.
  private static let linesMax = 1 << 20
  /// How much of it is shown where a wait is in vain.
  private static let shownLinesMax = 15

  let name: String
  private(set) var lines: [Line] = []
  private(set) var ending: Child.Ending?
  private let start = Reactor.now
  /// Whether the process that is meant is a child of the one that was started, inside its namespaces.
  private let entersNamespaces: Bool
  private var child: Child?
  private var pieces: [Line.Kind: [UInt8]] = [:]
  private var waits: [Int: Wait] = [:]
  private var waitsMade = 0
  /// All lines before are taken or were looked at in vain by nobody who waits still.
  private var firstOpen = 0

  init(
    _ name: String, _ arguments: [String], environment: [String: String] = Program.environment,
    entersNamespaces: Bool = false
  ) throws {
    self.name = name
    self.entersNamespaces = entersNamespaces
    // A child that a test has released may still print lines.
    child = try Child(arguments, environment: environment) { [weak self] in
      self?.took($1, as: $0 == .output ? .output : .error)
    } ended: { [weak self] in
      self?.ended($0)
    }
  }

  /// The environment of every program.
  static let environment = {
    var variables = ProcessInfo.processInfo.environment
    variables["PATH", default: "/usr/bin:/bin"] += ":/usr/sbin:/sbin"
    variables["LC_ALL"] = "C.UTF-8"
    // Swift's would outlive a process that crashes and is then killed, and hold on to what the tests write to.
    variables["SWIFT_BACKTRACE"] = "enable=no"
    return variables
  }()

  /// Nil once it has ended.
  var process: pid_t? { child?.process }

  // MARK: Speaking to it

  func say(_ line: String) throws {
    do {
      guard let child else { throw LabError("it has ended") }
      try child.write(line + "\n")
    } catch {
      throw LabError("'\(line)' cannot be said to \(name): \(error)\n\(tail)")
    }
  }

  func closeInput() { child?.closeInput() }

  /// Does nothing to a process that has ended.
  func signal(_ signal: CInt) async throws {
    guard let outer = child?.process else { return }
    if entersNamespaces {
      var inner: pid_t?
      try await Laboratory.wait(until: "\(name) is inside", within: .seconds(5)) {
        inner = Self.child(of: outer)
        return inner != nil || ending != nil
      }
      if let inner { kill(inner, signal) }
      // The one outside stops with the one inside, and must be woken to see what becomes of it.
      if signal != SIGSTOP, ending == nil { kill(outer, SIGCONT) }
    } else {
      kill(outer, signal)
    }
  }

  /// Ends the process for certain.
  func end() async throws {
    try await signal(SIGKILL)
    try await ended()
  }

  /// Wakes the process that stands outside, which ends with the one inside.
  func release() {
    if let outer = child?.process, entersNamespaces { kill(outer, SIGCONT) }
  }

  /// The most memory that it ever had, in bytes.
  func memoryMax() throws -> Int {
    guard let outer = child?.process, let process = entersNamespaces ? Self.child(of: outer) : outer else {
      throw LabError("\(name) has ended, and has no memory")
    }
    let status = try String(contentsOf: URL(filePath: "/proc/\(process)/status"), encoding: .utf8)
    let words = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }?.split(whereSeparator: \.isWhitespace)
    guard let words, words.count > 1, let kilobytes = Int(words[1]) else {
      throw LabError("the memory of \(name) is not told in:\n\(status)")
    }
    return kilobytes << 10
  }

  private static func child(of process: pid_t) -> pid_t? {
    let children = try? String(contentsOf: URL(filePath: "/proc/\(process)/task/\(process)/children"), encoding: .utf8)
    return children?.split(separator: " ").first.flatMap { pid_t($0) }
  }

  // MARK: Hearing from it

  /// The first line not yet taken that is such; passes over others.
  func line(
    _ what: String, within time: Duration = .seconds(5), where matches: @escaping (String) -> Bool
  ) async throws -> String {
    try await take(what, within: time) { $0.kind != .end && matches($0.text) }.text
  }

  /// The first event of that name not yet taken of which it holds; passes over others.
  @discardableResult
  func event(
    _ name: String, within time: Duration = .seconds(5), where holds: @escaping (Event) -> Bool = { _ in true }
  ) async throws -> Event {
    let line = try await take("the event '\(name)'", within: time) {
      guard let event = $0.event else { return false }
      return event.name == name && holds(event)
    }
    // It was taken because it has one.
    return line.event!
  }

  /// Every event printed so far, taken or not.
  var events: [Event] { lines.compactMap(\.event) }

  @discardableResult
  func ended(within time: Duration = .seconds(5)) async throws -> Child.Ending {
    if let ending { return ending }
    _ = try await take("its end", within: time) { $0.kind == .end }
    // Told with that line.
    return ending!
  }

  /// All that it wrote to its standard output, line by line.
  var output: String { lines.filter { $0.kind == .output }.map(\.text).joined(separator: "\n") }

  private func take(
    _ what: String, within time: Duration, where matches: @escaping (Line) -> Bool
  ) async throws -> Line {
    if let index = lines.indices[firstOpen...].first(where: { !lines[$0].isTaken && matches(lines[$0]) }) {
      return take(index)
    }
    if ending != nil { throw missing(what, "before it ended") }
    return try await withCheckedThrowingContinuation { continuation in
      waitsMade += 1
      let number = waitsMade
      let timer = Laboratory.reactor.schedule(after: time) { [unowned self] in
        guard let wait = waits.removeValue(forKey: number) else { return }
        wait.continuation.resume(throwing: missing(what, "within \(time)"))
      }
      waits[number] = Wait(what: what, matches: matches, continuation: continuation, timer: timer)
    }
  }

  private func take(_ index: Int) -> Line {
    lines[index].isTaken = true
    while firstOpen < lines.count, lines[firstOpen].isTaken { firstOpen += 1 }
    return lines[index]
  }

  private func missing(_ what: String, _ when: String) -> LabError {
    LabError("\(name) did not give \(what) \(when); last it said:\n\(tail)")
  }

  private var tail: String { log(last: Self.shownLinesMax) }

  /// Its output, with the seconds since its start.
  func log(last count: Int = .max) -> String {
    lines.suffix(count).map { line in
      let milliseconds = Int((line.time - start) / 1_000_000)
      let time = String(milliseconds / 1000) + "." + String(1000 + milliseconds % 1000).dropFirst()
      let mark = line.kind == .error ? "!" : " "
      return "  \(time) \(mark) \(line.text.prefix(400))"
    }.joined(separator: "\n")
  }

  // MARK: What comes

  private func took(_ bytes: [UInt8], as kind: Line.Kind) {
    let parts = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for part in parts.dropLast() {
      told(kind, String(decoding: pieces[kind, default: []] + part, as: UTF8.self))
      pieces[kind] = []
    }
    pieces[kind, default: []] += parts.last ?? []
  }

  private func ended(_ ending: Child.Ending) {
    for (kind, piece) in pieces where !piece.isEmpty { told(kind, String(decoding: piece, as: UTF8.self)) }
    self.ending = ending
    child = nil
    told(.end, "\(ending)")
    for wait in waits.values {
      Laboratory.reactor.cancel(wait.timer)
      wait.continuation.resume(throwing: missing(wait.what, "before it ended"))
    }
    waits = [:]
  }

  private func told(_ kind: Line.Kind, _ text: String) {
    if lines.count == Self.linesMax, let child { kill(child.process, SIGKILL) }
    let now = Reactor.now
    let event = kind == .output ? Event(line: text, at: now) : nil
    lines.append(Line(kind: kind, text: text, time: now, event: event))
    let index = lines.count - 1
    guard let (number, wait) = waits.filter({ $0.value.matches(lines[index]) }).min(by: { $0.key < $1.key }) else {
      return
    }
    waits[number] = nil
    Laboratory.reactor.cancel(wait.timer)
    wait.continuation.resume(returning: take(index))
  }
}
