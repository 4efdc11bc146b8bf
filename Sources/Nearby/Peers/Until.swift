/// When advertising, browsing or ad hoc mode ends by itself. Sessions that were joined through it stay.
public enum Until: String, Hashable, Sendable, CaseIterable {
  /// Only when it is told to.
  case stopped
  /// Once somebody is connected with this peer in a session.
  case connected
  /// Once a session of this peer has as many members as it takes.
  case full

  /// Whether it ends, now that somebody has been connected.
  func ends(isFull: Bool) -> Bool {
    switch self {
    case .stopped: false
    case .connected: true
    case .full: isFull
    }
  }
}
