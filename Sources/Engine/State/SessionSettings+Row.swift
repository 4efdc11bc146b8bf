import Wire

/// The stored form of a session's settings.
extension SessionSettings {
  init(from reader: inout Reader) throws(WireError) {
    self.init()
    let terms = try Terms(from: &reader)
    encryption = terms.encryption
    peersMax = terms.peersMax
    rejoinMax = try reader.duration()
    streamsMax = try reader.varint32("streams")
    resources.acceptsUnasked = try reader.bool("accepts")
    resources.bytesMax = try reader.varint()
    resources.offersMax = try reader.varint32("offers")
    resources.decisionMax = try reader.duration()
    resources.idleMax = try reader.duration()
    if try reader.bool("asks") { trust = .ask(timeout: try reader.duration()) }
    guard terms.showsIdentity else { return }
    var held = SecurityIdentity(id: IdentityID(rawValue: try reader.varint()), chain: [])
    let count = try reader.count("chain", max: Limits.chainCertificatesMax)
    for _ in 0..<count { held.chain.append(try reader.bytes("certificate", max: Limits.certificateBytesMax)) }
    identity = held
  }

  func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    Terms(encryption: encryption, showsIdentity: identity != nil, peersMax: peersMax).encode(into: &sink)
    sink.put(duration: rejoinMax)
    sink.put(varint: streamsMax)
    sink.put(bool: resources.acceptsUnasked)
    sink.put(varint: resources.bytesMax)
    sink.put(varint: resources.offersMax)
    sink.put(duration: resources.decisionMax)
    sink.put(duration: resources.idleMax)
    if case .ask(let timeout) = trust {
      sink.put(bool: true)
      sink.put(duration: timeout)
    } else {
      sink.put(bool: false)
    }
    guard let identity else { return }
    sink.put(varint: identity.id.rawValue)
    sink.put(count: identity.chain.count, max: Limits.chainCertificatesMax)
    for certificate in identity.chain { sink.put(bytes: certificate, max: Limits.certificateBytesMax) }
  }
}

extension Reader {
  @_lifetime(self: copy self)
  fileprivate mutating func duration() throws(WireError) -> Duration {
    .nanoseconds(Int64(truncatingIfNeeded: try varint()))
  }
}

extension Sink where Self: ~Copyable & ~Escapable {
  @_lifetime(self: copy self)
  fileprivate mutating func put(duration: Duration) { put(varint: UInt64(bitPattern: duration.nanoseconds)) }
}
