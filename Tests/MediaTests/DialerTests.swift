import Glibc
import Reactor
import Testing
import Wire

@testable import Media

@Suite struct DialerTests {
  private let quick = {
    var limits = Dialer.Limits()
    limits.attemptDelay = .milliseconds(30)
    return limits
  }()

  /// A listening address that never answers: its queue is full, so that a newcomer is left waiting.
  private final class Tarpit {
    let socket: Descriptor
    let address: SocketAddress
    private var fillers: [CInt] = []

    init() throws {
      socket = try Descriptor.listening(at: .loopback(port: 0), backlog: 0)
      address = try #require(try socket.localAddress())
      for _ in 0..<3 { fillers.append(dup(try Descriptor.connecting(to: address).number)) }
    }

    deinit { for filler in fillers { close(filler) } }
  }

  /// An address where nobody listens.
  private func closed() throws -> SocketAddress {
    try #require(try Descriptor.listening(at: .loopback(port: 0)).localAddress())
  }

  /// The outcome of a dial: the owner's record, and the failure if it was one.
  private func dial(
    _ addresses: [SocketAddress], expecting host: HostID?, on rig: Rig, limits: Dialer.Limits? = nil
  ) -> (Recorder, DialFailure?, Duration) {
    let guest = Recorder()
    var failure: DialFailure?
    let start = Reactor.now
    guest.opened = { _ in rig.reactor.stop() }
    Dialer.dial(
      addresses, expecting: host, LinkContext(key: rig.guestKey), on: rig.reactor, limits: limits ?? quick, owner: guest
    ) {
      failure = $0
      rig.reactor.stop()
    }
    rig.run()
    return (guest, failure, .nanoseconds(Reactor.now - start))
  }

  @Test func `an address that refuses and one that never answers do not keep a host from being reached`() throws {
    let rig = try Rig()
    let host = Recorder()
    try rig.listen(for: host)
    let tarpit = try Tarpit()
    let addresses = [try closed(), tarpit.address, try #require(rig.listener).address]
    let (guest, failure, _) = dial(addresses, expecting: HostID(of: rig.hostKey.publicKey), on: rig)
    #expect(failure == nil)
    #expect(guest.remoteKeys == [rig.hostKey.publicKey])
    #expect(guest.ends == [])
  }

  @Test func `the link that wins carries bytes both ways for its owner`() throws {
    let rig = try Rig()
    let (host, guest) = (Recorder(), Recorder())
    try rig.listen(for: host)
    (host.toSend, guest.toSend) = ([1, 2, 3], [4, 5, 6])
    for end in [host, guest] {
      end.hasReceived = { if host.received.count + guest.received.count == 6 { rig.reactor.stop() } }
    }
    Dialer.dial(
      [try closed(), try #require(rig.listener).address], expecting: nil, LinkContext(key: rig.guestKey),
      on: rig.reactor, owner: guest
    ) { Issue.record($0) }
    rig.run()
    #expect(host.received == [4, 5, 6])
    #expect(guest.received == [1, 2, 3])
  }

  @Test func `an address that becomes known while others are tried joins them`() throws {
    let rig = try Rig()
    try rig.listen(for: Recorder())
    let (place, tarpit) = (try #require(rig.listener).address, try Tarpit())
    let guest = Recorder()
    guest.opened = { _ in rig.reactor.stop() }
    let dialer = Dialer.dial(
      [tarpit.address], expecting: nil, LinkContext(key: rig.guestKey), on: rig.reactor, limits: quick, owner: guest
    ) { Issue.record($0) }
    rig.reactor.soon { dialer.join([tarpit.address, place]) }
    rig.run()
    #expect(guest.remoteKeys == [rig.hostKey.publicKey])
  }

  @Test func `an address that joins one which answers is not dialled`() throws {
    let rig = try Rig()
    try rig.listen(for: Recorder())
    var callers = 0
    let other = try Listener(at: .loopback(port: 0), on: rig.reactor) { _ in callers += 1 }
    let guest = Recorder()
    guest.opened = { _ in rig.reactor.stop() }
    let dialer = Dialer.dial(
      [try #require(rig.listener).address], expecting: nil, LinkContext(key: rig.guestKey), on: rig.reactor,
      owner: guest
    ) { Issue.record($0) }
    rig.reactor.soon { dialer.join([other.address]) }
    rig.run()
    #expect(guest.remoteKeys == [rig.hostKey.publicKey])
    #expect(callers == 0)
  }

  @Test func `addresses that join count as those that were there`() throws {
    let rig = try Rig()
    let addresses = try (0..<6).map { _ in try closed() }
    var limits = quick
    limits.attemptsMax = 3
    var failure: DialFailure?
    let dialer = Dialer.dial(
      Array(addresses[..<2]), expecting: nil, LinkContext(key: rig.guestKey), on: rig.reactor, limits: limits,
      owner: Recorder()
    ) {
      failure = $0
      rig.reactor.stop()
    }
    // The first one is tried by then.
    rig.reactor.soon { dialer.join(Array(addresses[2...])) }
    rig.run()
    let attempts = try #require(failure).attempts
    #expect(Set(attempts.map(\.address)) == Set(addresses))
    #expect(attempts.filter { "\($0)".contains("ECONNREFUSED") }.map(\.address) == [0, 2, 3].map { addresses[$0] })
  }

  @Test func `P-ID-5 another host at one address is passed over for the one that was meant`() throws {
    let (rig, other) = (try Rig(), try Rig())
    // Two hosts on one loop.
    let impostor = Recorder()
    let listener = try Listener(at: .loopback(port: 0), on: rig.reactor) {
      _ = try? SecureLink.accept($0, LinkContext(key: other.hostKey), on: rig.reactor, owner: impostor)
    }
    try rig.listen(for: Recorder())
    let addresses = [listener.address, try #require(rig.listener).address]
    let (guest, failure, _) = dial(addresses, expecting: HostID(of: rig.hostKey.publicKey), on: rig)
    #expect(failure == nil)
    #expect(guest.remoteKeys == [rig.hostKey.publicKey])
    #expect(impostor.received == [])
    withExtendedLifetime(listener) {}
  }

  @Test func `where all fail, each is named with its reason`() throws {
    let rig = try Rig()
    let refusing = try closed()
    try rig.listen(for: Recorder())
    let other = try #require(rig.listener).address
    let expected = HostID(of: SigningKey().publicKey)
    let plain = try Descriptor.listening(at: .loopback(port: 0))
    let stranger = try #require(try plain.localAddress())
    let server = dup(plain.number)
    _ = fcntl(server, F_SETFL, 0)
    Foreigner.onThread {
      let socket = accept(server, nil, nil)
      send(socket, "SSH-2.0-x\r\n", 11, CInt(MSG_NOSIGNAL))
      var bytes = [UInt8](repeating: 0, count: 4_096)
      while recv(socket, &bytes, bytes.count, 0) > 0 {}
      close(socket)
      close(server)
    }
    let (guest, failure, _) = dial([refusing, stranger, other], expecting: expected, on: rig)
    let text = try #require(failure).description
    #expect(text.contains("host \(expected) was not reached"))
    #expect(text.contains("\(refusing): connect to \(refusing) failed: ECONNREFUSED"), "\(text)")
    #expect(text.contains("\(stranger): what answered does not speak TLS 1.3"), "\(text)")
    #expect(text.contains("\(other): another host answers there, \(HostID(of: rig.hostKey.publicKey))"), "\(text)")
    #expect(guest.remoteKeys == [] && guest.ends == [])
  }

  @Test func `the whole dial ends in its time, and says which addresses did not answer`() throws {
    let rig = try Rig()
    let tarpit = try Tarpit()
    var limits = quick
    limits.time = .milliseconds(150)
    let (_, failure, time) = dial([tarpit.address], expecting: nil, on: rig, limits: limits)
    #expect(try #require(failure).description.contains("\(tarpit.address): no answer in time"))
    #expect(time >= .milliseconds(150) && time < .seconds(2))
  }

  @Test func `more addresses than the limit are not tried, and the error says so`() throws {
    let rig = try Rig()
    let addresses = try (0..<5).map { _ in try closed() }
    var limits = quick
    limits.attemptsMax = 3
    let (_, failure, _) = dial(addresses, expecting: nil, on: rig, limits: limits)
    let attempts = try #require(failure).attempts
    #expect(attempts.filter { "\($0)".contains("ECONNREFUSED") }.map(\.address) == Array(addresses[..<3]))
    #expect(attempts.filter { "\($0)".contains("not tried") }.map(\.address) == Array(addresses[3...]))
  }

  @Test func `no address at all is an error too`() throws {
    let (_, failure, _) = dial([], expecting: nil, on: try Rig())
    #expect(try #require(failure).description.contains("no address of it is known"))
  }

  @Test func `a dial that is cancelled says nothing, and leaves nothing behind`() throws {
    let rig = try Rig()
    let host = Recorder()
    try rig.listen(for: host)
    weak var dialer: Dialer?
    weak var owner: Recorder?
    do {
      let guest = Recorder()
      owner = guest
      dialer = Dialer.dial(
        [try #require(rig.listener).address], expecting: nil, LinkContext(key: rig.guestKey), on: rig.reactor,
        owner: guest
      ) { Issue.record($0) }
    }
    // It has begun by then, and is in the middle.
    rig.reactor.soon { dialer?.cancel() }
    host.closed = { rig.reactor.stop() }
    rig.run()
    #expect(host.remoteKeys == [])
    #expect(dialer == nil && owner == nil)
  }

  @Test func `the two families take turns, IPv6 first, each address once, and a link-local one on each interface`()
    throws
  {
    func address(_ text: String) throws -> SocketAddress { try #require(SocketAddress(text, port: 7)) }
    let given = try ["10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.3", "2001:db8::1", "fe80::5"].map(address)
    let order = Dialer.order(of: given, interfaces: [1, 1])
    #expect(
      order.map(\.description) == [
        "[2001:db8::1]:7", "10.0.0.1:7", "[fe80::5%1]:7", "10.0.0.2:7", "10.0.0.3:7",
      ])
  }

  @Test(.enabled(if: !NetworkInterface.linkLocal.isEmpty))
  func `P-NET-1 a link-local address that names no interface is tried on each`() throws {
    let rig = try Rig()
    let host = Recorder()
    let listener = try Listener(at: .anyV6(port: 0), on: rig.reactor) {
      _ = try? SecureLink.accept($0, rig.hostContext, on: rig.reactor, owner: host)
    }
    // An address of this machine, so that nothing leaves it.
    let own = NetworkInterface.addresses(port: listener.address.port).filter(\.isLinkLocal).filter(\.isV6)
    let address = try #require(own.first).scoped(to: 0)
    let (guest, failure, _) = dial([address], expecting: HostID(of: rig.hostKey.publicKey), on: rig)
    #expect(failure == nil)
    #expect(guest.remoteKeys == [rig.hostKey.publicKey])
    withExtendedLifetime(listener) {}
  }
}
