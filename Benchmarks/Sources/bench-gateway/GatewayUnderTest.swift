internal import Foundation
internal import Programs

/// `vicinity serve` as people start it, in a folder of its own, and what is asked of it in between.
final class GatewayUnderTest {
  let process: Child
  let port: Int
  let token: String

  init(_ name: String, port: Int, at others: [Int], in folder: String) throws {
    self.port = port
    var command = ["env", "XDG_DATA_HOME=\(folder)/\(name)", program("vicinity"), "serve", "--show-code", "--json"]
    command += ["--name", name, "--port", "\(port)", "--discovery", "static"]
    for other in others { command += ["--at", "127.0.0.1:\(other)"] }
    process = try Child(command)
    while true {
      if let code = try Self.object(process.line())["code"] as? String {
        let pairing = try Self.ask("POST", port, "/v1/pairings", nil, ["code": code, "name": "bench"])
        guard let token = pairing["token"] as? String else { throw Failure("the gateway gives no token: \(pairing)") }
        self.token = token
        return
      }
    }
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

  /// Where the messages of a session are: for as long as the process, or in its store.
  enum Keep: String { case memory, durable }

  /// A new peer's session, which joins all others of its type.
  func session(_ peer: String, _ type: String, _ keep: Keep = .durable) throws -> String {
    let id = try text("id", "POST", "/v1/peers", ["displayName": peer])
    let wishes: [String: Any] = ["peer": id, "adhoc": type, "history": ["keep": keep.rawValue]]
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
