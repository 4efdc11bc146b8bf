internal import CZlib

extension Answer {
  /// The answer, decompressed if it is packed with gzip.
  func unpacked() -> Answer {
    guard self["Content-Encoding"] == "gzip" else { return self }
    var stream = z_stream()
    guard CZlib_inflate_init_gzip(&stream) == Z_OK else { return self }
    defer { inflateEnd(&stream) }
    var (answer, packed) = (self, body)
    answer.body = [UInt8](unsafeUninitializedCapacity: Self.bytesMax) { room, count in
      packed.withUnsafeMutableBufferPointer { packed in
        stream.next_in = packed.baseAddress
        stream.avail_in = UInt32(packed.count)
        stream.next_out = room.baseAddress
        stream.avail_out = UInt32(room.count)
        count = inflate(&stream, Z_FINISH) == Z_STREAM_END ? room.count - Int(stream.avail_out) : 0
      }
    }
    return answer
  }

  private static let bytesMax = 8 << 20
}
