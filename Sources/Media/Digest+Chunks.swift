internal import CHash
public import Wire

extension Digest {
  /// The BLAKE3 digests of consecutive chunks, all of them whole but for the last: the leaves of a resource's tree. No
  /// node of a tree has one of those, since it is hashed another way.
  public static func ofChunks(_ chunks: RawSpan) -> [Digest] {
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

  /// How many pieces of chunks this processor hashes in parallel (SIMD lanes).
  private static let lanes = chash_lanes()
}
