internal import Notation

/// The text frames of `vicinity.v1` that tell changes.
enum SocketFrame {
  static func change(_ change: Change, in number: Int) -> [UInt8] {
    var frame = Array("{\"n\":\(number),\"o\":\(change.offset),".utf8)
    if let bytes = change.bytes {
      frame += "\"put\":".utf8
      frame += bytes
    } else {
      frame += "\"del\":".utf8
      JSON.text(change.id).write(to: &frame)
    }
    frame.append(UInt8(ascii: "}"))
    return frame
  }

  /// So many changes up to that offset are not for the one who reads it.
  static func skip(_ count: Int, to offset: UInt64, in number: Int) -> String {
    "{\"n\":\(number),\"o\":\(offset),\"skip\":\(count)}"
  }
}
