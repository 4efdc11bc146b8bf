import FoundationEssentials

@testable import lab_rig

/// A gateway on a host, and an operator there who asks it with `curl`.
@Laboratory
struct Gate {
  private static let place = "http://127.0.0.1:7777"

  let host: LabHost
  let program: Program
  private let token: String

  fileprivate init(_ host: LabHost, _ program: Program) async throws {
    let code = try await program.event("pairingCode", within: .seconds(20))
    guard let digits = code["code"] else { throw LabError("there is no code in \(code.object)") }
    (self.host, self.program) = (host, program)
    let pairing = try await host.asks("POST", "\(Self.place)/v1/pairings", .object(["code": .text(digits)]))
    guard let token = pairing["token"]?.text else { throw LabError("there is no token in \(pairing)") }
    self.token = token
  }

  /// The answer must be a good one.
  @discardableResult
  func asks(_ method: String, _ path: String, _ body: JSON? = nil, _ more: String...) async throws -> JSON {
    try await host.asks(method, Self.place + path, body, as: token, more)
  }

  /// Makes something; gives its path.
  func makes(_ path: String, _ body: JSON) async throws -> String {
    guard let id = try await asks("POST", path, body)["id"]?.text else { throw LabError("\(path): made without an ID") }
    return "\(path)/\(id)"
  }

  /// What stands in a list, and how that changes.
  func follows(_ path: String) throws -> Following {
    Following(
      program: try host.start(
        "curl", "-sN", "-H", "Authorization: Bearer \(token)", "-H", "Accept: text/event-stream", Self.place + path))
  }

  /// A peer of that name, and a session of it.
  func peer(_ name: String) async throws -> (id: String, session: String) {
    let id = try await asks("POST", "/v1/peers", ["displayName": .text(name)])["id"]?.text ?? ""
    return (id, try await makes("/v1/sessions", ["peer": .text(id), "resources": .text("accept")]))
  }

  /// One session of a peer of each, joined through an advertiser.
  static func party(_ rig: Rig, _ type: String) async throws -> [(gate: Gate, peer: String, session: String)] {
    var seats: [(gate: Gate, peer: String, session: String)] = []
    for host in rig.hosts {
      let gate = try await host.gate()
      let peer = try await gate.peer(host.name)
      seats.append((gate, peer.id, peer.session))
    }
    let (a, b) = (seats[0], seats[1])
    _ = try await a.gate.makes(
      "/v1/advertisers",
      [
        "peer": .text(a.peer), "serviceType": .text(type), "invitations": "accept",
        "session": .text(String(a.session.dropFirst("/v1/sessions/".count))),
      ])
    let browser = try await b.gate.makes("/v1/browsers", ["peer": .text(b.peer), "serviceType": .text(type)])
    try await b.gate.follows("\(browser)/found").tells("\(a.peer) is found", within: .seconds(10)) {
      $0["id"] == .text(a.peer)
    }
    try await b.gate.asks(
      "POST", "/v1/invitations",
      [
        "session": .text(String(b.session.dropFirst("/v1/sessions/".count))), "to": .text(a.peer),
        "serviceType": .text(type),
      ])
    for seat in seats {
      try await seat.gate.follows("\(seat.session)/members").tells("it is connected", within: .seconds(10)) {
        $0["state"] == "connected"
      }
    }
    return seats
  }
}

/// A list that is followed, as Server-Sent Events.
@Laboratory
struct Following {
  let program: Program

  /// The next of which it holds, be it there already or come.
  func tells(_ what: String, within time: Duration = .seconds(5), where holds: @escaping (JSON) -> Bool) async throws {
    _ = try await program.line(what, within: time) { line in
      guard line.hasPrefix("data: "), let data = try? JSON(line.dropFirst("data: ".count)) else { return false }
      return data["items"]?.list?.contains(where: holds) ?? holds(data)
    }
  }
}

extension LabHost {
  func gate(_ arguments: String...) async throws -> Gate {
    try await Gate(self, try vicinity(["serve", "--show-code"] + arguments))
  }

  fileprivate func asks(
    _ method: String, _ url: String, _ body: JSON?, as token: String? = nil, _ more: [String] = []
  ) async throws -> JSON {
    var command = ["curl", "-sS", "--fail-with-body", "-X", method]
    if let token { command += ["-H", "Authorization: Bearer \(token)"] }
    if let body { command += ["--json", try body.written()] }
    let program = try start(command + more + [url])
    guard try await program.ended(within: .seconds(30)) == .exited(0) else {
      throw LabError("\(method) \(url) on \(name) failed:\n\(program.log())")
    }
    return program.output.isEmpty ? .nothing : try JSON(program.output)
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByDictionaryLiteral {
  init(stringLiteral text: String) { self = .text(text) }

  init(dictionaryLiteral members: (String, JSON)...) {
    self = .object(Dictionary(uniqueKeysWithValues: members))
  }

  fileprivate init(_ text: some StringProtocol) throws {
    self = try JSONDecoder().decode(JSON.self, from: Data(text.utf8))
  }

  subscript(key: String) -> JSON? { if case .object(let members) = self { members[key] } else { nil } }

  var text: String? { if case .text(let text) = self { text } else { nil } }

  var count: Int? { if case .number(let number) = self { Int(exactly: number) } else { nil } }

  var list: [JSON]? { if case .list(let list) = self { list } else { nil } }

  /// Of texts alone, as these tests ask.
  fileprivate func written() throws -> String {
    guard case .object(let members) = self else { throw LabError("\(self) is no body") }
    let texts = members.compactMapValues(\.text)
    guard texts.count == members.count else { throw LabError("\(self) has more than texts") }
    return String(decoding: try JSONEncoder().encode(texts), as: UTF8.self)
  }
}
