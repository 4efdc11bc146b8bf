/// Begins a comparison of codes: the nonce is committed before any is revealed.
public struct CompareCommit: Frame {
  public static let type = FrameType.compareCommit
  public var id: UInt64
  public var from: PeerID
  public var to: PeerID
  public var commitment: Digest

  @inlinable
  public init(id: UInt64, from: PeerID, to: PeerID, commitment: Digest) {
    self.id = id
    self.from = from
    self.to = to
    self.commitment = commitment
  }

  public init(body: inout Reader) throws(WireError) {
    id = try body.varint()
    from = try PeerID(from: &body)
    to = try PeerID(from: &body)
    commitment = try Digest(from: &body)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: id)
    from.encode(into: &sink)
    to.encode(into: &sink)
    commitment.encode(into: &sink)
  }
}

/// Reveals the nonce that was committed.
public struct CompareReveal: Frame {
  public static let type = FrameType.compareReveal
  public var id: UInt64
  public var nonce: Digest

  @inlinable
  public init(id: UInt64, nonce: Digest) {
    self.id = id
    self.nonce = nonce
  }

  public init(body: inout Reader) throws(WireError) {
    id = try body.varint()
    nonce = try Digest(from: &body)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: id)
    nonce.encode(into: &sink)
  }
}

public struct CompareEnd: Frame {
  public static let type = FrameType.compareEnd
  public var id: UInt64
  public var reason: Reason

  @inlinable
  public init(id: UInt64, reason: Reason) {
    self.id = id
    self.reason = reason
  }

  public init(body: inout Reader) throws(WireError) {
    id = try body.varint()
    reason = try Reason(from: &body)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: id)
    reason.encode(into: &sink)
  }
}

/// Shows a security identity of one endpoint to another.
public struct IdentityFrame: Frame {
  public static let type = FrameType.identity
  public var from: UInt32
  public var to: UInt32
  /// At most `Limits.chainCertificatesMax`, each of at most `Limits.certificateBytesMax`.
  public var chain: [[UInt8]]
  /// At most `Limits.identitySignatureBytesMax`.
  public var signature: [UInt8]

  @inlinable
  public init(from: UInt32, to: UInt32, chain: [[UInt8]], signature: [UInt8]) {
    self.from = from
    self.to = to
    self.chain = chain
    self.signature = signature
  }

  public init(body: inout Reader) throws(WireError) {
    from = try body.varint32("from")
    to = try body.varint32("to")
    let count = try body.count("chain", max: Limits.chainCertificatesMax)
    chain = []
    for _ in 0..<count { chain.append(try body.bytes("certificate", max: Limits.certificateBytesMax)) }
    signature = try body.bytes("identity signature", max: Limits.identitySignatureBytesMax)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: from)
    sink.put(varint: to)
    sink.put(count: chain.count, max: Limits.chainCertificatesMax)
    for certificate in chain { sink.put(bytes: certificate, max: Limits.certificateBytesMax) }
    sink.put(bytes: signature, max: Limits.identitySignatureBytesMax)
  }
}
