public import Wire

/// A call that cannot be carried out: the error and its subject.
public struct EngineError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Code: UInt8, Hashable, Sendable {
    /// Some of the recipients are not connected; nothing was sent.
    case notConnected = 1
    /// A value breaks a rule, which the description names.
    case invalidParameter = 2
    /// The call needs something that is not there now; the description says what to wait for.
    case unavailable = 6
  }

  public var code: Code
  public var description: String
  /// The endpoints that the error is about.
  public var endpoints: [EndpointID]
  /// Whether it is `unavailable` until a slow member has read more.
  public var isQueueFull = false

  init(_ code: Code, _ description: String, endpoints: [EndpointID] = []) {
    self.code = code
    self.description = description
    self.endpoints = endpoints
  }

  init(queueFull description: String) {
    self.init(.unavailable, description)
    isQueueFull = true
  }
}
