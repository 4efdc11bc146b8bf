public enum Reason: UInt8, CaseIterable, Part, CustomStringConvertible {
  case none = 0
  case declined = 1
  case timedOut = 2
  case cancelled = 3
  case full = 4
  case encryption = 5
  case untrusted = 6
  case blocked = 7
  case removed = 8
  case locked = 9
  case left = 10
  case lost = 11
  case unreachable = 12
  case slow = 13
  case gone = 14
  case already = 15
  case conflict = 16
  case notIntroduced = 17
  case stopping = 18
  case protocolViolation = 19
  case duplicate = 20
  case busy = 21
  case version = 22
  case mismatch = 23
  case idle = 24
  case tooLarge = 25
  /// Its sender cannot read it.
  case unreadable = 26
  /// Its receiver cannot store it.
  case unwritable = 27

  public init(from reader: inout Reader) throws(WireError) {
    let value = try reader.u8()
    guard let reason = Reason(rawValue: value) else {
      throw WireError(.unknownValue(field: "reason", value: value))
    }
    self = reason
  }

  public func encode<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) { sink.put(u8: rawValue) }

  /// Its name, as in docs/protocol.md.
  public var description: String {
    switch self {
    case .none: "none"
    case .declined: "declined"
    case .timedOut: "timedOut"
    case .cancelled: "cancelled"
    case .full: "full"
    case .encryption: "encryption"
    case .untrusted: "untrusted"
    case .blocked: "blocked"
    case .removed: "removed"
    case .locked: "locked"
    case .left: "left"
    case .lost: "lost"
    case .unreachable: "unreachable"
    case .slow: "slow"
    case .gone: "gone"
    case .already: "already"
    case .conflict: "conflict"
    case .notIntroduced: "notIntroduced"
    case .stopping: "stopping"
    case .protocolViolation: "protocolViolation"
    case .duplicate: "duplicate"
    case .busy: "busy"
    case .version: "version"
    case .mismatch: "mismatch"
    case .idle: "idle"
    case .tooLarge: "tooLarge"
    case .unreadable: "unreadable"
    case .unwritable: "unwritable"
    }
  }
}
