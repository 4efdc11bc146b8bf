internal import Notation

/// Bytes of a peer in JSON: text as it is, otherwise base64 with an `encoding` member.
enum PayloadJSON {
  static func members(_ bytes: [UInt8], as name: String) -> [JSON.Member] {
    if let text = String(validating: bytes, as: UTF8.self) { return [.init(name, .text(text))] }
    return [.init(name, .text(Base64.text(bytes))), .init("encoding", "base64")]
  }

  /// The original bytes.
  static func bytes(_ json: JSON, _ name: String) -> [UInt8] {
    guard let text = json[name]?.text else { return [] }
    return json["encoding"] == nil ? Array(text.utf8) : Base64.bytes(text) ?? []
  }

  /// The same, appended to other members.
  static func write(_ bytes: [UInt8], as name: String, to json: inout [UInt8]) {
    if JSON.isPlain(bytes) {
      json += ",\"".utf8
      json += name.utf8
      json += "\":\"".utf8
      json += bytes
      return json.append(UInt8(ascii: "\""))
    }
    for member in members(bytes, as: name) {
      json.append(UInt8(ascii: ","))
      JSON.write(member.name, to: &json)
      json.append(UInt8(ascii: ":"))
      member.value.write(to: &json)
    }
  }
}
