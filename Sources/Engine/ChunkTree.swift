public import Wire

/// The Merkle tree over a resource's chunks from the first on, as RFC 6962 builds it: as many digests as the chunk
/// count has ones in binary.
///
/// The program computes the digests of the chunks, since it has the bytes. No chunk may have the digest of a node.
public struct ChunkTree: Hashable, Sendable {
  /// Roots of complete subtrees, the largest first.
  private(set) var peaks: [Digest] = []
  private(set) var count: UInt64 = 0

  public init() {}

  /// Restores a stored tree; nil where these cannot be the peaks of so many chunks.
  init?(peaks: [Digest], count: UInt64) {
    guard peaks.count == count.nonzeroBitCount else { return nil }
    self.peaks = peaks
    self.count = count
  }

  public mutating func append(_ leaf: Digest, _ crypto: any Crypto) {
    var node = leaf
    // Each one bit at the end of the count is a subtree of the same size; two of these make a larger one.
    for _ in 0..<(~count).trailingZeroBitCount { node = Self.node(peaks.removeLast(), node, crypto) }
    peaks.append(node)
    count += 1
  }

  public func root(_ crypto: any Crypto) -> Digest {
    guard var root = peaks.last else { return crypto.hash([]) }
    for peak in peaks.dropLast().reversed() { root = Self.node(peak, root, crypto) }
    return root
  }

  /// The longest prefix of chunks that both trees have, as far as their complete subtrees show it.
  func commonPrefix(with other: ChunkTree) -> ChunkTree {
    var prefix = ChunkTree()
    for (mine, theirs) in zip(subtrees, other.subtrees) {
      guard mine == theirs else { break }
      prefix.peaks.append(mine.root)
      prefix.count += mine.count
    }
    return prefix
  }

  private struct Subtree: Equatable {
    var root: Digest
    var count: UInt64
  }

  private var subtrees: [Subtree] {
    var rest = count
    return peaks.map { peak in
      // As many peaks as ones in the count, the largest first.
      let size = UInt64(1) << UInt64(63 - rest.leadingZeroBitCount)
      rest -= size
      return Subtree(root: peak, count: size)
    }
  }

  private static func node(_ left: Digest, _ right: Digest, _ crypto: any Crypto) -> Digest {
    var sink = ArraySink()
    sink.bytes.reserveCapacity(1 + 2 * Digest.byteCount)
    sink.put(u8: 1)
    left.encode(into: &sink)
    right.encode(into: &sink)
    return crypto.hash(sink.bytes)
  }
}
