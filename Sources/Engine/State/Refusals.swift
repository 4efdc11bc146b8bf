/// Refused invitations: nothing automatic asks these people again. An invitation by hand goes out all the same.
///
/// A no counts at once. An invitation that a person let run out pauses for a while, and the second of them is a no.
struct Refusals<Key: OrderedDictionaryKey> {
  /// A person who was away once is asked once more.
  private static var unansweredMax: Int { 2 }
  /// So many are remembered, the latest ones: nobody is asked by more people in one session.
  static var countMax: Int { 1_024 }

  private struct Refusal {
    var unanswered = 0
    var restsUntil = Instant(nanoseconds: 0)
  }

  private var refusals = OrderedDictionary<Key, Refusal>()

  var isEmpty: Bool { refusals.isEmpty }

  mutating func declined(_ key: Key) {
    refusals[key] = Refusal(unanswered: Self.unansweredMax)
    forgetOldest()
  }

  mutating func ranOut(_ key: Key, restsUntil rest: Instant) {
    let before = refusals[key]?.unanswered ?? 0
    refusals[key] = Refusal(unanswered: before + 1, restsUntil: rest)
    forgetOldest()
  }

  mutating func lift(_ key: Key) { refusals[key] = nil }

  /// Whether it is never asked again automatically.
  func stand(for key: Key) -> Bool { refusals[key].map { $0.unanswered >= Self.unansweredMax } ?? false }

  /// Whether it is not asked automatically now.
  func forbid(_ key: Key, at now: Instant) -> Bool {
    refusals[key].map { now < $0.restsUntil } ?? false || stand(for: key)
  }

  // MARK: Restarts

  /// How often nobody answered, or more than enough for a no; the oldest first.
  var counts: [(Key, Int)] { refusals.keys.compactMap { key in refusals[key].map { (key, $0.unanswered) } } }

  mutating func restore(_ key: Key, unanswered: Int, restsUntil rest: Instant) {
    refusals[key] = Refusal(unanswered: unanswered, restsUntil: rest)
  }

  private mutating func forgetOldest() {
    if refusals.count > Self.countMax { _ = refusals.removeFirst() }
  }
}
