internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("Where there is one of each thing", .timeLimit(.minutes(2)), .serialized)
struct EveryResourceTests {
  private let document = Document.shared

  @Test(
    "Every field of every request is known to the gateway, is told by its right name if it is wrong, and no other is")
  func fields() async throws {
    try await EveryResource.hold { plenty in
      for operation in document.operations {
        guard let media = operation.json["requestBody"]?["content"]?["application/json"] else { continue }
        let example = plenty.example(of: operation, media)
        let schema = document.resolve(media["schema"] ?? .null)
        for (field, body) in (schema["anyOf"]?.list ?? [schema]).flatMap({ wrong(document.resolve($0), example) }) {
          let path = plenty.path(of: operation)
          let answer = try await plenty.bert.client.ask(operation.method, path, body.bytes)
          #expect(answer.status == 400 && answer.json["field"] == .text(field), "\(path) \(field): \(answer.text)")
          let isKnown = answer.json["rule"] != "known"
          #expect(isKnown == !field.hasSuffix(Self.stranger), "\(path) \(field): \(answer.text)")
        }
      }
    }
  }

  private static let stranger = "nobodyKnows"

  /// Bodies that are valid but for one field, with that field's name.
  private func wrong(_ schema: JSON, _ fitting: [JSON.Member], in path: String = "") -> [(field: String, body: JSON)] {
    #expect(schema["additionalProperties"] == false, "\(path)")
    var all = [(path + Self.stranger, JSON.object(fitting + [.init(Self.stranger, 1)]))]
    for property in schema["properties"]?.members ?? [] {
      let others = fitting.filter { $0.name != property.name }
      let inner = document.resolve(property.value)
      for value in [[[]], .null] as [JSON] where !document.faults(of: value, inner).isEmpty {
        all.append((path + property.name, .object(others + [.init(property.name, value)])))
      }
      guard inner["properties"] != nil else { continue }
      all += wrong(inner, [], in: "\(path)\(property.name).").map {
        ($0.field, .object(others + [.init(property.name, $0.body)]))
      }
    }
    return all
  }

  /// Paths with tests of their own: their answers are no JSON, take time, are not kept, come with the dashboard, or
  /// depend on the machine.
  private let others: Set = [
    "getDiagnostics", "readStream", "openStreamSocket", "openSocket", "downloadResource", "listDatagrams",
    "getClientDocs",
  ]
  /// Told only of what has come to an end, has failed, goes on for long, or concerns a crowd.
  private let seldom: Set = [
    "problem", "reason", "detail", "cause", "cure", "deliveryStatus", "text", "host", "fingerprint", "next", "del",
    "code",
    "bytes",
    "bytesPerSecond", "timeLeft", "damaged", "expiresAt", "session", "adhoc", "missed", "oldest", "awaySince",
    "suspended", "adhocProblem", "adhocUntil", "basePath",
    "members", "sessions", "group", "resources", "via", "Event.medium", "AuditEntry.device",
    "RadioNetwork.url", "RadioStation.address", "RadioStation.name",
  ]

  @Test("Everything that is there is told as the document has it, and what it promises is told")
  func answers() async throws {
    try await EveryResource.hold { plenty in
      var told: Set<String> = []
      for operation in document.operations where operation.method == "GET" {
        if others.contains(operation.json["operationId"]?.text ?? "") { continue }
        let schema = operation.responses.first?.value["content"]?["application/json"]?["schema"] ?? .null
        func look(_ client: HTTPClient, _ path: String) async throws -> Answer {
          let answer = try await client.get(path)
          #expect(answer.status == 200, "\(path): \(answer.text)")
          told.formUnion(document.told(by: answer.json, schema))
          return answer
        }
        let path = plenty.path(of: operation)
        let answer = try await look(plenty.bert.client, path)
        // Only whom somebody decides on has shown who it is.
        if path.hasSuffix("/members") { _ = try await look(plenty.bert.client, "\(plenty.other)/members") }
        guard let position = answer.json["position"]?.text else { continue }
        #expect(!answer.ids.isEmpty, "\(path)")
        _ = try await look(plenty.bert.client, "\(path)?since=\(position.prefix { $0 != "." }).0")
        // Bert's resources have reached Anna.
        if path.hasPrefix(plenty.bert.path) || ["/v1/invitations", "/v1/audit"].contains(path) {
          _ = try await look(plenty.anna.client, path.replacing(plenty.bert.path, with: plenty.anna.path))
        }
      }
      let kinds = Set(told.compactMap { $0.split(separator: ".").first })
      for schema in document.json["components"]?["schemas"]?.members ?? [] where kinds.contains(schema.name[...]) {
        for field in schema.value["properties"]?.members ?? [] where !seldom.contains(field.name) {
          let name = "\(schema.name).\(field.name)"
          #expect(told.contains(name) || seldom.contains(name), "nobody tells \(name)")
        }
      }
    }
  }

  @Test("A gateway that has stopped is let go of, also by who waits there for a decision or a comparison")
  func stopped() async throws {
    weak var sessionStore: SessionStore?
    try await EveryResource.hold { sessionStore = await $0.bert.gateway.running.sessionStore }
    // Its core has it, and its host until that has ended.
    let deadline = ContinuousClock.now + .seconds(60)
    while sessionStore != nil, ContinuousClock.now < deadline { await Task.yield() }
    #expect(sessionStore == nil)
  }

  @Test("Each line of what is kept of a client is as the lists have it")
  func export() async throws {
    try await EveryResource.hold { plenty in
      let answer = try await plenty.bert.client.get("/v1/clients/self/export")
      var kinds: Set<String> = []
      for line in answer.text.split(separator: "\n") {
        let json = try JSON(parsing: Array(line.utf8))
        let kind = try #require(json["kind"]?.text)
        kinds.insert(kind)
        if ["export", "end"].contains(kind) { continue }
        let faults = document.faults(of: json["item"] ?? .null, try #require(document.item(ofExport: kind), "\(kind)"))
        #expect(faults.isEmpty, "\(line)")
      }
      #expect(kinds.count == 16)
    }
  }

  @Test("A peer that a client trusts is shown as verified where it is found, until the trust is revoked")
  func verified() async throws {
    try await EveryResource.hold { plenty in
      let (his, anna) = (plenty.bert.client, plenty.anna.peer)
      let found = try await his.get("/v1/browsers").json["items"]?.list?.first?["found"]?.text ?? ""
      #expect(try await his.get("\(found)/\(anna)").json["verified"] == true)
      #expect(try await his.delete("/v1/trusted-peers/\(anna)").status == 204)
      #expect(try await his.get("\(found)/\(anna)").json["verified"] == false)
    }
  }

  @Test("A list is asked for a part of it by what its things tell: all that fits, and nothing else")
  func facets() async throws {
    try await EveryResource.hold { plenty in
      for route in Routes.all {
        guard case .collection(let facets, _) = route.work,
          let operation = document.operations.first(where: { $0.method == "GET" && $0.path == route.pattern })
        else { continue }
        let path = plenty.path(of: operation)
        let items = try await plenty.bert.client.get(path).json["items"]?.list ?? []
        for facet in facets {
          let told = items.map { $0[facet.name].map { $0.text ?? $0.line } }
          for value in Set(told.compactMap(\.self)).union(facet.allowedValues ?? []) {
            let part = try await plenty.bert.client.get("\(path)?\(facet.name)=\(Percent.encode(value))")
            #expect(part.json["items"] == .list(zip(items, told).filter { $1 == value }.map(\.0)), "\(path) \(value)")
          }
        }
      }
    }
  }
}
