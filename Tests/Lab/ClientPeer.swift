import FoundationEssentials

@testable import lab_rig

/// A peer of a gateway's client, and one of its sessions.
@Laboratory
struct ClientPeer {
  let gate: Gate
  /// Its peer ID.
  let peer: String
  /// The path of its session.
  let session: String

  static func open(_ gate: Gate, peer: String, _ wishes: [String: JSON] = [:]) async throws -> ClientPeer {
    let body = JSON.object(wishes.merging(["peer": .text(peer)]) { $1 })
    return ClientPeer(gate: gate, peer: peer, session: try await gate.makes("/v1/sessions", body))
  }

  var sessionID: String { String(session.dropFirst("/v1/sessions/".count)) }

  /// The same peer with another session.
  func openSession(_ wishes: [String: JSON] = [:]) async throws -> ClientPeer {
    try await Self.open(gate, peer: peer, wishes)
  }

  // MARK: Meeting

  /// Gives the path of the advertiser.
  @discardableResult
  func advertise(_ type: String, _ more: [String: JSON] = [:]) async throws -> String {
    try await gate.makes(
      "/v1/advertisers", .object(["peer": .text(peer), "serviceType": .text(type)].merging(more) { $1 }))
  }

  /// Gives the path of the list of the peers that are found.
  @discardableResult
  func browse(_ type: String) async throws -> String {
    try await gate.makes("/v1/browsers", ["peer": .text(peer), "serviceType": .text(type)]) + "/found"
  }

  /// Gives the ID of the invitation.
  @discardableResult
  func invite(_ other: String, _ type: String, _ more: [String: JSON] = [:]) async throws -> String {
    let body: [String: JSON] = ["session": .text(sessionID), "to": .text(other), "serviceType": .text(type)]
    let made = try await gate.asks("POST", "/v1/invitations", .object(body.merging(more) { $1 }))
    guard let id = made["id"]?.text else { throw LabError("there is no ID in \(made)") }
    return id
  }

  /// Finds another client's peer, which accepts every invitation, and connects with it.
  func join(_ other: ClientPeer, _ type: String) async throws {
    let found = try await browse(type)
    try await gate.wait(in: found, "\(other.peer) is found") { $0["id"] == .text(other.peer) }
    try await invite(other.peer, type)
    try await meets(other.peer)
    try await other.meets(peer)
  }

  /// The outcome of an invitation that was made here.
  func end(of invitation: String, within time: Duration = .seconds(10)) async throws -> JSON {
    try await gate.wait(in: "/v1/invitations", "the end of \(invitation)", within: time) {
      $0["id"] == .text(invitation) && $0["state"] != "pending"
    }
  }

  /// The invitation that waits for an answer here.
  func invitation(from other: String, within time: Duration = .seconds(10)) async throws -> JSON {
    try await gate.wait(in: "/v1/invitations", "an invitation from \(other)", within: time) {
      $0["from"] == .text(other) && $0["peer"] == .text(peer) && $0["state"] == "pending"
    }
  }

  func answer(_ invitation: JSON, _ state: JSON) async throws {
    var body: [String: JSON] = ["state": state]
    if state == "accepted" { body["session"] = .text(sessionID) }
    try await gate.asks("PATCH", "/v1/invitations/\(invitation["id"]?.text ?? "")", .object(body))
  }

  // MARK: In the session

  @discardableResult
  func meets(_ other: String, within time: Duration = .seconds(10)) async throws -> JSON {
    try await gate.wait(in: "\(session)/members", "\(other) is connected", within: time) {
      $0["peer"] == .text(other) && $0["state"] == "connected"
    }
  }

  @discardableResult
  func sees(_ other: String, leaveAs reason: JSON, within time: Duration = .seconds(10)) async throws -> JSON {
    try await gate.wait(in: "\(session)/members", "\(other) is not connected: \(reason)", within: time) {
      $0["peer"] == .text(other) && $0["state"] == "notConnected" && $0["reason"] == reason
    }
  }

  /// The peers of the members that are connected.
  func connected() async throws -> [String] {
    let items = try await gate.asks("GET", "\(session)/members?state=connected")["items"]?.list ?? []
    return items.compactMap { $0["peer"]?.text }.sorted()
  }

  /// Gives the message.
  @discardableResult
  func send(_ text: String, _ query: String = "") async throws -> JSON {
    try await gate.asks(
      "POST", "\(session)/messages\(query)", nil, "-H", "Content-Type: text/plain", "--data-raw", text)
  }

  @discardableResult
  func hears(_ text: String, within time: Duration = .seconds(10)) async throws -> JSON {
    try await gate.wait(in: "\(session)/messages", "the message '\(text)'", within: time) { $0["body"] == .text(text) }
  }

  /// The texts of what another one said, in order.
  func messages(from other: String) async throws -> [String] {
    let path = "\(session)/messages?limit=1000&from=\(other)"
    return try await gate.asks("GET", path)["items"]?.list?.compactMap { $0["body"]?.text } ?? []
  }

  /// The paths of what events of a kind were about, where that is in this session.
  func subjects(of event: String) async throws -> [String] {
    try await gate.subjects(of: event).filter { $0.hasPrefix(session) }
  }
}

extension ScriptedPeer {
  /// Finds it, invites it, and is connected with it.
  func invites(_ other: ClientPeer, _ type: String) async throws {
    try program.say("browse \(type) a \(type)")
    try await program.event("found", within: .seconds(10)) { $0["peer"] == other.peer }
    try program.say("invite s \(other.peer) \(type) 10")
    try await program.event("connected", within: .seconds(10)) { $0["peer"] == other.peer && $0["on"] == "s" }
    try await other.meets(peer)
  }
}
