import FoundationEssentials

@testable import lab_rig

/// A gateway on a host, and an operator there who uses `curl`.
@Laboratory
struct Gate {
  private static let place = "http://127.0.0.1:7777"

  let host: LabHost
  let program: Program
  private let token: String

  private init(_ host: LabHost, _ program: Program, token: String) {
    (self.host, self.program, self.token) = (host, program, token)
  }

  fileprivate init(_ host: LabHost, _ program: Program) async throws {
    let code = try await program.event("pairingCode", within: .seconds(20))
    guard let digits = code["code"] else { throw LabError("there is no code in \(code.object)") }
    let pairing = try await host.asks("POST", "\(Self.place)/v1/pairings", .object(["code": .text(digits)]))
    guard let token = pairing["token"]?.text else { throw LabError("there is no token in \(pairing)") }
    self.init(host, program, token: token)
  }

  /// The same gateway and operator, once its program has ended.
  func restart() async throws -> Gate {
    let program = try host.vicinity(["serve"])
    try await program.event("serving", within: .seconds(20))
    return Gate(host, program, token: token)
  }

  /// A WebSocket of the operator.
  func openSocket() async throws -> GateSocket { try await GateSocket(host, token: token) }

  /// The answer must be a good one.
  @discardableResult
  func asks(_ method: String, _ path: String, _ body: JSON? = nil, _ more: String...) async throws -> JSON {
    try await host.asks(method, Self.place + path, body, as: token, more)
  }

  /// A request that goes on while others are made.
  func begin(_ method: String, _ path: String, _ more: String...) throws -> Program {
    try host.curl(method, Self.place + path, nil, as: token, more)
  }

  /// The problem that a request is refused with.
  func refusal(_ method: String, _ path: String, _ body: JSON? = nil, _ more: String...) async throws -> JSON {
    let program = try host.curl(method, Self.place + path, body, as: token, more)
    // curl's exit code after a response of 400 and above.
    let refused: CInt = 22
    guard try await program.ended(within: .seconds(30)) == .exited(refused) else {
      throw LabError("\(method) \(path) was not refused:\n\(program.log())")
    }
    return try JSON(program.lines.first { $0.kind == .output }?.text ?? "")
  }

  /// Makes something; gives its path.
  func makes(_ path: String, _ body: JSON) async throws -> String {
    guard let id = try await asks("POST", path, body)["id"]?.text else { throw LabError("\(path): made without an ID") }
    return "\(path)/\(id)"
  }

  /// A list, and how it changes.
  func follows(_ path: String) throws -> Following {
    Following(
      program: try host.start(
        "curl", "-sN", "-H", "Authorization: Bearer \(token)", "-H", "Accept: text/event-stream", Self.place + path))
  }

  /// The first item of a list of which it holds, now or later.
  @discardableResult
  func wait(
    in path: String, _ what: String, within time: Duration = .seconds(10), where holds: @escaping (JSON) -> Bool
  ) async throws -> JSON {
    let following = try follows(path)
    let item = try await following.tells(what, within: time, where: holds)
    try await following.program.end()
    return item
  }

  /// The paths of what events of a kind were about, oldest first.
  func subjects(of event: String) async throws -> [String] {
    let items = try await asks("GET", "/v1/events?limit=1000&event=\(event)")["items"]?.list ?? []
    return items.compactMap { $0["about"]?.text }
  }

  /// A peer of that name, and a session of it.
  func peer(_ name: String, _ wishes: [String: JSON] = ["resources": "accept"]) async throws -> ClientPeer {
    let id = try await asks("POST", "/v1/peers", ["displayName": .text(name)])["id"]?.text ?? ""
    return try await ClientPeer.open(self, peer: id, wishes)
  }

  /// One session of a peer of each, joined through an advertiser.
  static func party(_ rig: Rig, _ type: String) async throws -> [ClientPeer] {
    var peers: [ClientPeer] = []
    for host in rig.hosts { peers.append(try await host.gate().peer(host.name)) }
    let (a, b) = (peers[0], peers[1])
    try await a.advertise(type, ["invitations": "accept", "session": .text(a.sessionID)])
    try await b.join(a, type)
    return peers
  }
}

/// A list that is followed, as Server-Sent Events.
@Laboratory
struct Following {
  let program: Program

  /// The next item of which it holds, be it there already or come.
  @discardableResult
  func tells(
    _ what: String, within time: Duration = .seconds(5), where holds: @escaping (JSON) -> Bool
  ) async throws -> JSON {
    let line = try await program.line(what, within: time) { Self.items(in: $0).contains(where: holds) }
    guard let item = Self.items(in: line).first(where: holds) else { throw LabError("'\(line)' does not tell \(what)") }
    return item
  }

  /// All items that were received so far.
  var items: [JSON] { program.lines.filter { $0.kind == .output }.flatMap { Self.items(in: $0.text) } }

  private static func items(in line: String) -> [JSON] {
    guard line.hasPrefix("data: "), let data = try? JSON(line.dropFirst("data: ".count)) else { return [] }
    return data["items"]?.list ?? [data]
  }
}

extension LabHost {
  func gate(_ arguments: String...) async throws -> Gate { try await gate(arguments) }

  func gate(_ arguments: [String]) async throws -> Gate {
    try await Gate(self, try vicinity(["serve", "--show-code"] + arguments))
  }

  fileprivate func curl(
    _ method: String, _ url: String, _ body: JSON?, as token: String?, _ more: [String]
  ) throws -> Program {
    var command = ["curl", "-sS", "--fail-with-body", "-X", method]
    if let token { command += ["-H", "Authorization: Bearer \(token)"] }
    if let body { command += ["--json", try body.written()] }
    return try start(command + more + [url])
  }

  fileprivate func asks(
    _ method: String, _ url: String, _ body: JSON?, as token: String? = nil, _ more: [String] = []
  ) async throws -> JSON {
    let program = try curl(method, url, body, as: token, more)
    guard try await program.ended(within: .seconds(30)) == .exited(0) else {
      throw LabError("\(method) \(url) on \(name) failed:\n\(program.log())")
    }
    return program.output.isEmpty ? .nothing : try JSON(program.output)
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral
{
  init(stringLiteral text: String) { self = .text(text) }

  init(arrayLiteral list: JSON...) { self = .list(list) }

  init(booleanLiteral truth: Bool) { self = .truth(truth) }

  init(integerLiteral number: Int) { self = .number(Double(number)) }

  init(dictionaryLiteral members: (String, JSON)...) {
    self = .object(Dictionary(uniqueKeysWithValues: members))
  }

  init(_ text: some StringProtocol) throws {
    self = try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
  }

  subscript(key: String) -> JSON? { if case .object(let members) = self { members[key] } else { nil } }

  var text: String? { if case .text(let text) = self { text } else { nil } }

  var count: Int? { if case .number(let number) = self { Int(exactly: number) } else { nil } }

  var list: [JSON]? { if case .list(let list) = self { list } else { nil } }

  func written() throws -> String { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
}
