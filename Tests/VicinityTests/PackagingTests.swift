import BuiltProgram
import FoundationEssentials
import Testing

@testable import Nearby

/// What a gateway's machine is given beside the program, as systemd's own tools see it.
@Suite(.timeLimit(.minutes(2))) struct PackagingTests {
  @Test("systemd finds no fault in the units, and they shut out as much as docs/operations.md says")
  func units() throws {
    let folder = TemporaryFolder()
    let service = try Self.text("packaging/vicinity.service").replacing(
      "/usr/bin/vicinity", with: BuiltProgram.vicinity())
    let path = try folder.write(Array(service.utf8), to: "vicinity.service")
    let socket = try folder.write(Array(Self.text("packaging/vicinity.socket").utf8), to: "vicinity.socket")
    let verifying = try Self.run("systemd-analyze", ["verify", "--recursive-errors=no", path, socket])
    // What it finds in units of this machine is nothing of ours.
    let complaints = verifying.said.split(separator: "\n").filter { $0.contains("vicinity") }
    #expect(verifying.code == 0 && complaints.isEmpty, "\(verifying.said)")

    let judged = try Self.run("systemd-analyze", ["security", "--offline=true", "--no-pager", path])
    let exposure = try #require(judged.said.firstMatch(of: #/level for vicinity.service: (\d+\.\d+) (\w+)/#))
    #expect(try Self.text("docs/operations.md").contains("\(exposure.1), \(exposure.2)"), "\(exposure.0)")
  }

  @Test("systemd makes the user of the units out of their line for it")
  func user() throws {
    let folder = TemporaryFolder()
    try FileManager.default.createDirectory(atPath: "\(folder.path)/etc", withIntermediateDirectories: false)
    let line = try folder.write(Array(Self.text("packaging/vicinity.sysusers").utf8), to: "vicinity.conf")
    let made = try Self.run("systemd-sysusers", ["--root", folder.path, line])
    #expect(made.code == 0, "\(made.said)")
    let users = String(decoding: folder.bytes(of: "etc/passwd") ?? [], as: UTF8.self)
    #expect(users.contains("vicinity:") && users.contains(":/var/lib/vicinity:"), "\(users)")
    #expect(try Self.text("packaging/vicinity.service").contains("\nUser=vicinity\nGroup=vicinity\n"))
  }

  /// What it has printed, on both ways.
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
