import Glibc
import Media
import Reactor
import Testing
import Wire

@Suite struct SecureLinkTests {
  @Test func `each side learns the other's key, and both the same secret`() throws {
    let rig = try Rig()
    let (host, guest) = (Recorder(), Recorder())
    for end in [host, guest] {
      end.opened = { _ in if host.remoteKeys.count + guest.remoteKeys.count == 2 { rig.reactor.stop() } }
    }
    try rig.listen(for: host)
    try rig.dial(guest)
    rig.run()
    #expect(host.remoteKeys == [rig.guestKey.publicKey])
    #expect(guest.remoteKeys == [rig.hostKey.publicKey])
    #expect(host.exporters.count == 1)
    #expect(host.exporters == guest.exporters)
  }

  @Test func `64 MiB cross both ways at once, in odd pieces, whole`() throws {
    let rig = try Rig()
    let total = 64 << 20
    let (host, guest) = (Bulk(total), Bulk(total))
    for end in [host, guest] {
      end.finished = { if host.isDone && guest.isDone { rig.reactor.stop() } }
    }
    try rig.listen(for: host)
    try rig.dial(guest)
    rig.run()
    #expect(host.isDone && guest.isDone)
    #expect(host.isIntact && guest.isIntact)
  }

  @Test func `what was to be sent before a close arrives, then the goodbye, and each side hears of it once`() throws {
    let rig = try Rig()
    let (host, guest) = (Recorder(), Recorder())
    guest.toSend = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let sent = guest.toSend
    guest.opened = { link in
      link.close()
      link.close()
    }
    for end in [host, guest] {
      end.closed = {
        guard host.ends.count + guest.ends.count == 2 else { return }
        // The delay would reveal a second report.
        rig.reactor.schedule(after: .milliseconds(20)) { rig.reactor.stop() }
      }
    }
    try rig.listen(for: host)
    // However busy this machine is, all of it is sent first.
    try rig.dial(guest, closingTime: .seconds(50))
    rig.run()
    #expect(host.received == sent)
    #expect(guest.ends == [.closedHere])
    #expect(host.ends == [.closedThere])
  }

  @Test func `a link may be closed before it is open`() throws {
    let rig = try Rig()
    let (host, guest) = (Recorder(), Recorder())
    guest.closed = { rig.reactor.stop() }
    try rig.listen(for: host)
    let link = try rig.dial(guest)
    rig.reactor.soon { link.close() }
    rig.run()
    #expect(guest.remoteKeys.isEmpty)
    #expect(guest.ends == [.closedHere])
  }

  @Test func `what its owner does not read is thrown away, and the link goes on`() throws {
    let rig = try Rig()
    let (host, guest) = (Recorder(), Recorder())
    host.reads = false
    guest.toSend = [UInt8](repeating: 1, count: 3 << 20)
    guest.opened = { $0.close() }
    host.closed = { rig.reactor.stop() }
    try rig.listen(for: host)
    // However busy this machine is, all of it is sent first.
    try rig.dial(guest, closingTime: .seconds(50))
    rig.run()
    #expect(host.received == [])
    #expect(host.ends == [.closedThere])
  }

  @Test func `a link that the other side does not read takes little, so that nothing waits behind much`() throws {
    let rig = try Rig()
    let host = Bulk(1 << 30)
    let room = 64 << 10
    let address = try Foreigner.serves(thenReads: false, room: room) {
      Foreigner.agree($0)
      Foreigner.show("Ed25519", $0)
    }
    let link = try rig.dial(host, at: address)
    var before = -1
    // The loop stops once a tenth of a second brings nothing more.
    func look() {
      if host.sent == before, before > 0 { return rig.reactor.stop() }
      before = host.sent
      rig.reactor.schedule(after: .milliseconds(100), look)
    }
    look()
    rig.run()
    withExtendedLifetime(link) {}
    // The kernel there holds up to twice the room, that here 64 KiB and what it has just begun, the link a batch.
    #expect(host.sent <= 2 * room + (64 << 10) + (64 << 10) + (66 << 10), "\(host.sent)")
  }

  @Test func `a connection that ends without a goodbye was cut`() throws {
    let rig = try Rig()
    let host = Recorder()
    host.closed = { rig.reactor.stop() }
    try rig.listen(for: host)
    Foreigner.shakesHands(with: try #require(rig.listener).address, thenCuts: true) {
      Foreigner.offer("vicinity/1", $0)
      Foreigner.show("Ed25519", $0)
    }
    rig.run()
    #expect(host.remoteKeys.count == 1)
    #expect(host.ends == [.cut])
  }

  @Test func `where nobody listens, the end says so`() throws {
    let rig = try Rig()
    let guest = Recorder()
    guest.closed = { rig.reactor.stop() }
    let address = try #require(try Descriptor.listening(at: .loopback(port: 0)).localAddress())
    try rig.dial(guest, at: address)
    rig.run()
    #expect(guest.ends.map(\.description) == ["connect to \(address) failed: ECONNREFUSED (Connection refused)"])
  }

  @Test func `an actor of the loop can own a link`() throws {
    let rig = try Rig()
    let guest = Recorder()
    guest.toSend = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 3) }
    let sent = guest.toSend
    let echo = Echo(on: rig.reactor, until: sent.count)
    try rig.listen(for: echo)
    try rig.dial(guest)
    guest.closed = { rig.reactor.stop() }
    rig.run()
    #expect(guest.received == sent)
    #expect(guest.ends == [.closedThere])
  }

  @Test func `nothing of a closed link stays behind`() throws {
    weak var link: SecureLink?
    weak var owner: Recorder?
    weak var reactor: Reactor?
    do {
      let rig = try Rig()
      reactor = rig.reactor
      let (host, guest) = (Recorder(), Recorder())
      owner = guest
      guest.opened = { $0.close() }
      host.closed = { [reactor = rig.reactor] in reactor.stop() }
      try rig.listen(for: host)
      link = try rig.dial(guest)
      rig.run()
    }
    #expect(link == nil)
    #expect(owner == nil)
    #expect(reactor == nil)
  }

  @Test func `one listener serves many links`() throws {
    let rig = try Rig()
    let (host, guest) = (Recorder(), Recorder())
    host.opened = { _ in if host.remoteKeys.count == 50 { rig.reactor.stop() } }
    try rig.listen(for: host)
    for _ in 0..<50 { try rig.dial(guest) }
    rig.run()
    #expect(host.ends == [])
  }
}

/// Echoes all bytes, and closes after so many.
private actor Echo: SecureLinkOwner {
  private let reactor: Reactor
  private let end: Int
  private var waiting: [UInt8] = []
  private var echoed = 0

  init(on reactor: Reactor, until end: Int) {
    self.reactor = reactor
    self.end = end
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  nonisolated func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {}

  nonisolated func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {
    // Called before this returns, on this thread.
    nonisolated(unsafe) let read = read
    assumeIsolated { $0.take(upTo: bytesMax, from: link, read) }
  }

  nonisolated func fill(_ output: inout OutputRawSpan, for link: SecureLink) {
    assumeIsolated { $0.give(&output, to: link) }
  }

  nonisolated func closed(_ link: SecureLink, because end: LinkEnd) {}

  private func take(upTo bytesMax: Int, from link: SecureLink, _ read: (inout OutputRawSpan) -> Void) {
    waiting.append(upTo: bytesMax, read)
    link.wantsToSend()
  }

  private func give(_ output: inout OutputRawSpan, to link: SecureLink) {
    let count = min(output.freeCapacity, waiting.count)
    for byte in waiting.prefix(count) { output.append(byte, as: UInt8.self) }
    waiting.removeFirst(count)
    echoed += count
    if echoed == end { link.close() }
  }
}

/// Sends a known stream in pieces of odd sizes, and checks the one that comes, for which its room has odd sizes too.
final class Bulk: SecureLinkOwner {
  /// A stream that repeats so seldom that a lost or doubled piece shows.
  private static let pattern: [UInt8] = (0..<131_071).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7 &+ $0) }

  private let total: Int
  private let sizes: [Int]
  private(set) var sent = 0
  private var received = 0
  private var pieces = 0
  private var rooms = 0
  private(set) var isIntact = true
  var finished: () -> Void = {}

  init(_ total: Int, pieces sizes: [Int] = [16_384, 1, 70_000, 7, 5_000, 65_536, 16_383, 40_000, 333]) {
    self.total = total
    self.sizes = sizes
  }

  var isDone: Bool { sent == total && received == total }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) { link.wantsToSend() }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {
    rooms += 1
    var bytes: [UInt8] = []
    bytes.append(upTo: min(bytesMax, sizes[rooms % sizes.count]), read)
    bytes.withUnsafeBytes { bytes in
      Self.eachPiece(of: bytes.count, from: received) { offset, pattern in
        let piece = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + pattern.count])
        guard let came = piece.baseAddress, let expected = pattern.baseAddress else { return }
        // A plain comparison of so many bytes takes long in a debug build.
        if memcmp(came, expected, pattern.count) != 0 { isIntact = false }
      }
    }
    received += bytes.count
    if isDone { finished() }
  }

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {
    let count = min(output.freeCapacity, total - sent, sizes[pieces % sizes.count])
    pieces += 1
    output.withUnsafeMutableBytes { room, initialized in
      Self.eachPiece(of: count, from: sent) { offset, pattern in
        UnsafeMutableRawBufferPointer(rebasing: room[offset...]).copyMemory(from: pattern)
      }
      initialized = count
    }
    sent += count
    if isDone { finished() }
  }

  func closed(_ link: SecureLink, because end: LinkEnd) { isIntact = false }

  private static func eachPiece(of count: Int, from position: Int, _ body: (Int, UnsafeRawBufferPointer) -> Void) {
    pattern.withUnsafeBytes { pattern in
      var offset = 0
      while offset < count {
        let start = (position + offset) % pattern.count
        let length = min(count - offset, pattern.count - start)
        body(offset, UnsafeRawBufferPointer(rebasing: pattern[start..<start + length]))
        offset += length
      }
    }
  }
}
