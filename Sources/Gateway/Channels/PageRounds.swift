internal import Reactor

/// The rounds in which pages that are followed are compared with their lists, once these have changed.
///
/// The first change after a quiet time is told at once; then rounds take a twentieth of the time at most, as those of a
/// paced `Fanout`, and each page has a round every half second.
final class PageRounds {
  /// The time for pages in one turn of the loop, in nanoseconds.
  private static let turnTime: UInt64 = 2_000_000
  /// It pauses for so many times the time that a round has taken, and no longer than that.
  private static let pauseFactor: UInt64 = 19
  private static let pauseMax: UInt64 = 500_000_000

  private var pages: [LivePage] = []
  /// The index of the page whose turn is next.
  private var next = 0
  /// Whether a list has changed since the round began.
  private var isDue = false
  private var isScheduled = false
  private var roundTime: UInt64 = 0
  private var nextRound: UInt64 = 0
  private let reactor: Reactor

  init(on reactor: Reactor) { self.reactor = reactor }

  func add(_ page: LivePage) {
    page.place = pages.count
    pages.append(page)
    page.collection.pageBegan(in: self)
  }

  func remove(_ page: LivePage) {
    page.collection.pageEnded()
    let last = pages.removeLast()
    if last !== page {
      pages[page.place] = last
      last.place = page.place
    }
    // The last one may have lost its turn of this round.
    if next > 0 { isDue = true }
  }

  /// A list has changed.
  func changed() {
    isDue = true
    schedule()
  }

  private func schedule() {
    guard isDue || next > 0, !isScheduled, !pages.isEmpty else { return }
    isScheduled = true
    reactor.schedule(at: next > 0 ? Reactor.now : max(Reactor.now, nextRound)) { [weak self] in
      guard let self else { return }
      isScheduled = false
      run()
      schedule()
    }
  }

  private func run() {
    let start = Reactor.now
    if next == 0 { isDue = false }
    while next < pages.count, Reactor.now < start + Self.turnTime {
      next += 1
      pages[next - 1].changed()
    }
    let now = Reactor.now
    roundTime += now - start
    if next < pages.count { return }
    nextRound = now + min(Self.pauseMax, Self.pauseFactor * roundTime)
    (next, roundTime) = (0, 0)
  }
}
