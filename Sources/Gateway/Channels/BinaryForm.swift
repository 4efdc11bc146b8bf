internal import Notation
internal import Web

/// A message whose body is no text, for those who agreed on binary frames: its JSON without the body, and the bytes that
/// stand there as base64.
struct BinaryForm {
  let json: [UInt8]
  let body: [UInt8]

  // No string of JSON contains a quote without a backslash, so these are found as members only.
  private static let opening = Array(",\"body\":\"".utf8)
  private static let closing = Array("\",\"encoding\":\"base64\"".utf8)

  /// Nil where the item has no such body.
  init?(_ item: [UInt8]) {
    var rest = item[...]
    while let comma = rest.firstIndex(of: UInt8(ascii: ",")), !rest[comma...].starts(with: Self.opening) {
      rest = rest[(comma + 1)...]
    }
    guard let start = rest.firstIndex(of: UInt8(ascii: ",")) else { return nil }
    let base64 = item[(start + Self.opening.count)...].prefix { $0 != UInt8(ascii: "\"") }
    guard item[base64.endIndex...].starts(with: Self.closing), let body = Base64.bytes(base64) else { return nil }
    json = Array(item[..<start] + item[(base64.endIndex + Self.closing.count)...])
    self.body = body
  }

  /// Publishes it as the last member of an object, a newline, and the body.
  func publish(behind head: [UInt8], in ring: Fanout, to listeners: Fanout.Listeners?) {
    let frame = Pieces([head, json, Array("}\n".utf8), body])
    if body.count > Collection.sharedBytesMin, !ring.dropsOldest {
      return ring.publish(frame, .binary, to: listeners)
    }
    frame.joined.withUnsafeBytes { ring.publish($0, .binary, to: listeners) }
  }
}

/// The binary forms of messages. The latest one is kept: it is made once, however many channels publish it.
final class BinaryForms {
  private var latest: (item: [UInt8], form: BinaryForm?)?
  /// How many were made.
  private(set) var madeCount = 0

  func form(of item: [UInt8]) -> BinaryForm? {
    // Arrays that share their bytes are equal at once, and those of other messages differ in their first bytes.
    if let latest, latest.item == item { return latest.form }
    let form = BinaryForm(item)
    if form != nil { madeCount += 1 }
    latest = (item, form)
    return form
  }
}
