internal import Foundation
internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Clients say whom they trust", .timeLimit(.minutes(3)), .serialized)
struct TrustTests {
  private struct Side {
    let client: HTTPClient
    let peer: String
    var path = ""

    static func side(_ gateway: TestGateway, _ name: String) async throws -> Side {
      let client = try await gateway.client("operator")
      return Side(client: client, peer: try await client.make("/v1/peers", ["displayName": .text(name)]).id)
    }

    mutating func open(_ wishes: JSON = [:]) async throws {
      path = try await client.make("/v1/sessions", wishes)["Location"] ?? ""
    }

    /// Both at once, each by the other's data.
    func meet(_ other: Side) async throws -> Answer {
      let (here, there) = (
        try await client.get("\(path)/connection-data").json,
        try await other.client.get("\(other.path)/connection-data").json
      )
      _ = try await other.client.make("\(other.path)/connections", here)
      return try await client.make("\(path)/connections", there)
    }

    func wait(in list: String, _ name: String, _ value: JSON) async throws -> JSON {
      try await client.wait(in: "\(path)/\(list)", name, value)
    }
  }

  private func atPlaces(_ test: (Side, Side) async throws -> Void) async throws {
    try await withGateway { here in
      try await withGateway { there in
        try await test(try await Side.side(here, "Anna"), try await Side.side(there, "Bert"))
      }
    }
  }

  @Test("P-SEC-2 P-SEC-3 P-SEC-4 A peer that shows an identity is decided on, beside the anchors' verdict")
  func deciding() async throws {
    let certificates = try TestCertificates()
    try await atPlaces { anna, bert in
      var (anna, bert) = (anna, bert)
      let identity = try await bert.client.make(
        "/v1/identities", ["data": .text(certificates.identity), "encoding": "base64", "password": "secret"])
      #expect(identity.json["certificates"]?.list?.first?["subject"] == "CN = Bert")
      #expect(!identity.text.contains("PRIVATE"))
      let anchors = try await anna.client.make("/v1/anchors", ["pem": .text(certificates.root)])
      #expect(anchors.json["items"]?.list?.count == 1)
      try await anna.open(["trust": "ask"])
      try await bert.open(["identity": .text(identity.id)])
      _ = try await anna.meet(bert)
      let decision = try await anna.wait(in: "certificates", "state", "pending")
      #expect(decision["peer"] == .text(bert.peer) && decision["trusted"] == true)
      #expect(decision["chain"] == identity.json["certificates"])
      let path = "\(anna.path)/certificates/\(decision["id"]?.text ?? "")"
      #expect(try await anna.client.patch(path, ["decision": "trust", "remember": true]).status == 204)
      let member = try await anna.wait(in: "members", "state", "connected")
      #expect(member["verified"] == true)
      // The certificates that were decided on remain visible.
      #expect(member["chain"] == identity.json["certificates"] && member["encryption"] == "optional")
      #expect(try await bert.wait(in: "members", "state", "connected")["chain"] == nil)
      #expect(try await anna.client.get("/v1/trusted-peers").ids == [bert.peer])
      #expect(try await anna.client.get("\(anna.path)/certificates").ids == [])
      // The anchors' signature suffices for a session that trusts anchors, until they are removed.
      for (isThere, state) in [(true, "connected"), (false, "failed")] as [(Bool, JSON)] {
        if !isThere { #expect(try await anna.client.delete(anchors["Location"] ?? "").status == 204) }
        try await anna.open(["trust": "anchors"])
        try await bert.open(["identity": .text(identity.id)])
        let met = try await anna.meet(bert)
        let end = try await anna.client.wait(in: "\(anna.path)/connections") {
          $0["id"] == .text(met.id) && $0["state"] != "pending"
        }
        #expect(end["state"] == state, "\(end.line)")
      }
      let deeds = try await anna.client.get("/v1/audit?by=rule").json["items"]?.list ?? []
      #expect(
        deeds.map { $0["deed"] } == ["accepted", "declined"] && deeds.allSatisfy { $0["peer"] == .text(bert.peer) })
      #expect(try await anna.client.get("/v1/anchors").ids == [])
      #expect(try await bert.client.delete(identity["Location"] ?? "").status == 204)
      #expect(try await bert.client.get("/v1/identities").ids == [])
    }
  }

  @Test("P-SEC-5 Two clients compare one code, and know each other where both say that it is the same")
  func comparing() async throws {
    try await atPlaces { anna, bert in
      var (anna, bert) = (anna, bert)
      try await anna.open()
      try await bert.open()
      _ = try await anna.meet(bert)
      _ = try await bert.wait(in: "members", "state", "connected")
      #expect(try await anna.wait(in: "members", "state", "connected")["verified"] == false)
      for (matches, state) in [(false, "mismatched"), (true, "matched")] as [(Bool, JSON)] {
        let made = try await anna.client.make("\(anna.path)/comparisons", ["member": .text(bert.peer)])
        let (hers, his) = (
          try await anna.wait(in: "comparisons", "state", "pending"),
          try await bert.wait(in: "comparisons", "state", "pending")
        )
        #expect(hers["code"] != nil && hers["code"] == his["code"])
        let again = try await anna.client.post("\(anna.path)/comparisons", ["member": .text(bert.peer)])
        #expect(again.status == 409)
        #expect(try await anna.client.patch(made["Location"] ?? "", [:]).json["field"] == "matches")
        #expect(try await anna.client.patch(made["Location"] ?? "", ["matches": .bool(matches)]).status == 200)
        if matches {
          let path = "\(bert.path)/comparisons/\(his["id"]?.text ?? "")"
          #expect(try await bert.client.patch(path, ["matches": true]).status == 200)
        }
        _ = try await anna.wait(in: "comparisons", "state", state)
        _ = try await bert.wait(in: "comparisons", "state", state)
      }
      for (side, other) in [(anna, bert), (bert, anna)] {
        let known = try await side.client.get("/v1/trusted-peers/\(other.peer)").json
        #expect(known["confirmation"] == "code")
        #expect(try await side.wait(in: "members", "state", "connected")["verified"] == true)
      }
      #expect(try await anna.client.delete("/v1/trusted-peers/\(bert.peer)").status == 204)
      #expect(try await anna.wait(in: "members", "state", "connected")["verified"] == false)
    }
  }

  @Test("Identities and anchors are for operators, and what is none is refused")
  func refusals() async throws {
    let certificates = try TestCertificates()
    try await withGateway { gateway in
      let (chief, member) = (try await gateway.client("operator"), try await gateway.client())
      let file: JSON = .text(certificates.identity)
      for path in ["/v1/identities", "/v1/anchors"] {
        #expect(try await member.get(path).status == 403)
        #expect(try await member.post(path).status == 403)
      }
      #expect(try await member.post("/v1/trusted-peers").status == 403)
      for (path, body, field) in [
        ("/v1/identities", ["data": file, "password": "wrong"], "data"), ("/v1/identities", ["data": "AQID"], "data"),
        ("/v1/identities", ["data": "?"], "data"), ("/v1/anchors", ["pem": "nothing"], "pem"),
        ("/v1/trusted-peers", ["peer": "x", "displayName": "y"], "peer"),
        ("/v1/trusted-peers", ["peer": .text(String(repeating: "a", count: 26)), "displayName": " "], "displayName"),
      ] as [(String, JSON, JSON)] {
        let answer = try await chief.post(path, body)
        #expect(answer.status == 400 && answer.json["field"] == field, "\(answer.text)")
      }
      let identity = try await chief.make("/v1/identities", ["data": file, "password": "secret"])
      _ = try await member.make("/v1/peers", ["displayName": "Mallory"])
      #expect(try await member.post("/v1/sessions", ["identity": .text(identity.id)]).status == 403)
      _ = try await chief.make("/v1/peers", ["displayName": "Chief"])
      #expect(try await chief.post("/v1/sessions", ["identity": "none"]).json["field"] == "identity")
    }
  }
}
