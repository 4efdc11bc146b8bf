internal import Notation
internal import Testing

/// Peers of one gateway, who connect by data.
extension Meeting.Seat {
  /// A client with a peer and a session of it.
  static func taken(
    at place: Place, by name: String, as known: Asker? = nil, lifetime: String = "stored", _ wishes: JSON = [:]
  ) async throws -> Meeting.Seat {
    let client: Asker
    if let known { client = known } else { client = try await place.client() }
    let body: JSON = ["displayName": .text(name), "lifetime": .text(lifetime)]
    var seat = Meeting.Seat(place: place, client: client, peer: try await client.make("/v1/peers", body).id)
    seat.session = try await client.make("/v1/sessions", wishes).id
    return seat
  }

  /// Asks the other one to connect; what becomes of it is the connection's state.
  func call(_ other: Meeting.Seat, timeout: JSON = 60) async throws -> Answer {
    let data = try await other.client.get("\(other.path)/connection-data").json
    return try await client.make("\(path)/connections", .object((data.members ?? []) + [.init("timeout", timeout)]))
  }

  func end(of call: Answer) async throws -> JSON {
    try await client.wait(in: "\(path)/connections") { $0["id"] == .text(call.id) && $0["state"] != "pending" }
  }

  /// Both ask at once.
  func connect(with other: Meeting.Seat) async throws {
    let (one, two) = (try await call(other), try await other.call(self))
    let ends = (try await end(of: one), try await other.end(of: two))
    try #require(ends.0["state"] == "connected" && ends.1["state"] == "connected", "\(ends.0.line) \(ends.1.line)")
    for (seat, other) in [(self, other), (other, self)] {
      _ = try await seat.client.wait(in: "\(seat.path)/members") {
        $0["peer"] == .text(other.peer) && $0["state"] == "connected"
      }
    }
  }
}

extension Meeting {
  /// Both at the same gateway.
  static func near(at place: Place, _ wishes: JSON = [:]) async throws -> Meeting {
    let meeting = Meeting(
      anna: try await .taken(at: place, by: "Anna", wishes),
      bert: try await .taken(at: place, by: "Bert", wishes))
    try await meeting.anna.connect(with: meeting.bert)
    return meeting
  }
}
