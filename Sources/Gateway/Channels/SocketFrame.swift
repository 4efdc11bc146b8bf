/// A text frame of `vicinity.v1`.
enum SocketFrame {
  /// So many changes up to that offset are not for the one who reads it.
  static func skip(_ count: Int, to offset: UInt64, in number: Int) -> String {
    "{\"n\":\(number),\"o\":\(offset),\"skip\":\(count)}"
  }

  /// So many changes up to that offset were dropped, since the one who reads it was too slow for them.
  static func dropped(_ count: Int, to offset: UInt64, in number: Int) -> String {
    "{\"n\":\(number),\"o\":\(offset),\"dropped\":\(count)}"
  }
}
