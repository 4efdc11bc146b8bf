/// Opens a circuit: a pipe of bytes through the receiver to another host, or to the receiver itself, at its far end.
///
/// It is sent to hosts with the feature only. The side that dialled the link has odd numbers, the other side even ones.
public struct CircuitOpen: Frame {
  public static let type = FrameType.circuitOpen
  /// The sender's number for it on this link; not 0.
  public var circuit: UInt32
  /// The host at its far end: the receiver's own ID where it ends there.
  public var to: HostID

  @inlinable
  public init(circuit: UInt32, to: HostID) {
    self.circuit = circuit
    self.to = to
  }

  public init(body: inout Reader) throws(WireError) {
    circuit = try body.circuit()
    to = try HostID(from: &body)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(circuit: circuit)
    to.encode(into: &sink)
  }
}

/// The far end has taken the circuit: bytes may go both ways.
public struct CircuitAccept: Frame {
  public static let type = FrameType.circuitAccept
  public var circuit: UInt32

  @inlinable public init(circuit: UInt32) { self.circuit = circuit }
  public init(body: inout Reader) throws(WireError) { circuit = try body.circuit() }
  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) { sink.put(circuit: circuit) }
}

/// The end of a circuit for both directions, behind all its bytes; before `circuitAccept`, a refusal.
public struct CircuitEnd: Frame {
  public static let type = FrameType.circuitEnd
  public var circuit: UInt32
  public var reason: Reason

  @inlinable
  public init(circuit: UInt32, reason: Reason) {
    self.circuit = circuit
    self.reason = reason
  }

  public init(body: inout Reader) throws(WireError) {
    circuit = try body.circuit()
    reason = try Reason(from: &body)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(circuit: circuit)
    reason.encode(into: &sink)
  }
}

/// Credit: the sender takes so many more bytes of a circuit than before.
public struct CircuitGrant: Frame {
  public static let type = FrameType.circuitGrant
  public var circuit: UInt32
  /// 1 to `Limits.circuitWindowBytes`.
  public var bytes: UInt32

  @inlinable
  public init(circuit: UInt32, bytes: UInt32) {
    self.circuit = circuit
    self.bytes = bytes
  }

  public init(body: inout Reader) throws(WireError) {
    circuit = try body.circuit()
    bytes = try body.varint32("grant")
    guard bytes > 0 else { throw WireError(.numberUnderLimit(field: "grant", value: 0, min: 1)) }
    guard bytes <= Limits.circuitWindowBytes else {
      throw WireError(
        .numberOverLimit(field: "grant", value: UInt64(bytes), max: UInt64(Limits.circuitWindowBytes)))
    }
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    precondition(bytes > 0 && bytes <= Limits.circuitWindowBytes, "a circuit's grant is empty or over its limit")
    sink.put(circuit: circuit)
    sink.put(varint: bytes)
  }
}

/// Hosts that the sender, a relay, receives by media on which the receiver is not, or no longer receives.
public struct Heard: Frame {
  public static let type = FrameType.heard
  public var isHeard: Bool
  /// At most `Limits.heardHostsMax`; a relay that hears more of them sends several frames.
  public var hosts: [HostID]

  @inlinable
  public init(isHeard: Bool, hosts: [HostID]) {
    self.isHeard = isHeard
    self.hosts = hosts
  }

  public init(body: inout Reader) throws(WireError) {
    isHeard = try body.bool("heard")
    hosts = try body.list("heard hosts", max: Limits.heardHostsMax)
  }

  public func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(u8: isHeard ? 1 : 0)
    sink.put(list: hosts, max: Limits.heardHostsMax)
  }
}

/// Bytes of a circuit in their frame: read and written without an allocation.
public struct CircuitDataView: ~Escapable {
  public let circuit: UInt32
  /// Never empty.
  public let payload: RawSpan

  @inlinable
  @_lifetime(copy body)
  public init(decoding body: RawSpan) throws(WireError) {
    var reader = Reader(body)
    circuit = try reader.circuit()
    payload = try reader.rest("circuit payload", min: 1, max: Limits.circuitDataBytes)
  }

  /// The size of the whole frame, including its length and payload.
  @inlinable
  public static func encodedSize(circuit: UInt32, payloadBytes: Int) -> Int {
    let length = length(circuit, payloadBytes)
    return MeasuringSink.size(varint: UInt64(length)) &+ length
  }

  /// Writes the frame up to the payload, of which exactly `payloadBytes` must follow; `out` must have room for
  /// `encodedSize`.
  @inlinable
  public static func writeHead(circuit: UInt32, payloadBytes: Int, into out: inout OutputRawSpan) {
    precondition(
      payloadBytes >= 1 && payloadBytes <= Limits.circuitDataBytes, "a circuit's payload is empty or over its limit")
    out.put(varint: UInt64(length(circuit, payloadBytes)))
    out.put(u8: FrameType.circuitData.rawValue)
    out.put(circuit: circuit)
  }

  @inlinable
  static func length(_ circuit: UInt32, _ payloadBytes: Int) -> Int {
    1 &+ MeasuringSink.size(varint: UInt64(circuit)) &+ payloadBytes
  }
}

extension Reader {
  @inlinable
  mutating func circuit() throws(WireError) -> UInt32 {
    let circuit = try varint32("circuit")
    guard circuit != 0 else { throw WireError(.numberUnderLimit(field: "circuit", value: 0, min: 1)) }
    return circuit
  }
}

extension Sink where Self: ~Copyable & ~Escapable {
  @inlinable
  @_lifetime(self: copy self)
  mutating func put(circuit: UInt32) {
    precondition(circuit != 0, "a circuit is never 0")
    put(varint: circuit)
  }
}
