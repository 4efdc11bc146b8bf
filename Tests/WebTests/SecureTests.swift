import Engine
import Media
import Reactor
import Testing
import Web
import Wire

/// TLS, and links of hosts at the same port.
@Suite(.serialized) struct SecureTests {
  private let authority: LocalAuthority
  private let identity: ServerIdentity

  init() throws {
    authority = .make(named: "a box's own authority", for: ["box.local"], [.loopback(port: 0)])
    let issued = try #require(authority.issue(for: ["box.local", "localhost"], [.loopback(port: 0)]))
    identity = try ServerIdentity(certificates: issued.certificates, key: issued.key)
  }

  private func connect(_ rig: WebRig, host: String = "localhost") throws -> SecureClient {
    try SecureClient(rig.port, host: host, authority: authority.certificate)
  }

  @Test(arguments: ["localhost", "box.local", "127.0.0.1"])
  func `a client that trusts the authority gets its answers, one after the other`(_ host: String) throws {
    let rig = try WebRig(identity: identity)
    let client = try connect(rig, host: host)
    #expect(client.applicationProtocol == "http/1.1")
    for _ in 0..<3 {
      try client.send("GET /head HTTP/1.1\r\nHost: here\r\n\r\n")
      #expect(String(decoding: try client.answer().body, as: UTF8.self).hasSuffix("true true"))
    }
  }

  @Test func `who is asked for by another name is not believed`() throws {
    let rig = try WebRig(identity: identity)
    #expect(throws: Client.Failure.self) { try connect(rig, host: "other.local") }
    let strange = try #require(authority.issue(for: ["bank.example"], []))
    let wrong = try WebRig(identity: try ServerIdentity(certificates: strange.certificates, key: strange.key))
    #expect(throws: Client.Failure.self) { try connect(wrong, host: "bank.example") }
  }

  @Test func `much goes both ways`() throws {
    let rig = try WebRig(identity: identity)
    let client = try connect(rig)
    let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) }
    for _ in 0..<3 {
      try client.send(Array("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body)
      #expect(try client.answer().body == body)
    }
  }

  @Test func `what is refused is refused with its reason`() throws {
    let rig = try WebRig(identity: identity)
    let client = try connect(rig)
    try client.send("GET / HTTP/1.1\r\n\r\n")
    #expect(try client.answer().status == 400)
    #expect(try client.receive().isEmpty)
  }

  @Test func `a WebSocket that is not read for now hears to the end`() throws {
    let rig = try WebRig(identity: identity)
    let client = try connect(rig)
    try client.send(SocketClient.request("/ws/echo"))
    #expect(try client.answer().status == 101)
    let payload = [UInt8](repeating: 7, count: 1_000_000)
    try rig.onHandler { handler in
      guard let socket = handler.sockets.first?.socket else { return }
      socket.isReading = false
      // More than the ways there and the client's socket hold.
      socket.queuedBytesMax = 32 << 20
      for _ in 0..<8 { #expect(payload.withUnsafeBytes { socket.send($0) }) }
    }
    for _ in 0..<8 {
      #expect(try client.receiveExactly(10 + payload.count).suffix(payload.count).elementsEqual(payload))
    }
  }

  @Test func `a WebSocket speaks, and hears a ring`() throws {
    let rig = try WebRig(identity: identity)
    let client = try connect(rig)
    try client.send(SocketClient.request("/ws/echo"))
    #expect(try client.answer().status == 101)
    let payload = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) }
    for _ in 0..<4 {
      try client.send(SocketClient.bytes(2, payload))
      #expect(try client.receiveExactly(10 + payload.count).suffix(payload.count).elementsEqual(payload))
    }
    try client.send(SocketClient.bytes(8, [3, 232]))
    #expect(try client.receiveExactly(4) == [0x88, 2, 3, 232])
    #expect(try client.receive().isEmpty)

    let listener = try connect(rig)
    try listener.send(SocketClient.request("/ws/ring"))
    _ = try listener.answer()
    #expect(try rig.eventually { $0.ring.subscriberCount == 1 })
    try rig.onHandler { handler in
      for number in 0..<200 {
        [UInt8](repeating: UInt8(number), count: 10_000).withUnsafeBytes { handler.ring.publish($0) }
      }
    }
    for number in 0..<200 {
      let frame = try listener.receiveExactly(4 + 10_000)
      try #require(frame[4...].allSatisfy { $0 == UInt8(number) })
    }
  }

  @Test func `a client that leaves while it waits is missed`() throws {
    let rig = try WebRig(identity: identity)
    var client: SecureClient? = try connect(rig)
    try client?.send("GET /wait HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(try rig.eventually { $0.begun == 1 })
    client = nil
    #expect(try rig.eventually { $0.gone == 1 })
    #expect(try rig.connectionCount == 0)
  }

  @Test func `without an identity TLS is not spoken`() throws {
    let rig = try WebRig()
    #expect(throws: Client.Failure.self) { try connect(rig) }
  }

  @Test func `what is no certificate or no key is refused in words`() throws {
    let issued = try #require(authority.issue(for: ["localhost"], []))
    let other = try #require(authority.issue(for: ["localhost"], []))
    #expect(throws: ServerIdentityError.self) { try ServerIdentity(certificates: [], key: issued.key) }
    #expect(throws: ServerIdentityError.self) { try ServerIdentity(certificates: issued.certificates, key: [1, 2]) }
    let mixed = #expect(throws: ServerIdentityError.self) {
      try ServerIdentity(certificates: issued.certificates, key: other.key)
    }
    #expect(mixed?.fault == .keyOfAnother)
  }

  @Test func `a link of another host is given back untouched, and opens`() throws {
    let inbox = Inbox()
    let rig = try WebRig(identity: identity) { inbox.link($0) }
    try rig.onLoop { inbox.prepare(on: rig.reactor) }
    let guest = Side()
    try rig.onLoop {
      try inbox.dial(.loopback(port: rig.port), on: rig.reactor, owner: guest)
    }
    #expect(try rig.eventually { _ in guest.key != nil && inbox.host.key != nil })
    #expect(try rig.onLoop { guest.key == inbox.hostKey.publicKey && inbox.host.key == inbox.guestKey.publicKey })
    try rig.onLoop { inbox.close() }
    #expect(try rig.eventually { _ in guest.hasEnded && inbox.host.hasEnded })
    // The same port speaks HTTPS still.
    let client = try connect(rig)
    try client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(try client.answer().body == Array("hello\n".utf8))
  }
}

/// Both ends of a link, on the rig's loop.
private final class Inbox: @unchecked Sendable {
  // `@unchecked`: used on the loop alone.
  let hostKey = SigningKey()
  let guestKey = SigningKey()
  let host = Side()
  private var reactor: Reactor?
  private var contexts: (host: LinkContext, guest: LinkContext)?
  private var links: [SecureLink] = []

  func prepare(on reactor: Reactor) {
    self.reactor = reactor
    contexts = (LinkContext(key: hostKey), LinkContext(key: guestKey))
  }

  func link(_ socket: consuming Descriptor) {
    guard let reactor, let contexts else { return }
    if let link = try? SecureLink.accept(socket, contexts.host, on: reactor, owner: host) { links.append(link) }
  }

  func dial(_ address: SocketAddress, on reactor: Reactor, owner: any SecureLinkOwner) throws {
    let contexts = try #require(contexts)
    links.append(try SecureLink.dial(address, contexts.guest, on: reactor, owner: owner))
  }

  func close() {
    for link in links { link.close() }
  }
}

/// One end of a link.
private final class Side: SecureLinkOwner, @unchecked Sendable {
  // `@unchecked`: used on the loop alone.
  private(set) var key: PublicKey?
  private(set) var hasEnded = false

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) { key = remoteKey }
  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {}
  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {}
  func closed(_ link: SecureLink, because end: LinkEnd) { hasEnded = true }
}
