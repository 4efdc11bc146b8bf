/// When advertising, browsing or ad hoc mode ends by itself. Sessions that were joined through it stay.
public enum Until: String, Hashable, Sendable, CaseIterable {
  /// Only when it is stopped.
  case stopped
  /// Once a member is connected with this peer in a session.
  case connected
  /// Once a session of this peer is full.
  case full

  /// Whether it ends, now that a member has been connected.
  func ends(isFull: Bool) -> Bool {
    switch self {
    case .stopped: false
    case .connected: true
    case .full: isFull
    }
  }
}
