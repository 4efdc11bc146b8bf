internal import CHash
internal import Engine
internal import Media
internal import Testing
internal import Wire

@Suite struct LeafTests {
  private let crypto = OpenSSLCrypto()

  private func bytes(_ count: Int, seed: UInt8 = 0) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 8) ^ seed }
  }

  @Test(arguments: [0, 1, 16_383, 16_384, 16_385, 32_767, 32_768, 32_769, 49_152, 65_536, 100_000])
  func `Chunks in a row have the digests that each has alone`(count: Int) {
    let bytes = bytes(count)
    let alone = stride(from: 0, to: count, by: Limits.chunkBytes).map {
      ChunkTree.leaf(of: bytes[$0..<min(count, $0 + Limits.chunkBytes)].span.bytes, crypto)
    }
    #expect(crypto.leaves(of: bytes.span.bytes) == alone)
  }

  @Test(.enabled(if: chash_can_pair(), "this processor has no instructions for SHA-256"))
  func `Two messages of any length that are hashed side by side have the digests of SHA-256`() {
    for count in Array(0...200) + [16_384, 16_447] {
      let (one, other) = (bytes(count), bytes(count, seed: 255))
      var (first, second) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32))
      chash_pair(9, one, other, count, &first, &second)
      #expect(first == crypto.hash([9] + one).bytes, "\(count) bytes")
      #expect(second == crypto.hash([9] + other).bytes, "\(count) bytes")
    }
  }
}
