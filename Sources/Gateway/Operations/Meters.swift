internal import Nearby

/// Counters of the gateway since its start, on its loop, so that counting costs nothing. `Metric.all` shows them, with
/// values that are only read on request.
final class Meters {
  /// The tag of the dashboard's files.
  static let siteTag = -1

  enum Direction: String, CaseIterable { case incoming, outgoing }
  enum Flow: String, CaseIterable { case resource, stream }

  /// Answers to the requests of one route.
  struct Answers {
    fileprivate(set) var statuses: [(status: Int, count: Int)] = []
    fileprivate(set) var times = Histogram()

    fileprivate mutating func count(_ status: Int, _ nanoseconds: UInt64) {
      times.count(nanoseconds)
      if let place = statuses.firstIndex(where: { $0.status == status }) {
        statuses[place].count += 1
      } else {
        statuses.append((status, 1))
      }
    }
  }

  struct Messages {
    var count = 0
    var bytes = 0
  }

  struct Ending: Hashable {
    let flow: Flow
    let direction: Direction
    let outcome: String
  }

  /// By the routes' numbers: 0 for requests without a route, and last the dashboard.
  private(set) var answers: [Answers]
  /// By direction: reliable messages, then unreliable ones.
  private var messages = [Messages](repeating: Messages(), count: 4)
  private(set) var endings: [Ending: Int] = [:]
  /// Closed WebSockets by close code.
  private(set) var closes: [UInt16: Int] = [:]
  private(set) var pairings = 0
  /// Unreliable messages that subscribers were too slow for, once for each subscriber.
  private(set) var droppedCount = 0

  init(routes count: Int) {
    answers = Array(repeating: Answers(), count: count + 2)
  }

  func answered(_ tag: Int, with status: Int, after nanoseconds: UInt64) {
    answers[tag == Self.siteTag ? answers.count - 1 : tag].count(status, nanoseconds)
  }

  /// A message of so many bytes was sent, or received by so many sessions.
  func message(_ direction: Direction, _ mode: Mode, _ bytes: Int, times count: Int = 1) {
    let place = Self.place(direction, mode)
    messages[place].count += count
    messages[place].bytes += count * bytes
  }

  func messages(_ direction: Direction, _ mode: Mode) -> Messages { messages[Self.place(direction, mode)] }

  private static func place(_ direction: Direction, _ mode: Mode) -> Int {
    (direction == .incoming ? 0 : 2) + (mode == .reliable ? 0 : 1)
  }

  func ended(_ flow: Flow, _ direction: Direction, _ outcome: String) {
    endings[Ending(flow: flow, direction: direction, outcome: outcome), default: 0] += 1
  }

  func closed(_ code: UInt16) { closes[code, default: 0] += 1 }
  func dropped(_ count: Int) { droppedCount += count }
  func paired() { pairings += 1 }
}

/// A histogram of durations.
struct Histogram {
  /// In nanoseconds: from a tenth of a millisecond, the time of most requests here, to the time of a long poll.
  static let bounds: [UInt64] = [
    100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 100_000_000, 1_000_000_000,
    10_000_000_000, 60_000_000_000,
  ]

  /// The count of each bucket alone; the last is for all longer times.
  private(set) var counts = [Int](repeating: 0, count: bounds.count + 1)
  private(set) var total = 0
  private(set) var sum: UInt64 = 0

  mutating func count(_ nanoseconds: UInt64) {
    var place = 0
    while place < Self.bounds.count, nanoseconds > Self.bounds[place] { place += 1 }
    counts[place] += 1
    total += 1
    sum += nanoseconds
  }
}
