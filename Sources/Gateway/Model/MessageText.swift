internal import Nearby
internal import Notation

/// A message, as it is written for clients.
struct MessageText {
  let from: String
  let name: String
  /// Nil for everybody.
  let to: [String]?
  let mode: Mode
  let bytes: [UInt8]
  let type: String

  static func type(of bytes: [UInt8]) -> String {
    String(validating: bytes, as: UTF8.self) != nil ? "text/plain; charset=utf-8" : "application/octet-stream"
  }

  func written(as id: String, at time: Timestamp) -> [UInt8] {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("from", .text(from)), .init("displayName", .text(name)),
    ]
    if let to { members.append(.init("to", .list(to.map(JSON.text)))) }
    members += [
      .init("mode", .text("\(mode)")), .init("at", .text(time.description)), .init("size", .number(bytes.count)),
      .init("contentType", .text(type)),
    ]
    members += Payload.members(bytes, as: "body")
    return JSON.object(members).bytes
  }
}
