/// A text frame of `vicinity.v1`.
enum SocketFrame {
  /// Reports that `count` changes up to an offset are not for the reader.
  static func skip(_ count: Int, to offset: UInt64, in number: Int) -> String {
    "{\"n\":\(number),\"o\":\(offset),\"skip\":\(count)}"
  }

  /// Reports that `count` changes up to an offset were dropped, since the reader was too slow for them.
  static func dropped(_ count: Int, to offset: UInt64, in number: Int) -> String {
    "{\"n\":\(number),\"o\":\(offset),\"dropped\":\(count)}"
  }
}
