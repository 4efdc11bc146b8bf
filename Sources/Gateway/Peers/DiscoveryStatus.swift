internal import Nearby

/// The state of an advertiser, a browser or ad hoc mode, as clients see it.
enum DiscoveryStatus: Hashable {
  case starting
  case active
  case failed(Problem)

  init(_ state: DiscoveryState) {
    self =
      switch state {
      case .starting: .starting
      case .active: .active
      case .failed(let problem): .failed(Problem(.unavailable, problem.description))
      }
  }

  /// The state's name, with the given word for an active one.
  func name(active: String) -> String {
    switch self {
    case .starting: "starting"
    case .active: active
    case .failed: "failed"
    }
  }

  static func names(active: String) -> [String] { ["starting", active, "failed"] }

  var problem: Problem? { if case .failed(let problem) = self { problem } else { nil } }
}
