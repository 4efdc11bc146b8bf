internal import Nearby

/// What the gateway has done since it began: plain numbers on its loop, which cost nothing to count. `Metric.all` tells
/// them, with what is looked up only when somebody asks.
final class Meters {
  /// Of what the dashboard consists of.
  static let siteTag = -1

  enum Direction: String, CaseIterable { case incoming, outgoing }
  enum Flow: String, CaseIterable { case resource, stream }

  /// How requests to one route were answered.
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

  /// By the routes' numbers: 0 for what is at no route, and last the dashboard.
  private(set) var answers: [Answers]
  /// By direction: reliable ones, then unreliable ones.
  private var messages = [Messages](repeating: Messages(), count: 4)
  private(set) var endings: [Ending: Int] = [:]
  /// Of WebSockets, by the code with which they were closed.
  private(set) var closes: [UInt16: Int] = [:]
  private(set) var pairings = 0
  /// Unreliable messages that followers were too slow for, once for each follower.
  private(set) var droppedCount = 0

  init(routes count: Int) {
    answers = Array(repeating: Answers(), count: count + 2)
  }

  func answered(_ tag: Int, with status: Int, after nanoseconds: UInt64) {
    answers[tag == Self.siteTag ? answers.count - 1 : tag].count(status, nanoseconds)
  }

  func message(_ direction: Direction, _ mode: Mode, _ bytes: Int) {
    let place = Self.place(direction, mode)
    messages[place].count += 1
    messages[place].bytes += bytes
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

/// How many took how long.
struct Histogram {
  /// In nanoseconds: from a tenth of a millisecond on, which is what most requests take here, to what a long poll waits.
  static let bounds: [UInt64] = [
    100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000, 25_000_000, 100_000_000, 1_000_000_000,
    10_000_000_000, 60_000_000_000,
  ]

  /// Each for itself, the last for all that is longer.
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
