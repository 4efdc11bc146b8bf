import FoundationEssentials
import Glibc
import Notation
import TestKit
import Testing

@testable import vicinity

/// A gateway in a process of its own, and a client of it that uses curl.
final class GatewayClient {
  struct Refused: Error, CustomStringConvertible {
    let description: String
  }

  let program: Program
  private let name: String
  private let folder: String
  private let url: String
  let port: String
  private var token = ""
  private(set) var peer = ""
  private(set) var session = ""

  /// A client with a peer of that name, in a session that accepts files automatically.
  convenience init(
    _ name: String, in folder: TemporaryFolder, _ options: [String] = [], environment: [String: String] = [:],
    role: String = "member", through: [String] = []
  ) throws {
    try self.init(served: name, folder.path, options, environment, through)
    let pair = try Program.run("pair", "--folder", "\(folder.path)/\(name)/gateway", "--role", role, "--json")
    let code = try #require(try JSON(parsing: pair.out)["code"])
    token = try ask("POST", "/v1/pairings", ["code": code])["token"]?.text ?? ""
    peer = try ask("POST", "/v1/peers", ["displayName": .text(name)])["id"]?.text ?? ""
    session = try ask("POST", "/v1/sessions", ["resources": "accept"])["id"]?.text ?? ""
  }

  /// The same client of the same gateway, which was started anew.
  convenience init(again before: GatewayClient, _ options: [String] = []) throws {
    try self.init(served: before.name, before.folder, options, [:])
    (token, peer, session) = (before.token, before.peer, before.session)
  }

  private init(
    served name: String, _ folder: String, _ options: [String], _ environment: [String: String],
    _ through: [String] = []
  ) throws {
    (self.name, self.folder) = (name, folder)
    program = try Program(
      Self.serving(name, in: folder) + options, .noInput, in: folder, environment: environment, through: through)
    let serving = try JSON(parsing: try program.line("\"serving\""))
    port = String(
      try #require(serving["urls"]?.list?.first?.text?.split(separator: ":").last?.prefix { $0.isNumber }))
    url = "http://127.0.0.1:\(port)"
  }

  /// The arguments with which the gateway of that name is started.
  static func serving(_ name: String, in folder: String, at port: String = "0") -> [String] {
    let place = "\(folder)/\(name)"
    return ["serve", "--json", "--keys", "\(place)/keys", "--folder", "\(place)/gateway", "--port", port]
  }

  var path: String { "/v1/sessions/\(session)" }

  /// The answer, which has a status below 400.
  @discardableResult
  func ask(_ method: String, _ path: String, _ body: JSON? = nil) throws -> JSON {
    let text = try curl(
      ["-X", method, "\(url)\(path)"] + (body.map { ["-H", "Content-Type: application/json", "-d", $0.line] } ?? []))
    return text.isEmpty ? .null : try JSON(parsing: text)
  }

  func upload(_ file: String, to path: String) throws { try curl(["-T", file, "\(url)\(path)"]) }
  func download(_ path: String, to file: String) throws { try curl(["-o", file, "\(url)\(path)"]) }

  /// One that goes on meanwhile.
  func begin(_ arguments: [String], _ path: String) throws -> Program {
    try Program(options + arguments + ["\(url)\(path)"], .noInput, in: folder, running: "/usr/bin/curl")
  }

  private var options: [String] {
    ["-sS", "--fail-with-body", "--max-time", "100", "-H", "Authorization: Bearer \(token)"]
  }

  @discardableResult
  private func curl(_ arguments: [String]) throws -> String {
    let options = token.isEmpty ? Array(options.dropLast(2)) : options
    let curl = try Program(options + arguments, .noInput, in: folder, running: "/usr/bin/curl")
    guard try curl.ended(within: 110) == 0 else { throw Refused(description: "\(arguments): \(curl.out)\(curl.err)") }
    return curl.out
  }

  /// Asks again, from where it was, until a list has a thing that is meant.
  func wait(in list: String, _ isMeant: (JSON) -> Bool) throws -> JSON {
    var answer = try ask("GET", list)
    for _ in 0..<1_000 {
      let items = (answer["items"]?.list ?? []) + (answer["changes"]?.list ?? []).compactMap { $0["put"] }
      if let item = items.first(where: isMeant) { return item }
      answer = try ask("GET", "\(list)?since=\(answer["position"]?.text ?? "")&wait=20")
    }
    throw Refused(description: "nothing came in \(list)")
  }

  /// Connects both sessions by each other's connection data.
  func connect(with other: GatewayClient) throws {
    let (here, there) = (
      try ask("GET", "\(path)/connection-data"), try other.ask("GET", "\(other.path)/connection-data")
    )
    try ask("POST", "\(path)/connections", there)
    try other.ask("POST", "\(other.path)/connections", here)
    for client in [self, other] { _ = try client.wait(in: "\(client.path)/members") { $0["state"] == "connected" } }
  }

  /// The most memory that its process had at any time since that was asked to begin anew, in bytes.
  var memoryPeak: Int {
    get throws {
      let status = try String(contentsOfFile: "/proc/\(program.process)/status", encoding: .utf8)
      let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
      return try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) }) << 10
    }
  }

  /// Resets the peak of resident memory.
  func resetPeak() throws {
    let file = open("/proc/\(program.process)/clear_refs", O_WRONLY)
    defer { close(file) }
    // 5 means the peak, as proc(5) says.
    try #require(write(file, "5", 1) == 1)
  }
}
