internal import Media
internal import Synchronization

/// The state of an advertiser, a browser, or a session in ad hoc mode.
public enum DiscoveryState: Hashable, Sendable {
  case starting
  /// Others can find the peer; it can find others.
  case active
  /// It fails for now, is tried again, and is active once that works.
  case failed(DiscoveryProblem)
}

/// A failure of one advertiser or browser, and a remedy: a sentence each.
public struct DiscoveryProblem: Hashable, Sendable, CustomStringConvertible {
  public let cause: String
  public let cure: String
  /// Whether discovery as a whole is unavailable, which the host's `conditions` report as well.
  public let isOutage: Bool

  public var description: String { "\(cause) \(cure)" }
}

/// Reports the state of an advertiser, browser or session to its owner.
final class DiscoveryMonitor: Sendable {
  /// The latest state, where that was not read yet.
  let changes = Mailbox<DiscoveryState>(weightMax: 1)
  private let current = Mutex(DiscoveryState.starting)

  var state: DiscoveryState { current.withLock { $0 } }

  /// Nil while nothing is known yet. Returns whether it is another state.
  @discardableResult
  func set(_ standing: DiscoveryStanding?) -> Bool {
    guard let standing else { return false }
    let next = DiscoveryState(standing)
    let isNews = current.withLock { current in
      defer { current = next }
      return current != next
    }
    if isNews { changes.put(latest: next) }
    return isNews
  }

  /// Starts anew.
  func reset() { current.withLock { $0 = .starting } }

  func finish() { changes.finish() }
}

extension DiscoveryState {
  fileprivate init(_ standing: DiscoveryStanding) {
    self =
      switch standing {
      case .active: .active
      case .failed(let trouble, let isOutage):
        .failed(DiscoveryProblem(cause: trouble.cause, cure: trouble.cure, isOutage: isOutage))
      }
  }
}
