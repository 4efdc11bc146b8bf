internal import Foundation
internal import Notation

/// The contract as it lies in the tree, and what answers and bodies break of it.
struct Document: Sendable {
  static let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../../openapi/vicinity.json").standardizedFileURL.path
  /// The dashboard's files.
  static let site = URL(fileURLWithPath: path).deletingLastPathComponent().deletingLastPathComponent().path + "/public"
  static let shared = Document()

  let json: JSON
  let operations: [Operation]

  struct Operation: Sendable {
    let method: String
    let path: String
    let json: JSON
    /// The parameters, with those of the path.
    let parameters: [JSON]

    var name: String { "\(method) \(path)" }
    var security: [JSON] { json["security"]?.list ?? [] }
    var responses: [JSON.Member] { json["responses"]?.members ?? [] }

    func isAt(_ target: [Substring]) -> Bool {
      let pattern = path.split(separator: "/")
      return pattern.count == target.count && zip(pattern, target).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
    }
  }

  private init() {
    guard let text = try? String(contentsOfFile: Self.path, encoding: .utf8), let json = try? JSON(parsing: text)
    else { preconditionFailure("\(Self.path) cannot be read") }
    self.json = json
    let methods: Set<String> = ["get", "put", "post", "patch", "delete"]
    operations = (json["paths"]?.members ?? []).flatMap { path in
      let shared = path.value["parameters"]?.list ?? []
      return (path.value.members ?? []).filter { methods.contains($0.name) }.map { operation in
        Operation(
          method: operation.name.uppercased(), path: path.name, json: operation.value,
          parameters: (shared + (operation.value["parameters"]?.list ?? [])).map { Self.resolve($0, in: json) })
      }
    }
  }

  func resolve(_ value: JSON) -> JSON { Self.resolve(value, in: json) }

  private static func resolve(_ value: JSON, in document: JSON) -> JSON {
    guard let reference = value["$ref"]?.text else { return value }
    // The frames' document refers to this one by its name.
    return reference.drop { $0 != "/" }.split(separator: "/").reduce(document) { $0[String($1)] ?? .null }
  }

  /// The request and response bodies of an operation, each with its media type.
  func bodies(of operation: Operation) -> [(name: String, media: JSON)] {
    let all = [operation.json["requestBody"] ?? .null] + operation.responses.map { resolve($0.value) }
    return all.flatMap { $0["content"]?.members ?? [] }.map { ($0.name, $0.value) }
  }

  /// The media type's own examples, or those of its schema.
  func examples(of media: JSON) -> [JSON] {
    let own =
      (media["examples"]?.members ?? []).compactMap { $0.value["value"] } + [media["example"]].compactMap(\.self)
    return own.isEmpty ? media["schema"].map(resolve)?["examples"]?.list ?? [] : own
  }

  // MARK: Answers

  private func operation(_ method: String, _ target: String) -> Operation? {
    let path = target.prefix { $0 != "?" }.split(separator: "/")
    let named = operations.filter { $0.method == (method == "HEAD" ? "GET" : method) && $0.isAt(path) }
    // Literal paths take precedence over patterns.
    return named.first { !$0.path.contains("{") } ?? named.first
  }

  /// The schema of the lines of a kind in a client's export.
  func item(ofExport kind: String) -> JSON? {
    let others = ["certificate": "TrustDecision", "client": "PairedClient"]
    return json["components"]?["schemas"]?[others[kind] ?? kind.prefix(1).uppercased() + kind.dropFirst()]
  }

  /// The schema of the items of a list and of its changes.
  func item(ofListAt path: String) -> JSON? {
    let list = operation("GET", path)?.responses.first?.value["content"]?["application/json"]?["schema"].map(resolve)
    return list?["properties"]?["items"]?["items"]
  }

  /// The faults in a WebSocket's answer to a request that has succeeded.
  func faults(ofSuccess answer: JSON, to method: String, _ target: String) -> [String] {
    let successes = (operation(method, target)?.responses ?? []).filter { $0.name.hasPrefix("2") }
    let media = successes.map { resolve($0.value)["content"] }
    let found = media.map { content -> [String] in
      if let schema = content?["application/json"]?["schema"] { return faults(of: answer, schema) }
      let isFit = content == nil ? answer["status"]?.integer != nil : answer.text.flatMap(Base64.bytes) != nil
      return isFit ? [] : ["is no answer to \(method) \(target)"]
    }
    return found.contains([]) ? [] : found.first ?? ["it answers what nobody can ask for"]
  }

  /// The faults in the answer to an operation that the contract has.
  func faults(of answer: Answer, to method: String, _ target: String) -> [String] {
    guard let operation = operation(method, target) else { return [] }
    let responses = operation.json["responses"]
    guard let response = (responses?[String(answer.status)] ?? responses?["default"]).map(resolve) else {
      return ["the status is not foreseen"]
    }
    if answer.status >= 400, answer["Content-Type"] != "application/problem+json", method != "HEAD" {
      return ["what is refused is not told as a problem"]
    }
    guard let type = answer["Content-Type"]?.prefix(while: { $0 != ";" }), !answer.body.isEmpty else { return [] }
    guard let media = response["content"]?[String(type)] ?? response["content"]?["*/*"] else {
      return ["the type \(type) is not foreseen"]
    }
    guard type.hasSuffix("/json") || type.hasSuffix("+json"), let schema = media["schema"] else { return [] }
    return faults(of: answer.json, schema)
  }

  // MARK: Schemas

  /// The faults of a value. An object whose properties are listed has no others, even if the schema does not say so.
  func faults(of value: JSON, _ schema: JSON, at place: String = "") -> [String] {
    let schema = resolve(schema)
    func fault(_ what: String) -> [String] { ["\(place.isEmpty ? "it" : place) \(what)"] }
    if let words = schema["enum"]?.list, !words.contains(value) {
      return fault("is \(value.line), none of those listed")
    }
    if let constant = schema["const"], constant != value { return fault("is not \(constant.line)") }
    let types = schema["type"]?.text.map { [$0] } ?? (schema["type"]?.list ?? []).compactMap(\.text)
    if !types.isEmpty, !types.contains(where: { Self.isType($0, value) }) { return fault("is \(value.kind)") }
    var faults = bounds(of: value, schema).flatMap(fault)
    if let several = schema["anyOf"]?.list, !several.contains(where: { self.faults(of: value, $0, at: place).isEmpty })
    {
      faults += fault("fits none of several shapes")
    }
    if let condition = schema["if"] {
      let branch = self.faults(of: value, condition, at: place).isEmpty ? schema["then"] : schema["else"]
      if let branch { faults += self.faults(of: value, branch, at: place) }
    }
    if let members = value.members {
      for name in (schema["required"]?.list ?? []).compactMap(\.text) where value[name] == nil {
        faults += fault("has no '\(name)'")
      }
      for member in members {
        let inside = place.isEmpty ? member.name : "\(place).\(member.name)"
        if let known = schema["properties"]?[member.name] ?? schema["additionalProperties"], known != false {
          faults += self.faults(of: member.value, known, at: inside)
        } else if schema["properties"] != nil {
          faults.append("\(inside) is not known")
        }
      }
    }
    for (number, entry) in (value.list ?? []).enumerated() {
      if let items = schema["items"] { faults += self.faults(of: entry, items, at: "\(place)[\(number)]") }
    }
    return faults
  }

  /// The fields of the document's objects that a value has, such as `Peer.id`.
  func told(by value: JSON, _ schema: JSON) -> Set<String> {
    let name = schema["$ref"]?.text?.split(separator: "/").last.map(String.init)
    let schema = resolve(schema)
    var told: Set<String> = []
    for member in value.members ?? [] {
      if let name { told.insert("\(name).\(member.name)") }
      if let known = schema["properties"]?[member.name] { told.formUnion(self.told(by: member.value, known)) }
    }
    for entry in value.list ?? [] { told.formUnion(self.told(by: entry, schema["items"] ?? .null)) }
    return told
  }

  /// How long, large or many, and in what form.
  private func bounds(of value: JSON, _ schema: JSON) -> [String] {
    let (length, count) = (value.text?.unicodeScalars.count, value.list?.count)
    let sizes = [
      ("Length", length), ("Items", count), ("Properties", value.members?.count), ("imum", value.integer.map(Int.init)),
    ]
    var broken: [String] = []
    for (word, size) in sizes {
      guard let size else { continue }
      if let least = schema["min\(word)"]?.integer, size < least { broken.append("is less than \(least)") }
      if let most = schema["max\(word)"]?.integer, size > most { broken.append("is more than \(most)") }
    }
    guard let text = value.text else { return broken }
    if let pattern = schema["pattern"]?.text, text.range(of: pattern, options: .regularExpression) == nil {
      broken.append("does not match '\(pattern)'")
    }
    if schema["format"] == "date-time", text.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) == nil {
      broken.append("is no time")
    }
    return broken
  }

  private static func isType(_ type: String, _ value: JSON) -> Bool {
    switch (type, value) {
    case ("object", .object), ("array", .list), ("string", .text), ("boolean", .bool), ("null", .null),
      ("integer", .integer), ("number", .integer), ("number", .real):
      true
    default: false
    }
  }
}
