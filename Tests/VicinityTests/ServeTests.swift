import FoundationEssentials
import Glibc
import Notation
import TestKit
import Testing

@testable import Nearby
@testable import vicinity

/// A gateway and the codes that let people in.
@Suite(.ownThread, .timeLimit(.minutes(2))) struct ServeTests {
  @Test("A gateway without a terminal says no code; 'vicinity pair' gets one, for the role that is asked for")
  func pairing() throws {
    let folder = TemporaryFolder()
    let gateway = try Self.gateway(folder)
    let serving = try JSON(parsing: try gateway.line("\"serving\""))
    #expect(serving["urls"]?.list?.first?.text?.hasPrefix("https://") == true)
    #expect(serving["fingerprint"]?.text?.count == 95)
    for (role, scheme) in [("operator", "https://"), ("viewer", "http://")] {
      let pair = try Program.run("pair", "--folder", folder.path + "/gateway", "--role", role, "--json")
      let told = try JSON(parsing: pair.out)
      #expect(pair.code == 0 && told["event"] == "pairingCode" && told["role"] == .text(role), "\(pair)")
      let code = try #require(told["code"]?.text)
      let url = serving["urls"]?.list?.compactMap(\.text).first { $0.hasPrefix(scheme) }
      #expect(told["url"]?.text == "\(url ?? "")/#code=\(code)" && told["seconds"] == 600)
    }
    let socket = "\(folder.path)/gateway/pairing.socket"
    #expect(try Self.mode(of: socket) == 0o600)
    gateway.signal(SIGTERM)
    #expect(try gateway.ended() == 0 && !gateway.out.contains("pairingCode"))
    #expect(!FileManager.default.fileExists(atPath: socket))
  }

  @Test("Without a gateway, or after a kill of one, 'vicinity pair' says so; the next one takes its place")
  func nobody() throws {
    let folder = TemporaryFolder()
    let place = folder.path + "/gateway"
    let missing = try Program.run("pair", "--folder", place)
    #expect(missing.code == 3 && missing.err.contains("No gateway runs with the folder \(place)"), "\(missing)")
    let killed = try Self.gateway(folder)
    try killed.line("\"serving\"")
    killed.signal(SIGKILL)
    #expect(try killed.ended() == -SIGKILL)
    let left = try Program.run("pair", "--folder", place)
    #expect(left.code == 3 && left.err.contains("'vicinity serve'"), "\(left)")
    let next = try Self.gateway(folder)
    try next.line("\"serving\"")
    #expect(try Program.run("pair", "--folder", place, "--quiet").code == 0)
    #expect(try Program.run("pair", "--keys", "ephemeral").code == 2)
  }

  @Test("On a terminal the page's address is a pattern that a camera reads")
  func pattern() throws {
    let folder = TemporaryFolder()
    let gateway = try Self.gateway(folder)
    try gateway.line("\"serving\"")
    let pair = try Program(
      ["pair", "--folder", folder.path + "/gateway"], .terminal(columns: 80, kind: "xterm"), in: folder.path)
    #expect(try pair.ended() == 0)
    let shown = pair.out
    let url = try #require(shown.firstMatch(of: #/https://\S+#code=[A-Z0-9]{4}-[A-Z0-9]{4}/#)).output
    #expect(try Self.seen(shown, folder) == String(url))
    let narrow = try Program(
      ["pair", "--folder", folder.path + "/gateway"], .terminal(columns: 30, kind: "xterm"), in: folder.path)
    #expect(try narrow.ended() == 0 && narrow.out.contains("#code=") && !narrow.out.contains("█"))
  }

  @Test("A certificate goes with its key, and files that are none are refused with their fault")
  func files() throws {
    let alone = try Program.run("serve", "--keys", "ephemeral", "--folder", "gateway", "--certificate", "x.pem")
    #expect(alone.code == 2 && alone.err.contains("--certificate and --key go together"))
    let folder = TemporaryFolder()
    let file = try folder.write(Array("none\n".utf8), to: "x.pem")
    let wrong = try Program.run(
      "serve", "--keys", "ephemeral", "--folder", folder.path, "--port", "0", "--discovery", "static", "--certificate",
      file, "--key", file)
    #expect(wrong.code == 1 && wrong.err.contains("There is no certificate in what was given for HTTPS"), "\(wrong)")
  }

  // MARK: The stage

  private static func gateway(_ folder: TemporaryFolder) throws -> Program {
    try Program(
      [
        "serve", "--json", "--keys", "ephemeral", "--folder", folder.path + "/gateway", "--port", "0", "--discovery",
        "static",
      ], .noInput, in: folder.path)
  }

  private static func mode(of path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }

  /// A camera's view of a terminal: each line is two rows of modules, light where there are block characters.
  private static func seen(_ text: String, _ folder: TemporaryFolder) throws -> String {
    let plain = text.replacing(#/\u{1B}\[[0-9;]*m/#, with: "").replacing("\r\n", with: "\n")
    let lines = plain.split(separator: "\n").filter { $0.contains("█") && $0.allSatisfy { "█▀▄ ".contains($0) } }
    let rows = lines.flatMap { line in
      [line.map { "█▀".contains($0) }, line.map { "█▄".contains($0) }]
    }
    // A plain picture with pixels of eight points, as Netpbm has it: 1 is black.
    let (width, scale) = (rows.first?.count ?? 0, 8)
    let pixels = rows.map { row in
      let line = row.map { String(repeating: $0 ? "0 " : "1 ", count: scale) }.joined() + "\n"
      return String(repeating: line, count: scale)
    }
    let picture = "P1\n\(width * scale) \(rows.count * scale)\n" + pixels.joined()
    let path = try folder.write(Array(picture.utf8), to: "pattern.pbm")
    let camera = try #require(Tool.run("zbarimg", ["--quiet", "--raw", "--nodbus", path]), "zbar-tools is not there")
    return String(camera.text.prefix { $0 != "\n" })
  }
}
