import Reactor
import Testing
import Wire

@testable import Media

/// A man in the middle, who changes the passing bytes.
@Suite struct TamperingTests {
  /// A link through a tap: each side sends the other some bytes; ends when both have them, or when the link ends.
  private struct Exchange {
    static let said: (guest: [UInt8], host: [UInt8]) = (
      (0..<3_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }, (0..<3_000).map { UInt8(truncatingIfNeeded: $0 &* 11) }
    )

    let rig: Rig
    let host = Recorder()
    let guest = Recorder()
    let tap: Tap

    init(handshakeTime: Duration = .milliseconds(300)) throws {
      rig = try Rig()
      rig.limits.handshakeTime = handshakeTime
      try rig.listen(for: host)
      tap = try Tap(to: try #require(rig.listener).address, on: rig.reactor)
      (guest.toSend, host.toSend) = Self.said
    }

    var isWhole: Bool { (host.received, guest.received) == Self.said }

    func run() throws {
      for end in [host, guest] {
        end.hasReceived = { if isWhole { rig.reactor.stop() } }
        end.closed = {
          // The other link may still report its end, and receives no more bytes.
          if host.ends.count + guest.ends.count == 2 || guest.ends.count == 1 && host.remoteKeys.isEmpty {
            rig.reactor.stop()
          }
        }
      }
      let link = try SecureLink.dial(
        tap.address, rig.guestContext, on: rig.reactor, limits: rig.limits, owner: guest)
      rig.run()
      withExtendedLifetime(link) {}
    }

    /// Received bytes are a prefix of those sent, and keys are those of the two ends.
    func expectHonest(_ place: String) {
      let (said, heard) = (Self.said, (host.received, guest.received))
      #expect(said.guest.starts(with: heard.0) && said.host.starts(with: heard.1), "\(place)")
      #expect(host.remoteKeys.allSatisfy { $0 == rig.guestKey.publicKey }, "\(place)")
      #expect(guest.remoteKeys.allSatisfy { $0 == rig.hostKey.publicKey }, "\(place)")
    }
  }

  /// Changes one byte of all that passes.
  private static func flip(_ place: Int, _ mask: UInt8) -> ([UInt8]) -> [UInt8]? {
    var passed = 0
    return { bytes in
      defer { passed += bytes.count }
      guard (passed..<passed + bytes.count).contains(place) else { return bytes }
      var changed = bytes
      changed[place - passed] ^= mask
      return changed
    }
  }

  @Test(arguments: [true, false])
  func `P-SEC-5 a byte changed anywhere on the line is noticed, and nobody hears what was not said`(
    _ isForth: Bool
  ) throws {
    // How much passes when nobody interferes.
    let quiet = try Exchange(handshakeTime: .seconds(30))
    try quiet.run()
    #expect(quiet.isWhole)
    let total = isForth ? quiet.tap.saidForth.count : quiet.tap.saidBack.count
    var survivors = 0
    for place in stride(from: 0, to: total, by: 23) {
      let exchange = try Exchange()
      let flip = Self.flip(place, 1 << UInt8(place % 8))
      if isForth { exchange.tap.forth = flip } else { exchange.tap.back = flip }
      try exchange.run()
      exchange.expectHonest("byte \(place), \(exchange.host.ends), \(exchange.guest.ends)")
      if exchange.isWhole { survivors += 1 }
    }
    // The version in the head of the first records means nothing in TLS 1.3.
    #expect(survivors <= 2, "of \(total / 23)")
  }

  @Test func `bytes put in, left out, doubled or swapped end the link`() throws {
    let tricks: [([UInt8]) -> [UInt8]?] = [
      { [0x17, 0x03, 0x03, 0, 32] + [UInt8](repeating: 7, count: 32) + $0 },
      { Array($0.dropFirst(40)) },
      { $0 + $0 },
      { $0.reversed() },
      { $0 + [0x15, 0x03, 0x03, 0, 2, 2, 40] },
    ]
    for (number, trick) in tricks.enumerated() {
      let exchange = try Exchange(handshakeTime: .seconds(30))
      // Not in the handshake, which comes first and is smaller.
      var passed = 0
      exchange.tap.forth = { bytes in
        passed += bytes.count
        return passed > 1_500 ? trick(bytes) : bytes
      }
      try exchange.run()
      exchange.expectHonest("trick \(number)")
      #expect(!exchange.isWhole && exchange.host.ends.count == 1, "trick \(number)")
    }
  }

  @Test func `P-SEC-5 one who ends TLS in the middle with a key of his own is not the host that was meant`() throws {
    let rig = try Rig()
    let host = Recorder()
    try rig.listen(for: host)
    let (spyKey, spy) = (SigningKey(), Recorder())
    let spyContext = LinkContext(key: spyKey)
    let target = try #require(rig.listener).address
    let spying = try Listener(at: .loopback(port: 0), on: rig.reactor) {
      _ = try? SecureLink.accept($0, spyContext, on: rig.reactor, owner: spy)
      _ = try? SecureLink.dial(target, spyContext, on: rig.reactor, owner: spy)
    }
    let guest = Recorder()
    guest.toSend = [1, 2, 3]
    var failure: DialFailure?
    Dialer.dial(
      [spying.address], expecting: HostID(of: rig.hostKey.publicKey), rig.guestContext, on: rig.reactor, owner: guest
    ) {
      failure = $0
      // The loop runs until all bytes have arrived.
      spy.closed = { rig.reactor.stop() }
    }
    rig.run()
    #expect(try #require(failure).description.contains("another host answers there, \(HostID(of: spyKey.publicKey))"))
    #expect(guest.remoteKeys == [])
    #expect(spy.received == [])
    // The host recognises the spy.
    #expect(host.remoteKeys.allSatisfy { $0 == spyKey.publicKey })
    withExtendedLifetime(spying) {}
  }
}
