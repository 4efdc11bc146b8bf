internal import CHash
internal import Engine
internal import Media
internal import Testing
internal import Wire

@Suite struct LeafTests {
  /// Digests of so many bytes, which count up to 250 and begin anew: as BLAKE3's own test vectors have it.
  private static let vectors = [
    1: "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
    2: "7b7015bb92cf0b318037702a6cdd81dee41224f734684c2c122cd6359cb1ee63",
    63: "e9bc37a594daad83be9470df7f7b3798297c3d834ce80ba85d6e207627b7db7b",
    64: "4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98",
    65: "de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee",
    1023: "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11",
    1024: "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7",
    1025: "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444",
    2048: "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a",
    2049: "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030",
    3072: "b98cb0ff3623be03326b373de6b9095218513e64f1ee2edd2525c7ad1e5cffd2",
    3073: "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3",
    4097: "9b4052b38f1c5fc8b1f9ff7ac7b27cd242487b3d890d15c96a1c25b8aa0fb995",
    5121: "628bd2cb2004694adaab7bbd778a25df25c47b9d4155a55f8fbd79f2fe154cff",
    7168: "61da957ec2499a95d6b8023e2b0e604ec7f6b50e80a9678b89d2628e99ada77a",
    8193: "bab6c09cb8ce8cf459261398d2e7aef35700bf488116ceb94a36d0f5f1b7bc3b",
    16383: "7529418ecb789a30254899f229522ccde05234d2019c5ec5072bc4685a57658d",
    16384: "f875d6646de28985646f34ee13be9a576fd515f76b5b0a26bb324735041ddde4",
  ]

  private func counting(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0 % 251) } }

  private func mixed(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 8) } }

  private func digests(of bytes: [UInt8], lanes: CInt) -> [[UInt8]] {
    let count = (bytes.count + Limits.chunkBytes - 1) / Limits.chunkBytes
    var digests = [UInt8](repeating: 0, count: count * Digest.byteCount)
    chash_each(bytes, bytes.count, lanes, &digests)
    return (0..<count).map { Array(digests[$0 * Digest.byteCount..<($0 + 1) * Digest.byteCount]) }
  }

  @Test(arguments: vectors)
  func `A chunk's digest is its BLAKE3`(count: Int, digest: String) throws {
    let bytes = counting(count)
    let leaf = try #require(Digest.ofChunks(bytes.span.bytes).first)
    #expect(leaf.bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() == digest)
  }

  @Test(arguments: [0, 1, 16_383, 16_384, 16_385, 32_767, 32_768, 32_769, 49_152, 65_536, 100_000])
  func `Chunks in a row have the digests that each has alone`(count: Int) {
    let bytes = mixed(count)
    let alone = stride(from: 0, to: count, by: Limits.chunkBytes).flatMap {
      Digest.ofChunks(bytes[$0..<min(count, $0 + Limits.chunkBytes)].span.bytes)
    }
    #expect(alone.count == (count + Limits.chunkBytes - 1) / Limits.chunkBytes)
    #expect(Digest.ofChunks(bytes.span.bytes) == alone)
  }

  @Test(arguments: [4, 8, 16].filter { $0 <= chash_lanes() }, 1...18)
  func `However many pieces a processor hashes side by side, they are the same digests`(lanes: CInt, chunks: Int) {
    let bytes = mixed(chunks * Limits.chunkBytes + chunks * 777)
    let alone = stride(from: 0, to: bytes.count, by: Limits.chunkBytes).flatMap {
      digests(of: Array(bytes[$0..<min(bytes.count, $0 + Limits.chunkBytes)]), lanes: 4)
    }
    #expect(digests(of: bytes, lanes: lanes) == alone)
  }
}
