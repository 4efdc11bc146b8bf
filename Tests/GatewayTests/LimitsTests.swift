internal import Foundation
internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("What is limited is told", .timeLimit(.minutes(1)))
struct LimitsTests {
  @Test(
    "Each limit that /v1/gateway shows is in the contract or an option, and in docs/operations.md as large as it is")
  func everywhere() async throws {
    var shown: [JSON.Member] = []
    try await withGateway({ $0.authenticationTimeout = GatewayOptions(folder: "").authenticationTimeout }) { gateway in
      shown = try await gateway.client().get("/v1/gateway").json["limits"]?.members ?? []
    }
    #expect(Set(shown.map(\.name)).count == shown.count)
    let options = GatewayLimits.all.map(\.name)
    #expect(shown.prefix(options.count).map(\.name) == options)
    let fixed = shown.dropFirst(options.count)
    let properties = Document.shared.json["components"]?["schemas"]?["Gateway"]?["properties"]?["limits"]?["properties"]
    let named = Set((properties?.members ?? []).map(\.name))
    #expect(named == Set(fixed.map(\.name)), "\(named.symmetricDifference(fixed.map(\.name)))")
    let path = Document.path.replacingOccurrences(of: "openapi/vicinity.json", with: "docs/operations.md")
    let rows = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").compactMap { row in
      row.firstMatch(of: #/^\| `(\w+)` \| ([\d,]+) \|/#).map { "\($0.1): \($0.2.filter { $0 != "," })" }
    }
    #expect(rows == fixed.map { "\($0.name): \($0.value.line)" })
  }

  @Test("Connection data and the file of an identity that are a byte too long are refused with their limit")
  func tooLong() async throws {
    try await withGateway { gateway in
      let client = try await gateway.client("operator")
      _ = try await client.make("/v1/peers", ["displayName": "Anna"])
      let session = try await client.make("/v1/sessions")["Location"] ?? ""
      for (path, bytesMax) in [
        ("\(session)/connections", Routes.dataBytesMax), ("/v1/identities", Routes.identityFileBytesMax),
      ] {
        let data = Base64.text([UInt8](repeating: 0, count: bytesMax + 1))
        let peer: [JSON.Member] = path == "/v1/identities" ? [] : [.init("peer", "nobody")]
        let answer = try await client.post(path, .object(peer + [.init("data", .text(data))]))
        #expect(answer.status == 400 && answer.json["field"] == "data", "\(answer.text)")
        #expect(answer.json["rule"] == "length" && answer.json["limit"] == .number(bytesMax), "\(answer.text)")
      }
    }
  }

  @Test("A resource's content type is refused where no resource could be sent with it")
  func contentType() async throws {
    try await withGateway { gateway in
      let client = try await gateway.client()
      _ = try await client.make("/v1/peers", ["displayName": "Anna"])
      let session = try await client.make("/v1/sessions")["Location"] ?? ""
      let type = "image/" + String(repeating: "x", count: 122)
      let answer = try await client.post(
        "\(session)/resources", ["name": "a", "to": "nobody", "contentType": .text(type)])
      #expect(answer.status == 400 && answer.json["field"] == "contentType", "\(answer.text)")
      #expect(answer.json["limit"] == 127)
    }
  }
}
