import Glibc
import Reactor
import Testing

@Suite struct PacketTests {
  private struct Missing: Error {}

  /// Its bytes are nil where none has come.
  private func next(_ socket: borrowing Descriptor) throws -> (bytes: [UInt8]?, hasDescriptor: Bool, isWhole: Bool) {
    guard var packet = try socket.receivePacket(bytesMax: 8) else { return (nil, false, false) }
    let hasDescriptor = packet.descriptor.take() != nil
    return (packet.bytes, hasDescriptor, packet.isWhole)
  }

  @Test func `A packet brings its bytes and its descriptor, and the end is a packet without bytes`() throws {
    let pair = try Descriptor.packetPair()
    let streams = try Descriptor.pair()
    #expect(try next(pair.theirs).bytes == nil)
    try pair.ours.sendPacket([1, 2, 3])
    try pair.ours.sendPacket([4], passing: streams.theirs.number)
    let first = try next(pair.theirs)
    #expect(first.bytes == [1, 2, 3] && !first.hasDescriptor && first.isWhole)
    guard var second = try pair.theirs.receivePacket(bytesMax: 8), let stream = second.descriptor.take() else {
      throw Missing()
    }
    #expect(second.bytes == [4] && second.isWhole)
    #expect(stream.isStreamSocket && fcntl(stream.number, F_GETFD) == FD_CLOEXEC)
    // It is the same socket as the one that was passed.
    let sent = try [UInt8(7)].withUnsafeBytes { try stream.send($0) }
    var byte: UInt8 = 0
    let received = try withUnsafeMutableBytes(of: &byte) { try streams.ours.receive($0) }
    #expect(sent == 1 && received == 1 && byte == 7)
    pair.ours.cut()
    #expect(try next(pair.theirs).bytes == [])
  }

  @Test func `A packet that is too long is not whole`() throws {
    let pair = try Descriptor.packetPair()
    try pair.ours.sendPacket([UInt8](repeating: 1, count: 9))
    #expect(try !next(pair.theirs).isWhole)
  }

  @Test func `There is no service at a path without one, or at one that is too long`() {
    #expect(throws: SystemError.self) { _ = try Descriptor.packets(to: "/nowhere/at/all") }
    #expect(throws: SystemError.self) { _ = try Descriptor.packets(to: "/" + String(repeating: "x", count: 200)) }
  }
}
