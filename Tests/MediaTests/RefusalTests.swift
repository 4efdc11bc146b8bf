import COpenSSL
import Media
import Reactor
import Testing

@Suite struct RefusalTests {
  /// The end of a client's link as its listening host sees it.
  private func end(limits: SecureLink.Limits = .init(), _ visit: (SocketAddress) -> Void) throws -> [LinkEnd] {
    let rig = try Rig()
    rig.limits = limits
    let host = Recorder()
    host.closed = { [reactor = rig.reactor] in reactor.stop() }
    try rig.listen(for: host)
    visit(try #require(rig.listener).address)
    rig.run()
    #expect(host.remoteKeys.isEmpty)
    return host.ends
  }

  @Test(arguments: ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "hello there, whoever you are\n"])
  func `a client that speaks plain text is refused`(_ text: String) throws {
    #expect(try end { Foreigner.says(Array(text.utf8), to: $0) } == [.refused(.notTLS)])
  }

  @Test(arguments: 0..<20)
  func `garbage is refused, or waited for until the deadline where it seems to go on`(_ round: Int) throws {
    // The head of a TLS record, so that later bytes reach deeper than the first byte.
    let head: [UInt8] = round % 2 == 0 ? [] : [0x16, 0x03, 0x01, 0x02, 0x00, 0x01]
    var limits = SecureLink.Limits()
    limits.handshakeTime = .milliseconds(200)
    let ends = try end(limits: limits) { Foreigner.says(head + OpenSSLCrypto.randomBytes(600), to: $0) }
    #expect(ends.count == 1)
    switch ends.first {
    case .refused, .handshakeTimedOut: break
    default: Issue.record("\(ends)")
    }
  }

  @Test func `a client without a certificate is refused`() throws {
    let ends = try end { Foreigner.shakesHands(with: $0) { Foreigner.offer("vicinity/1", $0) } }
    #expect(ends == [.refused(.noCertificate)])
  }

  @Test func `a client with an RSA certificate finds nobody who would look at it`() throws {
    let ends = try end {
      Foreigner.shakesHands(with: $0) {
        Foreigner.offer("vicinity/1", $0)
        Foreigner.show("RSA", $0)
      }
    }
    #expect(ends == [.refused(.noCertificate)])
  }

  @Test func `a client that shows more than its own certificate is refused`() throws {
    let ends = try end {
      Foreigner.shakesHands(with: $0) {
        Foreigner.offer("vicinity/1", $0)
        Foreigner.show("Ed25519", extra: 1, $0)
      }
    }
    #expect(ends == [.refused(.wrongCertificate)])
  }

  @Test(arguments: ["h2", "vicinity/2", nil])
  func `a client of another protocol is refused`(_ name: String?) throws {
    let ends = try end {
      Foreigner.shakesHands(with: $0) {
        if let name { Foreigner.offer(name, $0) }
        Foreigner.show("Ed25519", $0)
      }
    }
    #expect(ends == [.refused(.noCommonProtocol)])
  }

  @Test func `a client of TLS 1.2 is refused`() throws {
    let ends = try end {
      Foreigner.shakesHands(with: $0) {
        Foreigner.offer("vicinity/1", $0)
        Foreigner.show("Ed25519", $0)
        SSL_CTX_ctrl($0, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
      }
    }
    #expect(ends == [.refused(.notTLS)])
  }

  @Test(arguments: [[], [0x16], [0x16, 0x03, 0x01, 0x02]] as [[UInt8]])
  func `a connection that stops talking is closed at the handshake deadline`(_ bytes: [UInt8]) throws {
    var limits = SecureLink.Limits()
    limits.handshakeTime = .milliseconds(50)
    #expect(try end(limits: limits) { Foreigner.says(bytes, to: $0) } == [.handshakeTimedOut])
  }

  /// The end of a server's link under these rules as the dialling side sees it.
  private func endOfDialling(_ rules: @escaping @Sendable (OpaquePointer) -> Void) throws -> [LinkEnd] {
    let rig = try Rig()
    let guest = Recorder()
    guest.closed = { [reactor = rig.reactor] in reactor.stop() }
    try rig.dial(guest, at: Foreigner.serves(rules))
    rig.run()
    return guest.ends
  }

  @Test func `a server that agrees on no protocol is refused`() throws {
    #expect(try endOfDialling { Foreigner.show("Ed25519", $0) } == [.refused(.noCommonProtocol)])
  }

  @Test func `a server that has only an RSA certificate can make no link`() throws {
    let ends = try endOfDialling { Foreigner.show("RSA", $0) }
    guard case .refused(.byTheOtherSide) = ends.first else {
      Issue.record("\(ends)")
      return
    }
  }

  @Test func `whom a server refuses, it hears why`() throws {
    let ends = try endOfDialling {
      Foreigner.agree($0)
      Foreigner.show("Ed25519", $0)
      // This server requires a certificate that an authority has signed.
      SSL_CTX_set_verify($0, SSL_VERIFY_PEER, nil)
    }
    guard case .refused(.byTheOtherSide(let alert)) = ends.first else {
      Issue.record("\(ends)")
      return
    }
    #expect(alert.contains("unknown ca") || alert.contains("bad certificate"), "\(alert)")
  }

  @Test func `every reason says what and why`() {
    let reasons: [LinkEnd] = [
      .closedHere, .closedThere, .cut, .handshakeTimedOut, .crowdedOut, .refused(.notTLS), .refused(.noCertificate),
      .refused(.wrongCertificate), .refused(.noCommonProtocol), .refused(.other("bad")),
      .refused(.byTheOtherSide("bad")), .broken("bad"),
    ]
    #expect(Set(reasons.map(\.description)).count == reasons.count)
  }
}
