internal import CZlib

/// Gzip for clients that accept it as content coding (RFC 9110 §8.4.1.3).
package enum Gzip {
  package enum Effort: Int32 {
    /// For content that is made anew for each request.
    case fast = 1
    /// For content that is compressed once.
    case best = 9
  }

  package static func compressed(_ bytes: [UInt8], _ effort: Effort) -> [UInt8] {
    var stream = z_stream()
    precondition(CZlib_deflate_init_gzip(&stream, effort.rawValue) == Z_OK, "there is no memory to pack in")
    defer { deflateEnd(&stream) }
    let bound = Int(deflateBound(&stream, UInt(bytes.count)))
    return [UInt8](unsafeUninitializedCapacity: bound) { room, count in
      bytes.withUnsafeBufferPointer { bytes in
        stream.next_in = UnsafeMutablePointer(mutating: bytes.baseAddress)
        stream.avail_in = UInt32(bytes.count)
        stream.next_out = room.baseAddress
        stream.avail_out = UInt32(room.count)
        precondition(deflate(&stream, Z_FINISH) == Z_STREAM_END, "packed bytes have found no room")
        count = room.count - Int(stream.avail_out)
      }
    }
  }
}
