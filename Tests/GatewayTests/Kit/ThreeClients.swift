internal import Notation
internal import Testing

/// Clients of three gateways, each with a peer and a session of it. Bert's gateway knows Anna's address, and Anna's
/// knows Cora's; nothing gives Bert's gateway Cora's address.
struct ThreeClients {
  let anna: TwoClients.SessionClient
  let bert: TwoClients.SessionClient
  let cora: TwoClients.SessionClient

  var all: [TwoClients.SessionClient] { [anna, bert, cora] }

  static func hold(_ wishes: JSON = [:], _ test: (ThreeClients) async throws -> Void) async throws {
    let third = try await TestGateway.open("Third")
    let first = try await TestGateway.open("First", nextTo: third)
    let second = try await TestGateway.open("Second", nextTo: first)
    do {
      let circle = ThreeClients(
        anna: try await .taken(at: first, by: "Anna", wishes), bert: try await .taken(at: second, by: "Bert", wishes),
        cora: try await .taken(at: third, by: "Cora", wishes))
      try await test(circle)
    } catch {
      for gateway in [second, first, third] { await gateway.close() }
      throw error
    }
    for gateway in [second, first, third] { await gateway.close() }
  }

  /// Bert invites Anna, and then Anna invites Cora.
  func gather() async throws {
    try await bert.invite(anna)
    try await anna.invite(cora)
    for (side, other) in [(bert, cora), (cora, bert), (anna, cora), (anna, bert), (bert, anna), (cora, anna)] {
      _ = try await side.sees(other, "connected")
    }
  }
}

extension TwoClients.SessionClient {
  /// Into this one's session; the other takes every invitation.
  func invite(_ other: TwoClients.SessionClient) async throws {
    _ = try await other.client.make(
      "/v1/advertisers", ["serviceType": "circle", "invitations": "accept", "session": .text(other.session)])
    let browser = try await client.make("/v1/browsers", ["serviceType": "circle"])
    _ = try await client.wait(in: browser.json["found"]?.text ?? "", "id", .text(other.peer))
    _ = try await client.make(
      "/v1/invitations", ["session": .text(session), "to": .text(other.peer), "serviceType": "circle"])
    _ = try await sees(other, "connected")
  }

  func sees(_ other: TwoClients.SessionClient, _ state: JSON) async throws -> JSON {
    try await client.wait(in: "\(path)/members") { $0["peer"] == .text(other.peer) && $0["state"] == state }
  }

  /// A channel of the session by a WebSocket of its own.
  func follow(_ list: String) async throws -> (talk: Talk, number: JSON) {
    let talk = try await Talk.connected(client)
    let answer = try await talk.ask(["id": 1, "subscribe": ["channel": .text("\(path)/\(list)")]])
    return (talk, try #require(answer["ok"]?["number"], "\(answer.line)"))
  }

  /// The events of these kinds that concern the session's resources.
  func sessionEvents(_ words: Set<String>) async throws -> [JSON] {
    let items = try await client.get("/v1/events?limit=1000").json["items"]?.list ?? []
    return items.filter {
      words.contains($0["event"]?.text ?? "") && $0["about"]?.text?.hasPrefix("\(path)/") == true
    }
  }
}
