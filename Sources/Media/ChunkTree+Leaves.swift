internal import CHash
public import Engine
public import Wire

extension ChunkTree {
  /// The digests of chunks that lie in a row, all of them whole but for the last: BLAKE3 of each. No node has one of those,
  /// since it is hashed another way.
  public static func leaves(of chunks: RawSpan) -> [Digest] {
    let count = (chunks.byteCount + Limits.chunkBytes - 1) / Limits.chunkBytes
    let bytes = [UInt8](unsafeUninitializedCapacity: count * Digest.byteCount) { digests, filled in
      chunks.withUnsafeBytes { chash_each($0.baseAddress, $0.count, lanes, digests.baseAddress) }
      filled = count * Digest.byteCount
    }
    // A UInt8 has no padding to show.
    var reader = Reader(bytes.span.bytes)
    // It throws where bytes are missing, and none is.
    return (0..<count).map { _ in try! Digest(from: &reader) }
  }

  /// How many pieces of chunks this processor hashes side by side.
  private static let lanes = chash_lanes()
}
