internal import Nearby
internal import Notation

/// A message in the form that clients see.
struct MessageText {
  let from: String
  let name: String
  /// Nil for all members.
  let to: [String]?
  let mode: Mode
  let bytes: [UInt8]
  /// The content type that its sender has given, if any.
  let contentType: String?
  /// The same, or the type that the bytes look like.
  let type: String

  init(_ message: Message) {
    self.init(
      from: message.from.peer.text, name: message.from.name, to: nil, mode: message.mode, bytes: message.bytes,
      contentType: message.contentType)
  }

  init(from: String, name: String, to: [String]?, mode: Mode, bytes: [UInt8], contentType: String?) {
    (self.from, self.name, self.to, self.mode, self.bytes) = (from, name, to, mode, bytes)
    self.contentType = contentType
    type = contentType ?? Self.type(of: bytes)
  }

  private static func type(of bytes: [UInt8]) -> String {
    JSON.isPlain(bytes) || String(validating: bytes, as: UTF8.self) != nil
      ? "text/plain; charset=utf-8" : "application/octet-stream"
  }

  /// The size of all but the texts, so that memory is reserved once, and no more than is used.
  private static let frameBytes = 136

  func written(as id: String, at time: Timestamp) -> [UInt8] {
    var json: [UInt8] = []
    json.reserveCapacity(
      bytes.count + id.utf8.count + from.utf8.count + name.utf8.count + type.utf8.count + Self.frameBytes)
    json += "{\"id\":".utf8
    JSON.write(id, to: &json)
    json += ",\"from\":".utf8
    JSON.write(from, to: &json)
    json += ",\"displayName\":".utf8
    JSON.write(name, to: &json)
    if let to {
      json += ",\"to\":".utf8
      JSON.list(to.map(JSON.text)).write(to: &json)
    }
    json += ",\"mode\":\"".utf8
    json += mode.word.utf8
    json += "\",\"at\":\"".utf8
    time.write(to: &json)
    json += "\",\"size\":".utf8
    JSON.write(bytes.count, to: &json)
    json += ",\"contentType\":".utf8
    JSON.write(type, to: &json)
    PayloadJSON.write(bytes, as: "body", to: &json)
    json.append(UInt8(ascii: "}"))
    return json
  }
}

/// The facets of messages, and a cache: mostly the next one has the same sender.
struct MessageFacets {
  private var last: (sender: String, mode: String, facets: [String: String])?

  mutating func of(_ sender: String, _ mode: String) -> [String: String] {
    if let last, last.sender == sender, last.mode == mode { return last.facets }
    let facets = ["from": sender, "mode": mode]
    last = (sender, mode, facets)
    return facets
  }
}

extension Mode {
  /// The name in JSON.
  var word: String {
    switch self {
    case .reliable: "reliable"
    case .unreliable: "unreliable"
    }
  }
}
