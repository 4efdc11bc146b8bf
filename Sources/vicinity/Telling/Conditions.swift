internal import Nearby

/// What a host has to say of itself.
enum Conditions {
  static func tell(
    _ conditions: some AsyncSequence<Condition, Never>, by tell: @Sendable (Event) async -> Void
  ) async {
    var isBlind = false
    for await condition in conditions {
      switch condition {
      case .discoveryUnavailable(let cause, let cure):
        isBlind = true
        await tell(.warning("Nobody nearby is found, and nobody finds this host. \(cause)", cure: cure))
      case .discoveryAvailable:
        // At the start it is no news.
        guard isBlind else { continue }
        isBlind = false
        await tell(Event("discoveryAvailable") { _ in ["peers are found again"] })
      case .notAdvertised(let type, let cause, let cure):
        await tell(.warning("This peer is not advertised for \(type). \(cause)", cure: cure))
      case .advertisedAgain(let type):
        await tell(
          Event("advertisedAgain", .news, [.text("type", type)]) { _ in ["this peer is advertised for \(type) again"] })
      case .addresses(let addresses):
        await tell(Event("addresses", .news, [.list("addresses", addresses)]))
      case .notStored(let cause):
        await tell(.warning(cause, named: "notStored"))
      case .storedAgain:
        await tell(Event("storedAgain") { _ in ["what happens is stored again"] })
      case .conflict(let id):
        await tell(
          .warning(
            "The key of this host is in use on another one (\(id)) as well.",
            cure: "Give one of the two a folder of its own with --keys."))
      }
    }
  }
}
