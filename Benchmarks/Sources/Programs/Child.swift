public import Glibc

public struct Failure: Error, CustomStringConvertible {
  public let description: String
  public init(_ description: String) { self.description = description }
}

/// A process that takes lines and gives lines; it ends with this one.
public final class Child {
  public let process: pid_t
  private let name: String
  private let input: CInt
  private let output: CInt
  private var pending: [UInt8] = []

  public init(_ command: [String]) throws {
    name = command.joined(separator: " ")
    var (into, outOf): ([CInt], [CInt]) = ([0, 0], [0, 0])
    guard pipe(&into) == 0, pipe(&outOf) == 0 else { throw Failure("there is no pipe to be had") }
    for end in into + outOf { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer {
      close(into[0])
      close(outOf[1])
    }
    (input, output) = (into[1], outOf[0])
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, into[0], 0)
    posix_spawn_file_actions_adddup2(&actions, outOf[1], 1)
    var words = (["setpriv", "--pdeathsig", "KILL", "--"] + command).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    guard posix_spawnp(&process, "setpriv", &actions, nil, &words, environ) == 0 else {
      throw Failure("'\(name)' cannot be started")
    }
    self.process = process
  }

  deinit { end() }

  // MARK: Talking

  public func say(_ line: String) throws {
    let bytes = Array((line + "\n").utf8)
    guard write(input, bytes, bytes.count) == bytes.count else { throw Failure("'\(name)' does not listen any more") }
  }

  public func line(within seconds: Int = 60) throws -> String {
    let end = now() + Double(seconds)
    while true {
      if let stop = pending.firstIndex(of: 10) {
        defer { pending.removeFirst(stop + 1) }
        return String(decoding: pending[..<stop], as: UTF8.self)
      }
      var wait = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, CInt(max(0, end - now()) * 1_000)) > 0 else {
        throw Failure("'\(name)' has said nothing for \(seconds) s")
      }
      var bytes = [UInt8](repeating: 0, count: 4_096)
      let count = read(output, &bytes, bytes.count)
      guard count > 0 else { throw Failure("'\(name)' has ended before it said what it was asked for") }
      pending += bytes[..<count]
    }
  }

  /// The result of the command that a partner was given.
  public func answer(within seconds: Int = 60) throws -> [Substring] {
    let line = try line(within: seconds)
    let words = line.split(separator: " ")
    guard words.first == "done" else { throw Failure("'\(name)' says: \(line)") }
    return Array(words.dropFirst())
  }

  @discardableResult
  public func ask(_ command: String, within seconds: Int = 60) throws -> [Substring] {
    try say(command)
    return try answer(within: seconds)
  }

  // MARK: What it costs

  /// Seconds of processor time, of all its threads.
  public var processorTime: Double {
    threads.reduce(0) { $0 + (Double(text("task/\($1)/schedstat").split(separator: " ").first ?? "0") ?? 0) } / 1e9
  }

  /// How often its threads have gone to sleep by themselves, each of which ends with a wake.
  public var sleeps: Int { threads.reduce(0) { $0 + (field("voluntary_ctxt_switches", in: "task/\($1)/status") ?? 0) } }

  /// In MiB.
  public var memory: Double { Double(field("VmRSS", in: "status") ?? 0) / 1_024 }
  public var memoryPeak: Double { Double(field("VmHWM", in: "status") ?? 0) / 1_024 }

  private var threads: [String] {
    guard let folder = opendir("/proc/\(process)/task") else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if !name.hasPrefix(".") { names.append(name) }
    }
    return names
  }

  private func field(_ name: String, in file: String) -> Int? {
    for line in text(file).split(separator: "\n") where line.hasPrefix(name + ":") {
      return line.split(whereSeparator: { " \t".contains($0) }).dropFirst().first.flatMap { Int($0) }
    }
    return nil
  }

  private func text(_ file: String) -> String {
    let file = open("/proc/\(process)/\(file)", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 8_192)
    let count = max(0, read(file, &bytes, bytes.count))
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  // MARK: The end

  private var hasEnded = false

  /// Waits until it has ended by itself; says how much processor time it took.
  public func ended() -> Double {
    hasEnded = true
    var (status, usage): (CInt, rusage) = (0, rusage())
    wait4(process, &status, 0, &usage)
    close(input)
    close(output)
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  /// At once, or as it likes to.
  public func end(asking: Bool = false) {
    if hasEnded { return }
    kill(process, asking ? SIGTERM : SIGKILL)
    _ = ended()
  }

  private func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}

/// Seconds on the monotonic clock, which all processes of the machine share.
public func now() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// Lets real time pass: what is measured happens in it.
public func pass(_ seconds: Double) { poll(nil, 0, CInt(seconds * 1_000)) }

/// Beside this one.
public func program(_ name: String) -> String {
  var path = [CChar](repeating: 0, count: Int(PATH_MAX))
  let count = max(0, readlink("/proc/self/exe", &path, path.count))
  let here = String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  return here.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/") + "/\(name)"
}

public func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

public func number(_ words: [Substring], _ position: Int) throws -> Double {
  guard position < words.count, let number = Double(words[position]) else {
    throw Failure("'\(words.joined(separator: " "))' lacks a number")
  }
  return number
}
