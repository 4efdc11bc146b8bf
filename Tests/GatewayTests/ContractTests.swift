internal import Notation
internal import Testing
internal import Web

@testable internal import Gateway

@Suite("The contract and the gateway say the same", .timeLimit(.minutes(2)))
struct ContractTests {
  private let document = Document.shared

  private func operation(_ route: Route) -> Document.Operation? {
    document.operations.first { $0.method == route.method.name && $0.path == route.pattern }
  }

  @Test("Every route stands in the document, with its query parameters and its role")
  func routes() {
    for route in Routes.all {
      let name = "\(route.method.name) \(route.pattern)"
      guard let operation = operation(route) else {
        Issue.record("\(name) is not in the document")
        continue
      }
      let query = operation.parameters.filter { $0["in"] == "query" }.compactMap { $0["name"]?.text }
      #expect(Set(query) == Set(route.parameters), "\(name)")
      if case .collection(let facets, _) = route.work {
        for facet in facets {
          let schema = operation.parameters.first { $0["name"] == .text(facet.name) }?["schema"].map(document.resolve)
          let words: JSON? = schema?["type"] == "boolean" ? ["true", "false"] : schema?["enum"]
          #expect(words == facet.allowedValues.map { .list($0.map(JSON.text)) }, "\(name) \(facet.name)")
        }
      }
      let path = operation.parameters.filter { $0["in"] == "path" }.compactMap { $0["name"]?.text }
      #expect(
        path
          == route.pattern.split(separator: "/").filter { $0.first == "{" }.map { String($0.dropFirst().dropLast()) },
        "\(name)")
      let ways = operation.security.map { $0.members ?? [] }
      switch route.access {
      case .anyone: #expect(operation.json["security"] == [], "\(name)")
      case .nearby(let role):
        #expect(
          ways.count == 3 && ways[0].isEmpty
            && ways.dropFirst().allSatisfy { $0.allSatisfy { $0.value == [.text(role.rawValue)] } }, "\(name)")
      case .role(let role):
        #expect(ways.count == 2 && ways.allSatisfy { $0.allSatisfy { $0.value == [.text(role.rawValue)] } }, "\(name)")
        #expect(ways.last?.contains { $0.name == "csrf" } == (route.method != .get), "\(name)")
      }
      var takesBody = true
      if case .none = route.body { takesBody = false }
      #expect((operation.json["requestBody"] != nil) == takesBody, "\(name)")
    }
  }

  @Test("Everything in the document is a route")
  func operations() {
    let names = Set(Routes.all.map { "\($0.method.name) \($0.pattern)" })
    for operation in document.operations {
      #expect(names.contains("\(operation.method) \(operation.path)"))
    }
    let ids = document.operations.compactMap { $0.json["operationId"]?.text }
    #expect(Set(ids).count == names.count && ids.count == names.count)
  }

  @Test("Its problems and roles are those that there are")
  func words() {
    let schemas = document.json["components"]?["schemas"]
    let kinds = (schemas?["ProblemKind"]?["enum"]?.list ?? []).compactMap(\.text)
    #expect(kinds.sorted() == Problem.Kind.allCases.map(\.rawValue).sorted())
    #expect(schemas?["Role"]?["enum"] == .list(Role.allCases.map { .text($0.rawValue) }))
  }

  @Test("All that refers to something refers to something that is there, and all that is there is referred to")
  func references() {
    var used: Set<String> = []
    func walk(_ json: JSON) {
      if let reference = json["$ref"]?.text {
        used.insert(reference)
        #expect(document.resolve(json) != .null, "\(reference)")
      }
      for member in json.members ?? [] {
        walk(member.value)
      }
      for value in json.list ?? [] { walk(value) }
    }
    walk(document.json)
    for kind in ["schemas", "parameters", "headers", "responses"] {
      for member in document.json["components"]?[kind]?.members ?? [] {
        // The types of a path's problem page are its parameter's.
        #expect(used.contains("#/components/\(kind)/\(member.name)"), "\(kind)/\(member.name) is used by nobody")
      }
    }
  }

  @Test("A created item links to its operations, and every link can be filled from the response")
  func links() {
    for operation in document.operations {
      for response in operation.responses {
        let links = response.value["links"]?.members ?? []
        let media = response.value["content"]?["application/json"].map(document.examples)
        for link in links { hold(link, of: operation, telling: media?.first ?? .null) }
        guard operation.method == "POST", response.name == "201" else { continue }
        #expect(!links.isEmpty, "\(operation.name) leads nowhere")
        let item = operation.path + "/{"
        for next in document.operations
        where next.path.hasPrefix(item) && !next.path.dropFirst(item.count).contains("/") {
          // PUT is for names of one's own.
          let isLinked = links.contains { $0.value["operationId"] == next.json["operationId"] }
          #expect(isLinked || next.method == "PUT", "\(operation.name) does not lead to \(next.name)")
        }
      }
    }
  }

  private func hold(_ link: JSON.Member, of operation: Document.Operation, telling example: JSON) {
    guard let target = document.operations.first(where: { $0.json["operationId"] == link.value["operationId"] }) else {
      Issue.record("\(operation.name): \(link.name) leads nowhere")
      return
    }
    let given = Set((link.value["parameters"]?.members ?? []).map(\.name))
    let known = target.parameters.map { (name: $0["name"]?.text ?? "", isNeeded: $0["in"] == "path") }
    #expect(given.isSuperset(of: known.filter(\.isNeeded).map(\.name)), "\(operation.name): \(link.name)")
    #expect(given.isSubset(of: known.map(\.name)), "\(operation.name): \(link.name)")
    let body = link.value["x-requestBody"]?.members ?? []
    let schema = target.json["requestBody"]?["content"]?["application/json"]?["schema"].map(document.resolve)
    for field in body { #expect(schema?["properties"]?[field.name] != nil, "\(operation.name): \(field.name)") }
    for value in ((link.value["parameters"]?.members ?? []) + body).compactMap(\.value.text) {
      let isThere =
        if value.hasPrefix("$request.path.") {
          operation.parameters.contains { $0["name"]?.text == String(value.dropFirst(14)) && $0["in"] == "path" }
        } else {
          example.at(pointer: value.dropFirst("$response.body#".count))?.text != nil
        }
      #expect(isThere, "\(operation.name): \(link.name) needs \(value)")
    }
  }

  @Test("Each example fits its schema, and every request and every answer in JSON has one")
  func examples() {
    for operation in document.operations {
      for (name, media) in document.bodies(of: operation) {
        let values = document.examples(of: media)
        if name.hasSuffix("json") { #expect(!values.isEmpty, "\(operation.name) \(name) has no example") }
        for value in values {
          #expect(document.faults(of: value, media["schema"] ?? .null).isEmpty, "\(operation.name) \(name)")
        }
      }
    }
    for schema in document.json["components"]?["schemas"]?.members ?? [] {
      for value in schema.value["examples"]?.list ?? [] {
        #expect(document.faults(of: value, schema.value).isEmpty, "\(schema.name)")
      }
    }
  }

  @Test("The document is served as JSON and as a page, and each problem has a page")
  func pages() async throws {
    try await withGateway { gateway in
      let json = try await gateway.stranger.get("/openapi.json")
      #expect(json.json == document.json)
      let tag = try #require(json["ETag"])
      #expect(try await gateway.stranger.get("/openapi.json", ["If-None-Match": tag]).status == 304)
      let page = try await gateway.stranger.get("/docs")
      #expect(page["Content-Security-Policy"]?.hasPrefix("default-src 'none'; style-src 'self'") == true)
      for operation in document.operations {
        #expect(page.text.contains("id=\"\(operation.json["operationId"]?.text ?? "?")\""))
      }
      let samples = document.json["x-codeSamples"]?.list ?? []
      #expect(!samples.isEmpty)
      for sample in samples {
        let source: Markup = "<pre>\(sample["source"]?.text ?? "?")</pre>"
        #expect(page.text.contains(source.text), "\(sample["label"]?.text ?? "?")")
      }
      #expect(page.text.contains("&quot;position&quot;: &quot;kq2lm5xw.17&quot;"))
      #expect(!page.text.contains("<script") && !page.text.contains("style="))
      #expect(try await gateway.stranger.get("/docs/style.css")["Content-Type"]?.hasPrefix("text/css") == true)
      for kind in Problem.Kind.allCases {
        #expect(try await gateway.stranger.get("/problems/\(kind.rawValue)").text.contains(kind.explanation))
        let page = try await gateway.stranger.get("/problems/\(kind.rawValue)", ["Accept": "text/html"])
        #expect(page["Content-Type"]?.hasPrefix("text/html") == true && page.text.contains("<h1>"))
      }
      #expect(try await gateway.stranger.get("/problems/none").problem == "notFound")
      let list = try await gateway.stranger.get("/problems").text
      let index = try await gateway.stranger.get("/problems", ["Accept": "text/html"]).text
      for kind in Problem.Kind.allCases {
        #expect(list.contains("\(kind.rawValue) (\(kind.status)): \(kind.explanation)\n"))
        #expect(index.contains("href=\"/problems/\(kind.rawValue)\""))
      }
    }
  }

  @Test("The contract's content is text on the page, whatever it is")
  func escaping() {
    let text = "<b onload='x'>&\"`c<d`[e](javascript:f) [g](/h)"
    let html = Markup(prose: text).text
    #expect(
      html
        == "<p>&lt;b onload=&#39;x&#39;&gt;&amp;&quot;<code>c&lt;d</code>[e](javascript:f) <a href=\"/h\">g</a></p>")
  }
}

extension JSON {
  /// The value at a JSON pointer of RFC 6901, without escapes.
  fileprivate func at(pointer: Substring) -> JSON? {
    pointer.split(separator: "/").reduce(self as JSON?) { json, part in
      if let index = Int(part), let list = json?.list { return index < list.count ? list[index] : nil }
      return json?[String(part)]
    }
  }
}
