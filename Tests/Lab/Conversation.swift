@testable import lab_rig

/// Two programs that say the same numbered messages to each other, with the delay of each message.
@Laboratory
final class Conversation {
  private static let interval: Duration = .milliseconds(10)

  private let visitors: [VicinityPeer]
  /// When each message was said, in nanoseconds on the monotonic clock.
  private var times: [UInt64] = []

  init(_ a: VicinityPeer, _ b: VicinityPeer) { visitors = [a, b] }

  private var texts: [String] { times.indices.map { "message-\($0)" } }

  /// Talks for so long while something happens, and returns the longest delay of what was said meanwhile, by either.
  @discardableResult
  func delay(in time: Duration, while happening: @Laboratory () async throws -> Void = {}) async throws -> Duration {
    let first = times.count
    async let talking: Void = talk(for: time)
    try await happening()
    try await talking
    for visitor in visitors { try await visitor.hears("message-\(times.count - 1)", within: .seconds(10)) }
    var longest: UInt64 = 0
    for event in visitors.flatMap({ $0.told("message") }) {
      guard let number = event["text"]?.split(separator: "-").last.flatMap({ Int($0) }), number >= first else {
        continue
      }
      longest = max(longest, event.time - times[number])
    }
    return .nanoseconds(Int64(longest))
  }

  private func talk(for time: Duration) async throws {
    let end = ContinuousClock.now + time
    while ContinuousClock.now < end {
      let text = "message-\(times.count)"
      times.append(Laboratory.now)
      for visitor in visitors { try visitor.say(text) }
      await Laboratory.pass(Self.interval)
    }
  }

  /// Whether each message was received once and in order, by both.
  var isComplete: Bool { visitors.allSatisfy { $0.messages == texts } }

  /// Whether the two have been connected all the time, as far as their users know.
  var isUnbroken: Bool {
    visitors.allSatisfy { visitor in
      visitor.told("suspended").isEmpty && visitor.told("notConnected").isEmpty && visitor.told("connected").count == 1
    }
  }
}
