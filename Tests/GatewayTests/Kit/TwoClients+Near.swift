internal import Notation
internal import Testing

/// Peers of one gateway, who connect by data.
extension TwoClients.SessionClient {
  /// A client with a peer and a session of it.
  static func taken(
    at gateway: TestGateway, by name: String, as known: HTTPClient? = nil, lifetime: String = "stored",
    _ wishes: JSON = [:]
  ) async throws -> TwoClients.SessionClient {
    let client: HTTPClient
    if let known { client = known } else { client = try await gateway.client() }
    let body: JSON = ["displayName": .text(name), "lifetime": .text(lifetime)]
    var side = TwoClients.SessionClient(
      gateway: gateway, client: client, peer: try await client.make("/v1/peers", body).id)
    side.session = try await client.make("/v1/sessions", wishes).id
    return side
  }

  /// Asks the other one to connect; what becomes of it is the connection's state.
  func call(_ other: TwoClients.SessionClient, timeout: JSON = 60) async throws -> Answer {
    let data = try await other.client.get("\(other.path)/connection-data").json
    return try await client.make("\(path)/connections", .object((data.members ?? []) + [.init("timeout", timeout)]))
  }

  func end(of call: Answer) async throws -> JSON {
    try await client.wait(in: "\(path)/connections") { $0["id"] == .text(call.id) && $0["state"] != "pending" }
  }

  /// Both ask at once.
  func connect(with other: TwoClients.SessionClient) async throws {
    let (one, two) = (try await call(other), try await other.call(self))
    let ends = (try await end(of: one), try await other.end(of: two))
    try #require(ends.0["state"] == "connected" && ends.1["state"] == "connected", "\(ends.0.line) \(ends.1.line)")
    for (side, other) in [(self, other), (other, self)] {
      _ = try await side.client.wait(in: "\(side.path)/members") {
        $0["peer"] == .text(other.peer) && $0["state"] == "connected"
      }
    }
  }
}

extension TwoClients {
  /// Both at the same gateway.
  static func near(at gateway: TestGateway, _ wishes: JSON = [:]) async throws -> TwoClients {
    let meeting = TwoClients(
      anna: try await .taken(at: gateway, by: "Anna", wishes),
      bert: try await .taken(at: gateway, by: "Bert", wishes))
    try await meeting.anna.connect(with: meeting.bert)
    return meeting
  }
}
