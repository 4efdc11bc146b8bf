import Glibc
import Reactor
import Testing
import Wire

@testable import Media

@Suite struct HandshakeQueueTests {
  /// A connection from one of the many addresses of this machine, with so many bytes of a possible handshake, and
  /// nothing more.
  private static func visitor(
    from last: UInt8, at address: SocketAddress, saying bytes: [UInt8], on reactor: Reactor
  ) throws -> Line {
    let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
    for (port, call) in [(UInt16(0), bind), (address.port, connect)] {
      var place = sockaddr_in()
      place.sin_family = sa_family_t(AF_INET)
      place.sin_port = port.bigEndian
      place.sin_addr.s_addr = (port == 0 ? 0x7f00_0000 + UInt32(last) : INADDR_LOOPBACK).bigEndian
      _ = withUnsafePointer(to: &place) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          call(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
    }
    let line = try Line(Descriptor(owning: socket), on: reactor)
    line.send(bytes)
    return line
  }

  /// The head of a client hello that announces 16,000 bytes and brings them, of more that never come.
  private static let halfHello: [UInt8] =
    [0x16, 3, 1, 0x3e, 0x80, 1, 1, 0xff, 0xff] + [UInt8](repeating: 0, count: 15_996)

  /// Resident memory of this process.
  private static func residentBytes() -> Int {
    let file = fopen("/proc/self/statm", "r")
    defer { fclose(file) }
    var (size, resident) = (0, 0)
    withUnsafeMutablePointer(to: &size) { size in
      withUnsafeMutablePointer(to: &resident) { resident in
        _ = withVaList([size, resident]) { vfscanf(file, "%ld %ld", $0) }
      }
    }
    return resident * 4_096
  }

  @Test func `a thousand that say nothing take a bounded place, and a link that stands goes on`() throws {
    let rig = try Rig()
    var limits = SecureLink.Limits()
    // All of them come before the first has timed out.
    limits.handshakeTime = .seconds(6)
    let room = HandshakeQueue(rig.hostContext, on: rig.reactor, linkLimits: limits)
    let (host, guest, silent) = (Bulk(8 << 20), Bulk(8 << 20), Recorder())
    var isFirst = true
    let listener = try Listener(at: .loopback(port: 0), on: rig.reactor) {
      do {
        try room.take($0, for: isFirst ? host : silent)
      } catch {
        Issue.record(error)
      }
      isFirst = false
    }
    var visitors: [Line] = []
    var most = 0
    silent.closed = { most = max(most, room.count) }
    let link = try rig.dial(guest, at: listener.address)
    let start = Reactor.now
    func come() {
      // An open link is not counted any more.
      guard link.isOpen else { return rig.reactor.soon(come) }
      do {
        for number in 0..<1_000 {
          visitors.append(
            try Self.visitor(
              from: UInt8(1 + number % 10), at: listener.address, saying: number % 2 == 0 ? [] : [0x16, 3, 1],
              on: rig.reactor))
        }
      } catch {
        Issue.record(error)
      }
      look()
    }
    func look() {
      most = max(most, room.count)
      if silent.ends.count == 1_000, host.isDone, guest.isDone { return rig.reactor.stop() }
      rig.reactor.schedule(after: .milliseconds(10), look)
    }
    come()
    rig.run()
    #expect(most == 256)
    #expect(room.count == 0)
    #expect(silent.ends.filter { $0 == .crowdedOut }.count == 1_000 - 256)
    #expect(silent.ends.filter { $0 == .handshakeTimedOut }.count == 256)
    #expect(Reactor.now - start < 30_000_000_000)
    #expect(host.isIntact && guest.isIntact)
    withExtendedLifetime((listener, visitors)) {}
  }

  @Test func `one address fills its own places, and the oldest of them go first`() throws {
    let rig = try Rig()
    var limits = HandshakeQueue.Limits()
    (limits.linksMax, limits.linksPerAddressMax) = (6, 3)
    let room = HandshakeQueue(rig.hostContext, on: rig.reactor, limits: limits)
    let owners = (0..<9).map { _ in Recorder() }
    var came = 0
    let listener = try Listener(at: .loopback(port: 0), on: rig.reactor) {
      try? room.take($0, for: owners[came])
      came += 1
    }
    var visitors: [Line] = []
    func come() {
      // One after another, to tell them apart.
      guard came == visitors.count else { return rig.reactor.soon(come) }
      if came == owners.count { return rig.reactor.soon { rig.reactor.soon { rig.reactor.stop() } } }
      // The first three from one address and the fourth too; then others.
      let address: UInt8 = came < 4 ? 1 : UInt8(came)
      // A failure is fatal: nothing is left to test without sockets.
      visitors.append(try! Self.visitor(from: address, at: listener.address, saying: [], on: rig.reactor))
      come()
    }
    rig.reactor.soon(come)
    rig.run()
    let gone = owners.indices.filter { owners[$0].ends == [.crowdedOut] }
    // The fourth of one address evicted its first; the eighth and ninth in all evicted the oldest of those left.
    #expect(gone == [0, 1, 2])
    #expect(room.count == 6)
    withExtendedLifetime(listener) {}
  }

  @Test func `who shakes hands has a place while a flood comes from elsewhere`() throws {
    let rig = try Rig()
    var limits = HandshakeQueue.Limits()
    (limits.linksMax, limits.linksPerAddressMax) = (60, 25)
    let room = HandshakeQueue(rig.hostContext, on: rig.reactor, limits: limits)
    let host = Recorder()
    let listener = try Listener(at: .loopback(port: 0), on: rig.reactor) { try? room.take($0, for: host) }
    var visitors: [Line] = []
    var isFlooding = true
    func flood() {
      guard isFlooding else { return }
      for _ in 0..<3 {
        // A failure is fatal: nothing is left to test without sockets.
        visitors.append(try! Self.visitor(from: 9, at: listener.address, saying: [0x16], on: rig.reactor))
      }
      if visitors.count > 600 { visitors.removeFirst(3) }
      rig.reactor.schedule(after: .milliseconds(1), flood)
    }
    let guests = (0..<20).map { _ in Recorder() }
    for guest in guests {
      guest.opened = { _ in
        guard host.remoteKeys.count == guests.count else { return }
        isFlooding = false
        rig.reactor.stop()
      }
    }
    host.opened = { _ in if host.remoteKeys.count == guests.count { rig.reactor.stop() } }
    flood()
    for guest in guests { try rig.dial(guest, at: listener.address) }
    rig.run()
    #expect(host.remoteKeys == [PublicKey](repeating: rig.guestKey.publicKey, count: 20))
    for visitor in visitors { visitor.close() }
  }

  @Test func `256 that say half a hello, and the rest of a room, cost no more than 56 MiB`() async {
    await #expect(processExitsWith: .success) {
      let reactor = try Reactor()
      let room = HandshakeQueue(LinkContext(key: SigningKey()), on: reactor)
      let owner = Recorder()
      let listener = try Listener(at: .loopback(port: 0), on: reactor) { try? room.take($0, for: owner) }
      var visitors: [Line] = []
      let before = HandshakeQueueTests.residentBytes()
      // The listener's backlog limits the batch; the second half reuses memory of the first.
      func come() throws {
        for number in 0..<500 {
          visitors.append(
            try HandshakeQueueTests.visitor(
              from: UInt8(1 + number % 10), at: listener.address, saying: HandshakeQueueTests.halfHello, on: reactor))
        }
      }
      var last = -1
      func look() {
        let isSettled = room.count == 256 && owner.ends.count == last && last == visitors.count - 256
        if isSettled, visitors.count == 1_000 { return reactor.stop() }
        // A failure is fatal: nothing is left to test without sockets.
        if isSettled { try! come() }
        last = owner.ends.count
        reactor.schedule(after: .milliseconds(300), look)
      }
      reactor.schedule(after: .seconds(30)) { preconditionFailure("\(room.count) wait, \(owner.ends.count) are gone") }
      try come()
      look()
      reactor.run()
      // The visitors' own bytes are not the queue's.
      let written = visitors.count * HandshakeQueueTests.halfHello.count
      let bytes = HandshakeQueueTests.residentBytes() - before - written
      precondition(bytes < 56 << 20, "\(bytes) bytes")
      withExtendedLifetime((listener, visitors, room)) {}
    }
  }
}
