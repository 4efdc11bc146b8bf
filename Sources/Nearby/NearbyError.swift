internal import Engine
internal import Media
internal import Reactor
internal import Store
public import Wire

/// An error with its kind, and a sentence with the cause and a remedy.
public struct NearbyError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: Int, Hashable, Sendable {
    case unknown = 0
    case notConnected, invalidParameter, unsupported, timedOut, cancelled, unavailable
  }

  public let code: Code
  /// The reason of an end.
  public let reason: Reason?
  public let description: String
  /// The endpoints that the error is about.
  public let endpoints: [EndpointID]
  /// The reason's name in REST, the WebSocket and the command line's JSON: of the `reason`; `queueFull` where a member
  /// is behind; `noSpace` where the disk is full.
  public var reasonName: String? { isQueueFull ? "queueFull" : isFullDisk ? "noSpace" : reason?.description }
  /// Whether it is `unavailable` until a member that is behind has read more.
  public private(set) var isQueueFull = false
  /// Whether it is `unavailable` until somebody makes room on the disk.
  package private(set) var isFullDisk = false

  init(_ code: Code, _ description: String, reason: Reason? = nil, endpoints: [EndpointID] = []) {
    self.code = code
    self.reason = reason
    self.description = description
    self.endpoints = endpoints
  }

  init(_ error: EngineError) {
    self.init(Code(error.code), error.description, endpoints: error.endpoints)
    isQueueFull = error.isQueueFull
  }

  init(_ error: WireError) {
    self.init(.invalidParameter, error.description)
  }

  init(_ error: KeyStoreError) {
    switch error {
    // Keys in use by another process are available again when that releases them.
    case .inUse: self.init(.unavailable, error.description)
    case .failed(_, let cause) where cause.isFullDisk: self.init(fullDisk: error.description)
    default: self.init(.unknown, error.description)
    }
  }

  init(_ error: StoreError) {
    switch error {
    case .full: self.init(fullDisk: error.description)
    case .inUse, .overloaded, .closed: self.init(.unavailable, error.description)
    default: self.init(.unknown, error.description)
    }
  }

  init(queueFull description: String) {
    self.init(.unavailable, description)
    isQueueFull = true
  }

  private init(fullDisk description: String) {
    self.init(.unavailable, description)
    isFullDisk = true
  }

  init(_ error: WebError) {
    let code: Code =
      switch error {
      case .unsupported: .unsupported
      case .invalidURL, .forbidden: .invalidParameter
      case .timedOut: .timedOut
      case .cancelled: .cancelled
      default: .unavailable
      }
    self.init(code, error.description)
  }

  /// An operation ended without success.
  init(_ reason: Reason, of what: String) {
    self.init(Code(reason), "\(what) ended: \(reason.sentence)", reason: reason)
  }

  /// Converts an error of a lower layer.
  init(wrapping error: any Error) {
    switch error {
    case let error as NearbyError: self = error
    case let error as EngineError: self.init(error)
    case let error as WireError: self.init(error)
    case let error as WebError: self.init(error)
    case let error as KeyStoreError: self.init(error)
    case let error as IdentityError: self.init(.invalidParameter, "\(error)")
    case let error as StoreError: self.init(error)
    default: self.init(.unknown, "\(error)")
    }
  }

  static let closed = NearbyError(.unavailable, "the host has been stopped; start another one")
}

extension NearbyError.Code {
  init(_ code: EngineError.Code) {
    self =
      switch code {
      case .notConnected: .notConnected
      case .invalidParameter: .invalidParameter
      case .unavailable: .unavailable
      }
  }

  init(_ reason: Reason) {
    self =
      switch reason {
      case .timedOut: .timedOut
      case .cancelled: .cancelled
      case .full, .busy, .tooLarge, .slow: .unavailable
      case .none, .mismatch, .unreadable, .unwritable, .protocolViolation: .unknown
      default: .notConnected
      }
  }
}

extension Reason {
  /// For people.
  public var sentence: String {
    switch self {
    case .none: "all is well"
    case .declined: "the other side declined"
    case .timedOut: "there was no answer in time"
    case .cancelled: "it was cancelled"
    case .full: "the session is full"
    case .encryption: "one side requires encryption and the other has none"
    case .untrusted: "the other side is not trusted"
    case .blocked: "the peer is blocked"
    case .removed: "the peer was removed from the session"
    case .locked: "the session is locked"
    case .left: "the peer has left"
    case .lost: "the connection was lost"
    case .unreachable: "the other host cannot be reached"
    case .slow: "the other side was too far behind"
    case .gone: "the peer is gone"
    case .already: "the two are connected already"
    case .conflict: "its key is in use on another host"
    case .notIntroduced: "nobody of the session has introduced the peer"
    case .stopping: "the host is stopping"
    case .protocolViolation: "the other side violated the protocol"
    case .duplicate: "it is a duplicate"
    case .busy: "a limit was reached"
    case .version: "the two sides have different protocol versions"
    case .mismatch: "the content or code does not match"
    case .idle: "it was idle for too long (idle timeout)"
    case .tooLarge: "it is larger than allowed"
    case .unreadable: "its sender cannot read it"
    case .unwritable: "its receiver cannot store it"
    }
  }
}
