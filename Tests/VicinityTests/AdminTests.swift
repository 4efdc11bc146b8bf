import FoundationEssentials
import Glibc
import Notation
import TestKit
import Testing

@testable import Nearby
@testable import vicinity

/// Recovery of access from the gateway's own machine.
@Suite(.ownThread, .timeLimit(.minutes(2))) struct AdminTests {
  @Test("A reset ends operators' tokens at the running gateway and shows a code; members stay, unless everybody goes")
  func running() throws {
    let folder = TemporaryFolder()
    let gateway = try Self.gateway(folder)
    let (op, member) = (try Self.token("operator", gateway, folder), try Self.token("member", gateway, folder))
    let reset = try Program.run("admin", "reset", "--folder", folder.path + "/gateway", "--json")
    let told = try reset.out.split(separator: "\n").map { try JSON(parsing: String($0)) }
    #expect(reset.code == 0 && told.first?["event"] == "reset" && told.first?["count"] == 1, "\(reset)")
    #expect(told.last?["event"] == "pairingCode" && told.last?["role"] == "operator")
    #expect(try Self.status(op, gateway) == "401" && Self.status(member, gateway) == "200")
    let all = try Program.run("admin", "reset", "--everybody", "--folder", folder.path + "/gateway")
    #expect(all.code == 0 && all.out.contains("1 token was ended\n") && all.out.contains("pairing code "), "\(all)")
    #expect(try Self.status(member, gateway) == "401")
    #expect(try Self.status(Self.token("operator", gateway, folder), gateway) == "200")
    withExtendedLifetime(folder) {}
  }

  @Test("Without a running gateway, the tokens are gone when it is started again")
  func stopped() throws {
    let folder = TemporaryFolder()
    let first = try Self.gateway(folder)
    let (op, member) = (try Self.token("operator", first, folder), try Self.token("member", first, folder))
    first.signal(SIGTERM)
    #expect(try first.ended() == 0)
    let reset = try Program.run("admin", "reset", "--folder", folder.path + "/gateway")
    #expect(reset.code == 0 && reset.out.contains("1 token was ended; no gateway runs"), "\(reset)")
    let second = try Self.gateway(folder)
    #expect(try Self.status(op, second) == "401" && Self.status(member, second) == "200")
    let nowhere = try Program.run("admin", "reset", "--folder", folder.path + "/none")
    #expect(nowhere.code == 3 && nowhere.err.contains("There is no gateway in the folder"), "\(nowhere)")
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/none"))
  }

  // MARK: The stage

  private static func gateway(_ folder: TemporaryFolder) throws -> Program {
    let gateway = try Program(
      [
        "serve", "--json", "--keys", "ephemeral", "--folder", folder.path + "/gateway", "--port", "0", "--discovery",
        "static",
      ], .noInput, in: folder.path)
    try gateway.line("\"serving\"")
    return gateway
  }

  private static func url(_ gateway: Program) throws -> String {
    let serving = try #require(gateway.out.split(separator: "\n").first { $0.contains("\"serving\"") })
    let address = try #require(JSON(parsing: String(serving))["addresses"]?.list?.first?.text)
    return "http://127.0.0.1:\(address.split(separator: ":").last ?? "")"
  }

  private static func token(_ role: String, _ gateway: Program, _ folder: TemporaryFolder) throws -> String {
    let pair = try Program.run("pair", "--folder", folder.path + "/gateway", "--role", role, "--json")
    let code = try #require(JSON(parsing: pair.out)["code"]?.text)
    let answer = try #require(
      Tool.run("curl", ["--silent", "--json", "{\"code\": \"\(code)\"}", try url(gateway) + "/v1/pairings"]))
    return try #require(JSON(parsing: answer.text)["token"]?.text)
  }

  private static func status(_ token: String, _ gateway: Program) throws -> String? {
    Tool.run(
      "curl",
      [
        "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "-H", "Authorization: Bearer \(token)",
        try url(gateway) + "/v1/peers",
      ])?.text
  }
}
