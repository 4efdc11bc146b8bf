import Glibc
import Reactor
import Testing

@Suite struct StreamTests {
  @Test func `A socket that somebody else has made wait is not waited for`() throws {
    let pair = try Descriptor.pair()
    // A call that waits would do so for two seconds.
    var time = [2, 0]
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      try #require(setsockopt(pair.ours.number, SOL_SOCKET, option, &time, 16) == 0)
    }
    // Descriptors of a socket share this, in whichever process they are.
    try #require(fcntl(pair.ours.number, F_SETFL, O_RDWR) == 0)
    let start = Reactor.now
    var byte: UInt8 = 0
    let received = try withUnsafeMutableBytes(of: &byte) { try pair.ours.receive($0) }
    let peeked = try withUnsafeMutableBytes(of: &byte) { try pair.ours.peek($0) }
    #expect(received == nil && peeked == nil)
    let bytes = [UInt8](repeating: 1, count: 1 << 16)
    var sent = 0
    while let count = try bytes.withUnsafeBytes({ try pair.ours.send($0) }), sent < 64 << 20 { sent += count }
    #expect(sent > 0 && sent < 64 << 20)
    #expect(Reactor.now - start < 1_500_000_000)
  }
}
