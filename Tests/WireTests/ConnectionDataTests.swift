import Testing
import Wire

@Suite struct ConnectionDataTests {
  private static let data = ConnectionData(
    peer: Sample.peer, host: HostID(Sample.id(0xa0)), endpoint: Sample.endpoint, addresses: [Sample.address])

  /// Version, peer, host, endpoint, one address of 14 bytes.
  private static let vector: [UInt8] =
    [1] + (0x50..<0x60) + (0xa0..<0xb0) + (0xd0..<0xe0) + [1, 14] + Array("192.0.2.1:7777".utf8)

  @Test("P-CUS-1 Connection data are these bytes, and read back as they were")
  func golden() throws {
    #expect(Self.data.bytes == Self.vector)
    #expect(try ConnectionData(decoding: Self.vector.span.bytes) == Self.data)
  }

  @Test("P-CUS-1 Connection data that are cut short, go on, or are of another version are refused by what is wrong")
  func refused() {
    for count in Self.vector.indices {
      #expect(broken { _ = try ConnectionData(decoding: Array(Self.vector[..<count]).span.bytes) } == .truncated)
    }
    #expect(broken { _ = try ConnectionData(decoding: (Self.vector + [0]).span.bytes) } == .trailingBytes(count: 1))
    for version: UInt8 in [0, 2, 255] {
      let other = [version] + Self.vector.dropFirst()
      #expect(broken { _ = try ConnectionData(decoding: other.span.bytes) } == .connectionDataVersion(version))
    }
  }
}
