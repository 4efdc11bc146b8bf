/// A frame of docs/protocol.md: a length prefix, a type and a body. The body has one description, which decoding
/// mirrors.
public protocol Frame: Hashable, Sendable {
  static var type: FrameType { get }
  init(body: inout Reader) throws(WireError)
  func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S)
}

extension Frame {
  /// From a whole body, with nothing left over.
  public init(decoding body: RawSpan) throws(WireError) {
    var reader = Reader(body)
    try self.init(body: &reader)
    try reader.finish()
  }

  /// The length prefix: the size of type and body.
  public var length: Int {
    var sink = MeasuringSink()
    sink.put(u8: Self.type.rawValue)
    encodeBody(into: &sink)
    return sink.byteCount
  }

  /// The size of the whole frame, including the length prefix.
  public var encodedSize: Int { Self.encodedSize(of: length) }

  /// The same, where its `length` is known.
  public static func encodedSize(of length: Int) -> Int { MeasuringSink.size(varint: UInt64(length)) + length }

  private func put<S: Sink & ~Copyable & ~Escapable>(length: Int, into sink: inout S) {
    sink.put(count: length, max: Limits.frameLengthMax)
    sink.put(u8: Self.type.rawValue)
    encodeBody(into: &sink)
  }

  /// Writes the whole frame; `out` must have room for `encodedSize`.
  public func write(into out: inout OutputRawSpan) { put(length: length, into: &out) }

  /// The same, where its `length` is known.
  public func write(_ length: Int, into out: inout OutputRawSpan) { put(length: length, into: &out) }

  /// The whole frame as an array, where an allocation does not matter.
  public func encoded() -> [UInt8] {
    let length = length
    var sink = ArraySink()
    sink.bytes.reserveCapacity(Self.encodedSize(of: length))
    put(length: length, into: &sink)
    return sink.bytes
  }
}

public enum FrameType: UInt8, CaseIterable, Sendable {
  case hello = 0x01
  case attach = 0x02
  case ping = 0x03
  case pong = 0x04
  case bye = 0x05
  case ack = 0x06
  case browse = 0x10
  case browseEnd = 0x11
  case advertised = 0x12
  case withdrawn = 0x13
  case away = 0x14
  case browseTypes = 0x15
  case advertisedTypes = 0x16
  case invite = 0x20
  case answer = 0x21
  case confirm = 0x22
  case cancel = 0x23
  case connect = 0x24
  case join = 0x30
  case leave = 0x31
  case verdict = 0x32
  case introduce = 0x33
  case message = 0x34
  case gone = 0x35
  case digest = 0x36
  case typedMessage = 0x37
  case datagram = 0x40
  case typedDatagram = 0x41
  case compareCommit = 0x50
  case compareReveal = 0x51
  case compareEnd = 0x52
  case identity = 0x53
  case streamOpen = 0x60
  case streamEnd = 0x61
  case streamStop = 0x62
  case streamGrant = 0x63
  case streamData = 0x64
  case resourceOffer = 0x70
  case resourceEnd = 0x71
  case resourceStop = 0x72
  case resourceWant = 0x73
  case resourceChunk = 0x74
  case circuitOpen = 0x80
  case circuitAccept = 0x81
  case circuitEnd = 0x82
  case circuitData = 0x83
  case circuitGrant = 0x84
  case heard = 0x85
  case clockRequest = 0x90
  case clockReply = 0x91

  /// Whether it may come before a peer of its sender is accepted.
  public var isEarly: Bool {
    switch self {
    case .leave, .verdict, .introduce, .message, .typedMessage, .gone, .digest, .datagram, .typedDatagram, .streamOpen,
      .streamEnd, .streamStop, .streamGrant, .streamData, .resourceOffer, .resourceEnd, .resourceStop, .resourceWant,
      .resourceChunk, .clockRequest, .clockReply:
      false
    default: true
    }
  }

  /// Whether its body begins with a `RecordHead`.
  public var isRecord: Bool {
    switch self {
    case .join, .leave, .verdict, .introduce, .message, .typedMessage, .gone, .streamOpen, .streamEnd, .streamStop,
      .resourceOffer, .resourceEnd, .resourceStop:
      true
    default: false
    }
  }
}

/// The position of a frame's body in a buffer.
public struct FrameHead: Hashable, Sendable {
  public let type: FrameType
  public let body: Range<Int>
  /// The offset of the next frame.
  public let end: Int

  @inlinable
  init(type: FrameType, body: Range<Int>) {
    self.type = type
    self.body = body
    end = body.upperBound
  }

  /// The frame at the start of `bytes`, or nil while more bytes are needed.
  ///
  /// A length over `lengthMax` and an unknown type are refused as soon as their own bytes are there.
  @inlinable
  public static func next(
    in bytes: RawSpan, lengthMax: Int = Limits.frameLengthMax
  ) throws(WireError) -> FrameHead? {
    var length: UInt64 = 0
    var shift: UInt64 = 0
    var offset = 0
    while true {
      guard offset < bytes.byteCount else { return nil }
      // In bounds by the check above.
      let byte = unsafe bytes.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
      offset &+= 1
      length |= UInt64(byte & 0x7f) &<< shift
      shift &+= 7
      if byte < 0x80 {
        if byte == 0, offset > 1 { throw WireError(.varintNotMinimal) }
        break
      }
      // More is to come, so the number has at least one bit past those that were read.
      let atLeast = length | 1 &<< shift
      if atLeast > UInt64(lengthMax) { throw overLimit(atLeast, lengthMax) }
    }
    guard length >= 1 else { throw WireError(.lengthUnderLimit(field: "frame", value: 0, min: 1)) }
    guard length <= UInt64(lengthMax) else { throw overLimit(length, lengthMax) }
    guard offset < bytes.byteCount else { return nil }
    // In bounds by the check above.
    let code = unsafe bytes.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self)
    guard let type = FrameType(rawValue: code) else { throw WireError(.unknownType(code)) }
    let end = offset &+ Int(length)
    guard end <= bytes.byteCount else { return nil }
    return FrameHead(type: type, body: (offset &+ 1)..<end)
  }

  @usableFromInline
  static func overLimit(_ length: UInt64, _ max: Int) -> WireError {
    WireError(.lengthOverLimit(field: "frame", value: length, max: max))
  }
}
