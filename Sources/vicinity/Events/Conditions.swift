internal import Nearby

/// Conditions of a host, and states of its advertisers and browsers, for people.
enum Conditions {
  /// The record or search that a state is about.
  enum Subject {
    case advertiser, browser, adhoc

    func warning(_ type: String) -> String {
      switch self {
      case .advertiser: "Others do not find this peer for '\(type)'."
      case .browser: "Peers for '\(type)' are not looked for."
      case .adhoc: "Others and this peer do not find each other for '\(type)'."
      }
    }

    /// The sentence for the recovery.
    func recovery(_ type: String) -> Event {
      switch self {
      case .advertiser:
        Event("advertisedAgain", .news, [.text("type", type)]) { _ in ["others find this peer for \(type) again"] }
      case .browser:
        Event("browsedAgain", .news, [.text("type", type)]) { _ in ["peers for \(type) are looked for again"] }
      case .adhoc:
        Event("adhocAgain", .news, [.text("type", type)]) { _ in
          ["others and this peer find each other for \(type) again"]
        }
      }
    }
  }

  /// Reports states. An outage is left out: the host itself reports it, once for all.
  static func report(
    _ states: some AsyncSequence<DiscoveryState, Never>, of subject: Subject, _ type: String,
    by report: @Sendable (Event) async -> Void
  ) async {
    var hasFailed = false
    for await state in states {
      switch state {
      case .failed(let problem) where !problem.isOutage:
        hasFailed = true
        await report(.warning("\(subject.warning(type)) \(problem.cause)", cure: problem.cure))
      case .active where hasFailed:
        hasFailed = false
        await report(subject.recovery(type))
      case .starting, .active, .failed:
        break
      }
    }
  }

  static func report(
    _ conditions: some AsyncSequence<Condition, Never>, by report: @Sendable (Event) async -> Void
  ) async {
    var isBlind = false
    for await condition in conditions {
      switch condition {
      case .discoveryUnavailable(let cause, let cure):
        isBlind = true
        await report(.warning("Nobody nearby is found, and nobody finds this host. \(cause)", cure: cure))
      case .mediumUnavailable(let cause, let cure):
        isBlind = true
        await report(.warning("Nobody is found over one of the media. \(cause)", cure: cure))
      case .discoveryAvailable:
        // At the start it is no news.
        guard isBlind else { continue }
        isBlind = false
        await report(Event("discoveryAvailable") { _ in ["peers are found again"] })
      case .addresses(let addresses):
        await report(Event("addresses", .news, [.list("addresses", addresses)]))
      case .notStored(let cause):
        await report(.warning(cause, named: "notStored"))
      case .storedAgain:
        await report(Event("storedAgain") { _ in ["what happens is stored again"] })
      case .conflict(let id):
        await report(
          .warning(
            "The key of this host is in use on another one (\(id)) as well.",
            cure: "Give one of the two a folder of its own with --keys."))
      }
    }
  }
}
