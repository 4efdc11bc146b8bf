internal import Notation
internal import Synchronization
internal import Testing

/// An HTTP response.
struct Answer: Sendable {
  struct Header: Sendable {
    let name: String
    let value: String
  }

  let status: Int
  let headers: [Header]
  var body: [UInt8] = []

  subscript(name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }

  /// The length of the body as sent.
  var byteCount: Int { self["Content-Length"].flatMap { Int($0) } ?? body.count }
  var text: String { String(decoding: body, as: UTF8.self) }
  var json: JSON { (try? JSON(parsing: body)) ?? .null }
  /// The last part of a problem's type.
  var problem: String? { json["type"]?.text?.split(separator: "/").last.map(String.init) }
  var id: String { json["id"]?.text ?? "" }
  var ids: [String] { (json["items"]?.list ?? []).compactMap { $0["id"]?.text } }
}

/// An HTTP client of a gateway that checks each response against the contract.
struct HTTPClient: Sendable {
  let port: UInt16
  var token: String?
  /// Sent with everything.
  var headers: [String: String] = [:]
  /// The address that is asked, IPv4.
  var host = "127.0.0.1"
  /// Believed under TLS; nil for none.
  var authority: [UInt8]?

  func line() throws -> Line { try Line(to: port, at: host, trusting: authority) }

  func get(_ path: String, _ headers: [String: String] = [:]) async throws -> Answer {
    try await ask("GET", path, headers: headers)
  }

  func post(_ path: String, _ json: JSON = [:], _ headers: [String: String] = [:]) async throws -> Answer {
    try await ask("POST", path, json.bytes, type: "application/json", headers: headers)
  }

  func patch(_ path: String, _ json: JSON, _ headers: [String: String] = [:]) async throws -> Answer {
    try await ask("PATCH", path, json.bytes, type: "application/json", headers: headers)
  }

  func delete(_ path: String, _ headers: [String: String] = [:]) async throws -> Answer {
    try await ask("DELETE", path, headers: headers)
  }

  /// Made, or the test ends here.
  func make(_ path: String, _ json: JSON = [:]) async throws -> Answer {
    let answer = try await post(path, json)
    try #require(answer.status == 201, "\(answer.text)")
    #expect(answer["Location"]?.hasPrefix(path) == true)
    return answer
  }

  func ask(
    _ method: String, _ path: String, _ body: [UInt8]? = nil, type: String? = nil, headers: [String: String] = [:]
  ) async throws -> Answer {
    let head = head(method, path, body?.count, type, headers)
    let answer = try await onThread {
      let line = try line()
      try line.write(Array(head.utf8) + (body ?? []))
      return try line.readAnswer(to: method).unpacked()
    }
    for fault in Document.shared.faults(of: answer, to: method, path) {
      Issue.record("\(method) \(path): \(fault): \(answer.status) \(answer.text)")
    }
    return answer
  }

  /// Sends the first part of a body, and leaves the rest open.
  func begin(
    _ method: String, _ path: String, _ part: [UInt8], of length: Int, _ headers: [String: String] = [:]
  ) async throws -> Line {
    let head = head(method, path, length, nil, headers)
    return try await onThread {
      let line = try line()
      try line.write(Array(head.utf8) + part)
      return line
    }
  }

  func head(_ method: String, _ path: String, _ length: Int?, _ type: String?, _ more: [String: String]) -> String {
    var all = ["Host": "\(host):\(port)", "Connection": "close"]
    if let token { all["Authorization"] = "Bearer \(token)" }
    if let length { all["Content-Length"] = String(length) }
    if let type { all["Content-Type"] = type }
    for (name, value) in headers.merging(more, uniquingKeysWith: { $1 }) { all[name] = value }
    return "\(method) \(path) HTTP/1.1\r\n" + all.map { "\($0.key): \($0.value)\r\n" }.joined() + "\r\n"
  }

  /// The position of a channel: later changes have later positions.
  func position(of path: String) async throws -> String {
    let answer = try await get(path)
    return try #require(answer.json["position"]?.text, "\(path): \(answer.text)")
  }

  /// Polls a list, or the changes since a position, until it holds an item that matches.
  func wait(in path: String, since position: String? = nil, _ isMeant: @escaping (JSON) -> Bool) async throws -> JSON {
    let mark = path.contains("?") ? "&" : "?"
    var answer = try await get(position.map { "\(path)\(mark)since=\($0)&wait=60" } ?? path)
    while true {
      let items = (answer.json["items"]?.list ?? []) + (answer.json["changes"]?.list ?? []).compactMap { $0["put"] }
      if let item = items.first(where: isMeant) { return item }
      let position = try #require(answer.json["position"]?.text, "\(path): \(answer.text)")
      answer = try await get("\(path)\(mark)since=\(position)&wait=60")
      try #require(
        answer.json["changes"]?.list?.isEmpty == false || answer.json["recovered"] == false,
        "nothing came in \(path)")
    }
  }

  func wait(in path: String, _ name: String, _ value: JSON) async throws -> JSON {
    try await wait(in: path) { $0[name] == value }
  }

  // MARK: Streams of events

  struct ServerSentEvent: Sendable, Equatable {
    var name = ""
    var id: String?
    var data = JSON.null

    fileprivate init(_ text: String) throws {
      for line in text.split(separator: "\n") {
        let parts = line.split(separator: ":", maxSplits: 1).map { $0.drop { $0 == " " } }
        switch parts.first {
        case "event": name = String(parts[1])
        case "id": id = String(parts[1])
        case "data": data = try JSON(parsing: String(parts[1]))
        default: break
        }
      }
    }
  }

  /// The events of an open `text/event-stream`.
  final class Events: Sendable {
    let line: Line
    /// The bytes of the next events that have already been received.
    private let rest = Mutex<[UInt8]>([])

    init(line: Line) { self.line = line }

    /// Nil at its end.
    func next() async throws -> ServerSentEvent? {
      try await onThread { [self] in
        while true {
          while let text = take() {
            let happening = try ServerSentEvent(text)
            if !happening.name.isEmpty { return happening }
          }
          guard let chunk = try line.readChunk() else { return nil }
          rest.withLock { $0 += chunk }
        }
      }
    }

    private func take() -> String? {
      rest.withLock { bytes in
        let newline = UInt8(ascii: "\n")
        guard let end = bytes.indices.dropFirst().first(where: { bytes[$0] == newline && bytes[$0 - 1] == newline })
        else {
          return nil
        }
        defer { bytes.removeFirst(end + 1) }
        return String(decoding: bytes[..<end], as: UTF8.self)
      }
    }
  }

  func follow(_ path: String, _ headers: [String: String] = [:]) async throws -> Events {
    let head = head("GET", path, nil, nil, ["Accept": "text/event-stream"].merging(headers) { $1 })
    return try await onThread {
      let line = try line()
      try line.write(head)
      let answer = try line.readHead()
      #expect(answer.status == 200 && answer["Content-Type"] == "text/event-stream")
      return Events(line: line)
    }
  }
}
