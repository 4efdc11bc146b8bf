internal import Foundation
internal import Notation
internal import Testing

/// A WebSocket as a client has it: of `vicinity.v1`, or of one stream.
final class Talk: Sendable {
  enum Frame: Equatable, Sendable {
    case text(JSON)
    case binary([UInt8])
    case close(UInt16)
    case end
  }

  private let line: Line
  private let frames: Frames

  private init(_ line: Line, _ subprotocol: String) {
    self.line = line
    frames = Frames(subprotocol)
  }

  static func open(
    _ asker: HTTPClient, at path: String = "/v1/socket", speaking subprotocol: String = "vicinity.v1",
    _ headers: [String: String] = [:]
  ) async throws -> Talk {
    let (talk, answer) = try await ask(asker, at: path, speaking: subprotocol, headers)
    #expect(answer.status == 101 && answer["Sec-WebSocket-Protocol"] == subprotocol)
    return talk
  }

  /// A wish that may be refused.
  static func ask(
    _ asker: HTTPClient, at path: String, speaking subprotocol: String, _ headers: [String: String] = [:]
  ) async throws -> (Talk, Answer) {
    let key = Data((0..<16).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()
    var silent = asker
    silent.token = nil
    let head = silent.head(
      "GET", path, nil, nil,
      [
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Protocol": subprotocol,
      ].merging(headers) { $1 })
    return try await onThread {
      let line = try asker.line()
      try line.write(head)
      return (Talk(line, subprotocol), try line.readHead())
    }
  }

  /// A WebSocket that has authenticated, and agreed on binary messages or not.
  static func connected(_ asker: HTTPClient, binary: Bool = false) async throws -> Talk {
    let talk = try await open(asker)
    var connect: JSON = ["token": .text(asker.token ?? "")]
    if binary { connect = ["token": .text(asker.token ?? ""), "binary": true] }
    let answer = try await talk.ask(["id": 0, "connect": connect])
    try #require(answer["ok"]?["client"]?.text != nil && answer["ok"]?["binary"] == .bool(binary), "\(answer.line)")
    return talk
  }

  func say(_ json: JSON) async throws { try await say(json.line) }

  func say(_ text: String, opcode: UInt8 = 1) async throws {
    for fault in (try? JSON(parsing: text)).map(frames.faults(ofSaid:)) ?? [] {
      Issue.record("\(fault): \(text)")
    }
    try await send(Array(text.utf8), opcode)
  }

  /// Sends a frame that may violate the protocol.
  func blurt(_ text: String, opcode: UInt8 = 1) async throws { try await send(Array(text.utf8), opcode) }

  func say(_ bytes: [UInt8]) async throws { try await send(bytes, 2) }

  func goodbye(_ code: UInt16) async throws { try await send([UInt8(code >> 8), UInt8(code & 255)], 8) }

  private func send(_ payload: [UInt8], _ opcode: UInt8) async throws {
    var frame: [UInt8] = [0x80 | opcode]
    switch payload.count {
    case ..<126: frame.append(0x80 | UInt8(payload.count))
    case ..<65_536: frame += [0x80 | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    default: frame += [0x80 | 127] + (0..<8).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
    }
    let mask: [UInt8] = [1, 2, 3, 4]
    frame += mask + payload.enumerated().map { $1 ^ mask[$0 & 3] }
    try await onThread { [line, frame] in try line.write(frame) }
  }

  func next() async throws -> Frame {
    while true {
      let (opcode, payload) = try await raw()
      switch opcode {
      case 1: return .text(try read(payload))
      case 2: return .binary(payload)
      case 8: return .close(Self.code(payload))
      case 16: return .end
      default: continue
      }
    }
  }

  func read(_ payload: [UInt8]) throws -> JSON {
    let json = try JSON(parsing: payload)
    for fault in frames.faults(ofHeard: json) { Issue.record("\(fault): \(json.line)") }
    return json
  }

  private static func code(_ payload: [UInt8]) -> UInt16 {
    payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : 1005
  }

  /// The next frame, unprocessed: the opcode 16 stands for the end of the connection.
  private func raw() async throws -> (opcode: UInt8, payload: [UInt8]) {
    try await onThread { [line] in
      guard let start = try line.read(2) else { return (16, []) }
      var count = Int(start[1] & 127)
      if count >= 126 {
        guard let length = try line.read(count == 126 ? 2 : 8) else { return (16, []) }
        count = length.reduce(0) { $0 << 8 | Int($1) }
      }
      guard let payload = count == 0 ? [] : try line.read(count) else { return (16, []) }
      return (start[0] & 15, payload)
    }
  }

  /// How it ends, and all texts that come before that, unread: a gateway does not wait for long for those whom it closes.
  func rest() async throws -> (texts: [[UInt8]], code: UInt16) {
    var texts: [[UInt8]] = []
    while true {
      let (opcode, payload) = try await raw()
      if opcode == 1 { texts.append(payload) }
      if opcode == 8 || opcode == 16 { return (texts, opcode == 8 ? Self.code(payload) : 1006) }
    }
  }

  /// The answer to it; what else comes before it is not looked at.
  func ask(_ json: JSON) async throws -> JSON {
    try await say(json)
    return try await answer(to: json["id"])
  }

  func answer(to id: JSON?) async throws -> JSON {
    while true {
      switch try await next() {
      case .text(let json): if json["id"] == id { return json }
      case let frame: throw Line.Broken(what: "the WebSocket ended with \(frame)")
      }
    }
  }

  /// The next change of a channel.
  func change(of number: JSON?) async throws -> JSON {
    while true {
      switch try await next() {
      case .text(let json): if json["n"] == number { return json }
      case let frame: throw Line.Broken(what: "the WebSocket ended with \(frame)")
      }
    }
  }

  /// The next change of one of these channels as text has it, and the body if it came in a binary message.
  func put(of numbers: [JSON?]) async throws -> (change: JSON, body: [UInt8]?) {
    while true {
      switch try await next() {
      case .text(let json): if numbers.contains(json["n"]) { return (json, nil) }
      case .binary(let payload):
        let end = try #require(payload.firstIndex(of: UInt8(ascii: "\n")))
        let body = Array(payload[(end + 1)...])
        let change = try read(Self.text(of: try JSON(parsing: Array(payload[..<end])), body).bytes)
        if numbers.contains(change["n"]) { return (change, body) }
      case let frame: throw Line.Broken(what: "the WebSocket ended with \(frame)")
      }
    }
  }

  /// The text frame for which a binary message stands.
  private static func text(of frame: JSON, _ body: [UInt8]) throws -> JSON {
    var item = try #require(frame["put"]?.members)
    #expect(!item.contains { $0.name == "body" || $0.name == "encoding" })
    let place = try #require(item.firstIndex { $0.name == "contentType" }) + 1
    item.insert(
      contentsOf: [.init("body", .text(Base64.text(body))), .init("encoding", "base64")], at: place)
    return .object((frame.members ?? []).map { $0.name == "put" ? .init("put", .object(item)) : $0 })
  }

  /// How it ends.
  func closing() async throws -> UInt16 {
    while true {
      switch try await next() {
      case .text, .binary: continue
      case .close(let code): return code
      case .end: return 1006
      }
    }
  }

  func hangUp() { line.hangUp() }
}
