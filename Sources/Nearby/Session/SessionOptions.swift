internal import Engine

/// A peer's options for a session.
public struct SessionOptions: Sendable {
  /// The rule for whom it admits; links are encrypted whatever it says. `required` keeps out those with `none`.
  public var encryption = Encryption.optional
  public var peersMax = 256
  public var trust = Admission.any
  /// The identity that members are shown.
  public var identity: Identity?
  /// Limits on members' resources.
  public var resources = ResourceRules()
  /// The reconnect timeout: how long the hosts try to find each other after a pair was lost.
  public var rejoinMax: Duration = .seconds(600)

  public init() {}

  public enum Admission: Hashable, Sendable {
    /// Everybody who was invited or introduced is admitted.
    case any
    /// Each member is shown as `SessionEvent.decision`; no answer in time is a no.
    case ask(timeout: Duration)
  }

  var settings: SessionSettings {
    get throws {
      guard let peersMax = UInt32(exactly: peersMax) else {
        throw NearbyError(.invalidParameter, "a session has no room for \(peersMax) peers")
      }
      var settings = SessionSettings()
      settings.encryption = encryption
      settings.peersMax = peersMax
      settings.trust =
        switch trust {
        case .any: .any
        case .ask(let timeout): .ask(timeout: timeout)
        }
      settings.identity = identity?.held.shown
      settings.resources = resources
      settings.rejoinMax = rejoinMax
      return settings
    }
  }
}
