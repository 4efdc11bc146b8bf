/// A buffer for bytes that are read and passed on at once, shared by all connections of a loop.
final class ScratchBuffer {
  static let byteCount = 64 << 10

  let room = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 16)

  deinit {
    room.deallocate()
  }
}
