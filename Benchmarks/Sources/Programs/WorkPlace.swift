internal import Glibc

/// A folder for large files: in memory, where there is some for it, so that no disk is in the figures of either side; or
/// on a disk, for what is to be there after a power cut.
public final class WorkPlace {
  public let folder: String

  public init(onDisk: Bool = false) throws {
    let temporary = getenv("TMPDIR").map { String(cString: $0) }
    let root = onDisk ? temporary ?? "/var/tmp" : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : temporary ?? "/tmp"
    var template = Array("\(root)/vicinity-bench-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure("no folder can be made in \(root)") }
    folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }  // it ends with a zero
    mkdir(folder + "/in", 0o700)
  }

  deinit { _ = try? run("rm", "-rf", folder) }

  public func fill(_ name: String, _ bytes: Int) throws {
    try run("sh", "-c", "head -c \(bytes) /dev/urandom > '\(folder)/\(name)'")
  }

  /// Memory that a guest has not had for a while its machine has to give it anew, at several times the cost of all else
  /// here: who comes next finds it given, and a disk that has nothing left to do of what was before. The machine takes some
  /// back every two seconds, up to a sixteenth of what is free: so there is three times what is needed.
  public func warm(_ bytes: Int) throws {
    try run("sh", "-c", "head -c \(3 * bytes) /dev/zero > '\(folder)/warm' && sync && rm '\(folder)/warm'")
  }

  /// Drops the file from the page cache, so that it is read from the disk again.
  public func chill(_ name: String) throws {
    try run("dd", "if=\(folder)/\(name)", "iflag=nocache", "count=0", "status=none")
  }

  /// Seconds that the disk takes until what is written is there after a power cut: the median of some times.
  public func syncTime() throws -> Double {
    let file = open("\(folder)/synced", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw Failure("no file can be made in \(folder)") }
    defer {
      close(file)
      unlink("\(folder)/synced")
    }
    let page = [UInt8](repeating: 1, count: 4_096)
    return median(
      (0..<50).map { place in
        let start = now()
        pwrite(file, page, page.count, off_t(place % 8 * page.count))
        fdatasync(file)
        return now() - start
      })
  }

  /// It must be what was sent, and is then removed.
  public func compare(_ name: String, _ bytes: Int) throws {
    try run("cmp", "\(folder)/source", "\(folder)/\(name)")
    unlink("\(folder)/\(name)")
  }

  /// `openssl s_server` over the folder.
  public func startServer() throws -> (process: Child, port: Int) {
    let key = ["-newkey", "ed25519", "-nodes", "-keyout", "\(folder)/key.pem"]
    try run(["openssl", "req", "-x509", "-subj", "/CN=bench", "-days", "1", "-out", "\(folder)/cert.pem"] + key)
    let port = 20_000 + Int(getpid()) % 20_000
    let command = "exec openssl s_server -WWW -quiet -accept 127.0.0.1:\(port) -cert cert.pem -key key.pem 2>/dev/null"
    let server = try Child(["sh", "-c", "cd '\(folder)' && \(command)"])
    for _ in 0..<100 {
      if (try? run("sh", "-c", "curl -sko /dev/null https://127.0.0.1:\(port)/cert.pem")) != nil {
        return (server, port)
      }
      pass(0.05)
    }
    throw Failure("openssl s_server does not answer")
  }

  private func run(_ command: String...) throws { try run(command) }

  private func run(_ command: [String]) throws {
    var process: pid_t = 0
    var words = command.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // Their progress is not shown; their exit codes say whether they failed.
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    guard posix_spawnp(&process, command[0], &actions, nil, &words, environ) == 0 else {
      throw Failure("there is no '\(command[0])'")
    }
    var status: CInt = 0
    waitpid(process, &status, 0)
    guard status == 0 else { throw Failure("'\(command.joined(separator: " "))' has failed") }
  }
}
