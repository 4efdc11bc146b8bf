import BuiltProgram
import FoundationEssentials
import Glibc
import Notation
import TestKit
import Testing

@testable import Nearby

/// The files that are installed beside the program, checked by systemd's own tools.
@Suite(.ownThread, .timeLimit(.minutes(2))) struct PackagingTests {
  @Test("systemd finds no fault in the units, and they shut out as much as docs/operations.md says")
  func units() throws {
    let folder = TemporaryFolder()
    let service = try Self.text("packaging/vicinity.service").replacing(
      "/usr/bin/vicinity", with: BuiltProgram.vicinity())
    let path = try folder.write(Array(service.utf8), to: "vicinity.service")
    let socket = try folder.write(Array(Self.text("packaging/vicinity.socket").utf8), to: "vicinity.socket")
    let verifying = try Self.run("systemd-analyze", ["verify", "--recursive-errors=no", path, socket])
    // Findings in other units of this machine do not count.
    let complaints = verifying.said.split(separator: "\n").filter { $0.contains("vicinity") }
    #expect(verifying.code == 0 && complaints.isEmpty, "\(verifying.said)")

    let judged = try Self.run("systemd-analyze", ["security", "--offline=true", "--no-pager", path])
    let exposure = try #require(judged.said.firstMatch(of: #/level for vicinity.service: (\d+\.\d+) (\w+)/#))
    #expect(try Self.text("docs/operations.md").contains("\(exposure.1), \(exposure.2)"), "\(exposure.0)")
  }

  /// Becomes a program that the kernel kills at a system call that the unit does not allow: the same filter as
  /// systemd's, but a refusal cannot be overlooked.
  private static let filter = """
    import ctypes, os, re, shutil, struct, subprocess, sys
    unit, folder, program = sys.argv[1], sys.argv[2], sys.argv[3:]

    def names(word):
        if not word.startswith("@"):
            return {word}
        said = subprocess.run(["systemd-analyze", "syscall-filter", word], capture_output=True, text=True, check=True)
        words = [line.strip() for line in said.stdout.splitlines()[1:]]
        return set().union(*[names(word) for word in words if word and not word.startswith("#")])

    lines = [line.strip().split("=", 1) for line in open(unit)]
    words = [word for name, *rest in lines if name == "SystemCallFilter" for word in rest[0].split()]
    # systemd adds what each process needs.
    allowed = set().union(names("@default"), *map(names, words))
    compiler = shutil.which("clang") or shutil.which("cc")
    said = subprocess.run(
        [compiler, "-E", "-dM", "-include", "asm/unistd.h", "-x", "c", "/dev/null"], capture_output=True, text=True, check=True)
    numbers = dict(re.findall(r"#define __NR_(\\w+) (\\d+)", said.stdout))
    code = struct.pack("HBBI", 0x20, 0, 0, 0)
    for name in sorted(allowed & numbers.keys()):
        code += struct.pack("HBBI", 0x15, 0, 1, int(numbers[name])) + struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
    code += struct.pack("HBBI", 0x06, 0, 0, 0x80000000)

    class Filter(ctypes.Structure):
        _fields_ = [("count", ctypes.c_ushort), ("code", ctypes.c_char_p)]

    if os.geteuid() == 0:
        # What root does besides, the service's user does not.
        os.chown(folder, 65534, 65534)
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        os.environ["HOME"] = folder
    libc = ctypes.CDLL(None, use_errno=True)
    what = Filter(len(code) // 8, code)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(what)):
        sys.exit(f"no filter: {os.strerror(ctypes.get_errno())}")
    os.execv(program[0], program)
    """

  @Test("The system calls that the unit allows are all that a gateway uses")
  func systemCalls() throws {
    let folder = TemporaryFolder()
    let unit = try folder.write(Array(Self.text("packaging/vicinity.service").utf8), to: "vicinity.service")
    #expect(chmod(folder.path, 0o755) == 0)
    let clients = try ["ada", "ben"].map { name in
      mkdir("\(folder.path)/\(name)", 0o700)
      return try GatewayClient(
        name, in: folder, ["--discovery", "static"], role: "operator",
        through: ["python3", "-c", Self.filter, unit, "\(folder.path)/\(name)"])
    }
    let (ada, ben) = (clients[0], clients[1])
    try ada.connect(with: ben)
    try ada.ask("POST", "\(ada.path)/messages", ["text": "hello"])
    _ = try ben.wait(in: "\(ben.path)/messages") { _ in true }
    let file = try folder.write([UInt8](repeating: 7, count: 3_000_000), to: "file")
    let resource = try ada.ask(
      "POST", "\(ada.path)/resources", ["to": .text(ben.peer), "name": "file", "size": 3_000_000])
    try ada.upload(file, to: "\(ada.path)/resources/\(resource["id"]?.text ?? "")/content")
    let received = try ben.wait(in: "\(ben.path)/resources") { $0["state"] == "complete" }
    try ben.download(received["content"]?.text ?? "", to: "\(folder.path)/copy")
    #expect(folder.bytes(of: "copy").count == 3_000_000)
    _ = try ada.ask("GET", "/v1/gateway/diagnostics")
    try ada.download("/metrics", to: "\(folder.path)/metrics")
    let place = "\(folder.path)/ada"
    let backup = try Program.run(
      "backup", "\(place)/copy", "--folder", "\(place)/gateway", environment: ["HOME": place])
    #expect(backup.code == 0, "\(backup.err)")
    for client in clients {
      client.program.signal(SIGTERM)
      #expect(try client.program.ended() == 0, "\(client.program.err)")
    }
  }

  @Test("systemd makes the user of the units out of their line for it")
  func user() throws {
    let folder = TemporaryFolder()
    try FileManager.default.createDirectory(atPath: "\(folder.path)/etc", withIntermediateDirectories: false)
    let line = try folder.write(Array(Self.text("packaging/vicinity.sysusers").utf8), to: "vicinity.conf")
    let made = try Self.run("systemd-sysusers", ["--root", folder.path, line])
    #expect(made.code == 0, "\(made.said)")
    let users = folder.text(of: "etc/passwd")
    #expect(users.contains("vicinity:") && users.contains(":/var/lib/vicinity:"), "\(users)")
    #expect(try Self.text("packaging/vicinity.service").contains("\nUser=vicinity\nGroup=vicinity\n"))
  }

  /// The exit code, and the text of standard output and standard error.
  private static func run(_ name: String, _ arguments: [String]) throws -> (code: Int32, said: String) {
    let program = try Program(arguments, .noInput, running: "/usr/bin/\(name)")
    let code = try program.ended(within: 60)
    return (code, program.out + program.err)
  }

  private static func text(_ path: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return String(decoding: try Data(contentsOf: root.appending(path: path)), as: UTF8.self)
  }
}
