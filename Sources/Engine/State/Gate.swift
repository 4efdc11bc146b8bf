import Wire

/// Admission control of a new link: until a peer of its host has been accepted, few small frames of the kinds that lead
/// there.
struct Gate {
  private(set) var isOpen = false
  private var allowance = Gate.burst
  private var counted: Instant

  /// The rate limit (throttle) is a token bucket; one invitation, its answer and a browse for every type fit many times
  /// over.
  private static let burst = 256
  private static let perSecond = 64

  init(at now: Instant) { counted = now }

  mutating func open() { isOpen = true }

  /// Whether the frame may be read; a record that may not is only counted, since its sender cannot know. Reports that
  /// it was asked for may be about very many peers.
  mutating func admits(_ type: FrameType, bytes: Int, isAsked: Bool, at now: Instant) throws(ProtocolViolation) -> Bool
  {
    if isOpen { return true }
    guard !type.carriesPayload else {
      throw ProtocolViolation(.protocolViolation, "\(type) before any peer of this host was accepted")
    }
    guard bytes <= Limits.earlyFrameLengthMax else {
      throw ProtocolViolation(.protocolViolation, "\(bytes) bytes of \(type) before any peer of this host was accepted")
    }
    if isAsked { return true }
    let elapsed = (now - counted).nanoseconds
    let earned = min(Int64(Self.burst), elapsed / (1_000_000_000 / Int64(Self.perSecond)))
    if earned > 0 {
      allowance = min(Self.burst, allowance + Int(earned))
      counted = now
    }
    guard allowance > 0 else {
      throw ProtocolViolation(.busy, "more than \(Self.perSecond) frames a second before any peer was accepted")
    }
    allowance -= 1
    return type.isEarly
  }
}

extension FrameType {
  /// Whether it carries a program's payload, which no host sends to one that has not admitted it.
  fileprivate var carriesPayload: Bool {
    switch self {
    case .message, .typedMessage, .datagram, .typedDatagram, .streamData, .resourceChunk: true
    default: false
    }
  }
}
