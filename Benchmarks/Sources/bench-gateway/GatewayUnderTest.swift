internal import Foundation
internal import Programs

/// `vicinity serve` as people start it, in a folder of its own, and what is asked of it in between.
final class GatewayUnderTest {
  let process: Child
  let port: Int
  let token: String
  private let name: String

  init(
    _ name: String, port: Int, at others: [Int], in folder: String, by program: [String] = [program("vicinity")]
  ) throws {
    self.name = name
    self.port = port
    process = try Self.start(program, name, port, others, in: folder, "--show-code", "--json")
    while true {
      if let code = try Self.object(process.line())["code"] as? String {
        let pairing = try Self.ask("POST", port, "/v1/pairings", nil, ["code": code, "name": "bench"])
        guard let token = pairing["token"] as? String else { throw Failure("the gateway gives no token: \(pairing)") }
        self.token = token
        return
      }
    }
  }

  /// After its process has ended.
  private init(_ other: GatewayUnderTest, _ process: Child) {
    (name, port, token, self.process) = (other.name, other.port, other.token, process)
  }

  private static func start(
    _ program: [String], _ name: String, _ port: Int, _ others: [Int], in folder: String, _ options: String...
  ) throws -> Child {
    var command = ["env", "XDG_DATA_HOME=\(folder)/\(name)"] + program + ["serve"] + options
    command += ["--name", name, "--port", "\(port)", "--discovery", "static", "--log-level", "warning"]
    for other in others { command += ["--at", "127.0.0.1:\(other)"] }
    return try Child(command)
  }

  /// The same gateway after its process has ended, and how many seconds it took until it was ready.
  func again(in folder: String) throws -> (gateway: GatewayUnderTest, seconds: Double) {
    let start = now()
    let gateway = GatewayUnderTest(self, try Self.start([program("vicinity")], name, port, [], in: folder))
    let ask = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}\\n", "http://127.0.0.1:\(port)/readyz"]
    while try Child(ask).line() != "200" {
      if now() > start + 60 { throw Failure("the gateway is not ready after a minute") }
    }
    return (gateway, now() - start)
  }

  @discardableResult
  func ask(_ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> [String: Any] {
    try Self.ask(method, port, path, token, body)
  }

  func text(_ field: String, _ method: String, _ path: String, _ body: [String: Any]? = nil) throws -> String {
    let answer = try ask(method, path, body)
    guard let text = answer[field] as? String else { throw Failure("\(method) \(path) is answered with \(answer)") }
    return text
  }

  /// The token of another client.
  func pair(_ name: String) throws -> String {
    let code = try text("code", "POST", "/v1/pairing-codes", ["role": "member"])
    let pairing = try Self.ask("POST", port, "/v1/pairings", nil, ["code": code, "name": name])
    guard let token = pairing["token"] as? String else { throw Failure("the gateway gives no token: \(pairing)") }
    return token
  }

  /// One of its numbers, that has no labels.
  func count(_ metric: String) throws -> Double {
    let command = "curl -s http://127.0.0.1:\(port)/metrics | grep '^\(metric) '"
    return try number(Child(["sh", "-c", command]).line().split(separator: " "), 1)
  }

  /// The history of a session: none, in memory, or in the gateway's store.
  enum Keep: String { case none, memory, durable }

  func peer(_ name: String) throws -> String { try text("id", "POST", "/v1/peers", ["displayName": name]) }

  /// A new peer's session, which joins all others of its type.
  func session(_ peer: String, _ type: String, _ keep: Keep = .durable, keeping limits: [String: Int] = [:]) throws
    -> String
  {
    try session(of: self.peer(peer), type, keep, keeping: limits)
  }

  func session(of id: String, _ type: String, _ keep: Keep, keeping limits: [String: Int] = [:]) throws -> String {
    let history = (limits as [String: Any]).merging(["keep": keep.rawValue]) { $1 }
    let wishes: [String: Any] = ["peer": id, "adhoc": type, "history": history]
    return "/v1/sessions/" + (try text("id", "POST", "/v1/sessions", wishes))
  }

  func waitForMember(of session: String) throws -> String {
    try wait("nobody joins the session") {
      let items = try self.ask("GET", "\(session)/members?state=connected")["items"] as? [[String: Any]]
      return items?.first?["id"] as? String
    }
  }

  func wait<Value>(_ complaint: String, for value: () throws -> Value?) throws -> Value {
    let end = now() + 30
    while now() < end {
      if let value = try value() { return value }
      pass(0.02)
    }
    throw Failure(complaint)
  }

  private static func ask(
    _ method: String, _ port: Int, _ path: String, _ token: String?, _ body: [String: Any]?
  ) throws -> [String: Any] {
    var command = ["curl", "-s", "--max-time", "30", "-X", method, "http://127.0.0.1:\(port)\(path)", "-w", "\\n"]
    if let token { command += ["-H", "Authorization: Bearer \(token)"] }
    if let body {
      let json = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
      command += ["-H", "Content-Type: application/json", "--data-binary", json]
    }
    return try object(Child(command).line())
  }

  private static func object(_ line: String) throws -> [String: Any] {
    if line.isEmpty { return [:] }
    guard let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
      throw Failure("the gateway says what is no object: \(line)")
    }
    return object
  }
}
