internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Answers that go out packed", .timeLimit(.minutes(2)))
struct CompressionTests {
  private let takes = ["Accept-Encoding": "br;q=1.0, gzip;q=0.8, *;q=0.1"]

  @Test("A long response is compressed for clients that accept it, and has the same content")
  func packed() async throws {
    try await withGateway { gateway in
      let plain = try await gateway.stranger.get("/openapi.json")
      let packed = try await gateway.stranger.get("/openapi.json", takes)
      #expect(plain["Content-Encoding"] == nil && packed["Content-Encoding"] == "gzip")
      #expect(packed["Vary"]?.contains("Accept-Encoding") == true && plain["Vary"] == packed["Vary"])
      #expect(packed.byteCount < plain.byteCount / 3 && packed.body == plain.body)
      for refusal in ["identity", "gzip;q=0", "br", "*;q=0", ""] {
        let answer = try await gateway.stranger.get("/openapi.json", ["Accept-Encoding": refusal])
        #expect(answer["Content-Encoding"] == nil && answer.body == plain.body, "\(refusal)")
      }
      #expect(try await gateway.stranger.get("/docs", takes)["Content-Encoding"] == "gzip")
    }
  }

  @Test("Only what is looked at is packed")
  func made() async throws {
    try await withGateway { gateway in
      let code = try await gateway.running.makePairingCode(role: "member")
      let name = String(repeating: "n", count: 63)
      let paired = try await gateway.stranger.post("/v1/pairings", ["code": .text(code), "name": .text(name)], takes)
      #expect(paired.status == 201 && paired["Content-Encoding"] == nil && paired.json["token"] != nil)
      // Long enough, and yet it is no answer of 200.
      let reply = Reply(201, .json([UInt8](repeating: 32, count: Compression.bytesMin)))
      #expect(Reply(200, reply.body).isCompressed && !reply.isCompressed)
    }
  }

  @Test("A list goes out packed when it is long, and its tags mean one state, whichever way it came")
  func lists() async throws {
    try await withGateway { gateway in
      let admin = try await gateway.client("admin")
      let peer = try await admin.make("/v1/peers", ["displayName": "Anna"])
      #expect(try await admin.get("/v1/peers", takes)["Content-Encoding"] == nil)
      for number in 1...20 { _ = try await admin.make("/v1/peers", ["displayName": .text("Anna \(number)")]) }
      let plain = try await admin.get("/v1/peers")
      let packed = try await admin.get("/v1/peers", takes)
      #expect(packed["Content-Encoding"] == "gzip" && packed.body == plain.body)
      let tags = [plain["ETag"] ?? "", packed["ETag"] ?? ""]
      #expect(tags[0] != tags[1] && tags.allSatisfy { $0.hasPrefix("\"") && $0.hasSuffix("\"") && $0.count > 2 })
      for tag in tags {
        for headers in [[:], takes] {
          #expect(
            try await admin.get("/v1/peers", headers.merging(["If-None-Match": tag]) { $1 }).status == 304, "\(tag)")
        }
      }
      #expect(try await admin.delete(peer["Location"] ?? "").status == 204)
      for tag in tags { #expect(try await admin.get("/v1/peers", ["If-None-Match": tag]).status == 200) }
    }
  }

  @Test("A change may name the state by the tag of what came packed")
  func changes() async throws {
    try await withGateway { gateway in
      let admin = try await gateway.client("admin")
      let peer = try await admin.make("/v1/peers", ["displayName": "Anna"]).id
      let session = try await admin.make("/v1/sessions", ["peer": .text(peer)])["Location"] ?? ""
      let letters = Array("abcdefghijklmnop")
      let strangers = letters.flatMap { one in letters.map { JSON.text("\(one)\($0)\(peer.dropFirst(2))") } }
      #expect(try await admin.patch(session, ["blocked": .list(strangers)]).status == 200)
      let packed = try await admin.get(session, takes)
      let tag = packed["ETag"] ?? ""
      #expect(packed["Content-Encoding"] == "gzip" && !tag.isEmpty)
      #expect(try await admin.patch(session, ["blocked": []], ["If-Match": tag]).status == 200)
      #expect(try await admin.patch(session, ["locked": true], ["If-Match": tag]).status == 412)
    }
  }
}
