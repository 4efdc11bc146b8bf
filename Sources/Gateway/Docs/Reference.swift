internal import Notation

/// The contract as a page for people, which needs no script.
struct Reference {
  private let document: JSON
  private let base: BasePath
  /// Whether there is a page to try requests.
  private let canTry: Bool

  init(_ document: JSON, below base: BasePath, canTry: Bool) {
    (self.document, self.base, self.canTry) = (document, base, canTry)
  }

  private struct Operation {
    let method: String
    let path: String
    let json: JSON

    var id: String { json["operationId"]?.text ?? "\(method) \(path)" }
    var tag: String { json["tags"]?.list?.first?.text ?? "" }
  }

  private var operations: [Operation] {
    (document["paths"]?.members ?? []).flatMap { path in
      (path.value.members ?? []).compactMap { operation in
        operation.name == "parameters"
          ? nil : Operation(method: operation.name.uppercased(), path: path.name, json: operation.value)
      }
    }
  }

  var page: Markup {
    let operations = operations
    let tags = document["tags"]?.list ?? []
    let title = document["info"]?["title"]?.text ?? "Vicinity"
    let samples = document["x-codeSamples"]?.list ?? []
    let names = tags.compactMap { $0["name"]?.text }
    let attempt: Markup = canTry ? " · <a href=\"\(base.text)/\(Site.tryPath)\">Try requests</a>" : ""
    var body: Markup = """
      <header><h1>\(title)</h1><p class="quiet">Version \(document["info"]?["version"]?.text ?? "") ·
      <a href="\(base.text)/openapi.json">openapi.json</a> · <a href="\(base.text)/docs/js">JavaScript</a> · <a href="\(base.text)/problems">Problems</a>\(attempt)</p></header>
      <nav><ul><li><a href="#examples">Examples</a></li><li><a href="#about">About</a></li>
      \(Markup(names.map { "<li><a href=\"#\($0)\">\($0)</a></li>" }))<li><a href="#schemas">Objects</a></li></ul></nav>
      <section id="examples"><h2>Examples</h2>\(Markup(samples.map(show(sample:))))</section>
      <section id="about"><h2>About</h2>\(prose(document["info"]))</section>
      """
    for tag in tags {
      let name = tag["name"]?.text ?? ""
      body += """
        <section id="\(name)"><h2>\(name)</h2>\(prose(tag))
        \(Markup(operations.filter { $0.tag == name }.map(show)))</section>
        """
    }
    let schemas = document["components"]?["schemas"]?.members ?? []
    body += "<section id=\"schemas\"><h2>Objects</h2>\(Markup(schemas.map(show)))</section>"
    return Page.whole(title: title, below: base, body: body)
  }

  private func prose(_ json: JSON?) -> Markup { Markup(prose: json?["description"]?.text ?? "", below: base.text) }

  private func show(sample: JSON) -> Markup {
    """
    <h3>\(sample["label"]?.text ?? "")</h3>\(prose(sample))
    <pre>\(sample["source"]?.text ?? "")</pre>
    """
  }

  // MARK: Operations

  private func show(_ operation: Operation) -> Markup {
    let json = operation.json
    let shared = document["paths"]?[operation.path]?["parameters"]?.list ?? []
    let parameters = (shared + (json["parameters"]?.list ?? [])).map(resolve)
    return """
      <details id="\(operation.id)"><summary><b class="\(operation.method.lowercased())">\(operation.method)</b>
      <code>\(operation.path)</code> <span>\(json["summary"]?.text ?? "")</span></summary>
      <p class="quiet">\(role(json))\(attempt(operation))</p>\(prose(json))\(table(parameters))\(request(json))\(responses(json))</details>
      """
  }

  /// A link to where the request is filled in; a WebSocket is no request.
  private func attempt(_ operation: Operation) -> Markup {
    if !canTry || operation.path.hasSuffix("/socket") { return "" }
    return " · <a href=\"\(base.text)/\(Site.tryPath)#\(operation.id)\">Try it</a>"
  }

  private func role(_ operation: JSON) -> String {
    guard let needs = operation["security"]?.list?.first?.members?.first?.value.list?.first?.text else {
      return "Anybody may ask."
    }
    return "Needs the role \(needs)."
  }

  private func table(_ parameters: [JSON]) -> Markup {
    if parameters.isEmpty { return "" }
    let rows = parameters.map { parameter -> Markup in
      let place = parameter["in"]?.text ?? ""
      let need = parameter["required"] == .bool(true) ? "" : ", optional"
      return """
        <tr><th><code>\(parameter["name"]?.text ?? "")</code></th><td class="quiet">\(place)\(need)</td>
        <td>\(type(parameter["schema"])) \(prose(parameter))</td></tr>
        """
    }
    return "<h3>Parameters</h3><table>\(Markup(rows))</table>"
  }

  private func request(_ operation: JSON) -> Markup {
    guard let body = operation["requestBody"] else { return "" }
    return "<h3>Body</h3>\(prose(body))\(content(resolve(body)["content"]))"
  }

  private func responses(_ operation: JSON) -> Markup {
    let shown = (operation["responses"]?.members ?? []).map { response -> Markup in
      let json = resolve(response.value)
      let headers = (json["headers"]?.members ?? []).map(\.name)
      let told: Markup = headers.isEmpty ? "" : "<p class=\"quiet\">Headers: \(headers.joined(separator: ", "))</p>"
      return """
        <dt><span class="status">\(response.name)</span></dt>
        <dd>\(prose(json))\(told)\(content(json["content"]))</dd>
        """
    }
    return "<h3>Answers</h3><dl>\(Markup(shown))</dl>"
  }

  private func content(_ content: JSON?) -> Markup {
    Markup(
      (content?.members ?? []).map { media in
        "<p><code>\(media.name)</code> \(type(media.value["schema"]))</p>\(examples(media.value))"
      })
  }

  /// The examples of the media type, or those of its schema.
  private func examples(_ media: JSON) -> Markup {
    var values = (media["examples"]?.members ?? []).compactMap { $0.value["value"] }
    if let one = media["example"] { values.append(one) }
    return show(examples: values.isEmpty ? media["schema"].map(resolve)?["examples"]?.list ?? [] : values)
  }

  private func show(examples values: [JSON]) -> Markup {
    Markup(values.map { "<pre>\($0.text ?? $0.indented())</pre>" })
  }

  // MARK: Schemas

  private func show(_ schema: JSON.Member) -> Markup {
    let required = Set((schema.value["required"]?.list ?? []).compactMap(\.text))
    let rows = (schema.value["properties"]?.members ?? []).map { property -> Markup in
      """
      <tr><th><code>\(property.name)</code></th><td class="quiet">\(required.contains(property.name) ? "" : "optional")</td>
      <td>\(type(property.value)) \(prose(property.value))</td></tr>
      """
    }
    let shape: Markup = rows.isEmpty ? "<p>\(type(schema.value))</p>" : "<table>\(Markup(rows))</table>"
    return """
      <details id="\(schema.name)"><summary><code>\(schema.name)</code></summary>\(prose(schema.value))\(shape)
      \(show(examples: schema.value["examples"]?.list ?? []))</details>
      """
  }

  /// The type of a schema, in a few words.
  private func type(_ schema: JSON?) -> Markup {
    guard let schema else { return "" }
    if let name = schema["$ref"]?.text?.split(separator: "/").last.map(String.init) {
      return "<a href=\"#\(name)\">\(name)</a>"
    }
    if let words = schema["enum"]?.list {
      return "\(words.map { $0.text ?? $0.line }.joined(separator: " | "))"
    }
    if let constant = schema["const"] { return "\(constant.text ?? constant.line)" }
    for word in ["oneOf", "anyOf"] where schema["properties"] == nil {
      guard let several = schema[word]?.list else { continue }
      return Markup(several.enumerated().map { $0 == 0 ? type($1) : " or \(type($1))" })
    }
    let name = schema["type"]?.text ?? (schema["type"]?.list ?? []).compactMap(\.text).joined(separator: " | ")
    let bounds = ["minimum", "maximum", "minLength", "maxLength", "maxItems", "default"].compactMap { word in
      schema[word].map { ", \(word) \($0.text ?? $0.line)" }
    }
    if name == "array" { return "list of \(type(schema["items"]))\(bounds.joined())" }
    return "\(schema["format"]?.text ?? name)\(bounds.joined())"
  }

  private func resolve(_ json: JSON) -> JSON {
    guard let reference = json["$ref"]?.text, reference.hasPrefix("#/") else { return json }
    return reference.dropFirst(2).split(separator: "/").reduce(document) { $0[String($1)] ?? .null }
  }
}

extension JSON {
  /// Its text with indentation, for people.
  fileprivate func indented(by depth: Int = 0) -> String {
    let margin = String(repeating: "  ", count: depth + 1)
    let end = "\n" + String(repeating: "  ", count: depth)
    switch self {
    case .object(let members) where !members.isEmpty:
      let lines = members.map { "\n\(margin)\(JSON.text($0.name).line): \($0.value.indented(by: depth + 1))" }
      return "{\(lines.joined(separator: ","))\(end)}"
    case .list(let values) where values.contains(where: { $0.members != nil }):
      return "[\(values.map { "\n\(margin)\($0.indented(by: depth + 1))" }.joined(separator: ","))\(end)]"
    default: return line
    }
  }
}
