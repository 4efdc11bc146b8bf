internal import Web

/// A client's activity and cost since the gateway was started, and the time of its last activity.
final class ClientAccount {
  var lastSeen: Instant?
  /// Whether its peers are shown as away.
  var isAway = false

  /// The pages of lists that its WebSockets follow.
  var pageCount = 0

  let traffic = Traffic()
  /// Requests by HTTP, and frames of WebSockets.
  private(set) var requestCount = 0
  /// Time of the loop, in nanoseconds: until a request is answered, or waits for something.
  private(set) var loopTime: UInt64 = 0
  /// The number of its requests that had to wait, because its share of a turn was used.
  var delayedCount = 0

  /// The requests that wait for a later turn.
  var waiting: ArraySlice<() -> Void> = []
  /// Whether it is in the queue of waiting clients.
  var hasTurn = false
  private var turn: UInt64 = 0
  private var turnTime: UInt64 = 0

  /// Its time in one turn of the loop, in nanoseconds.
  func loopTime(in turn: UInt64) -> UInt64 { turn == self.turn ? turnTime : 0 }

  func addUsage(_ time: UInt64, in turn: UInt64) {
    requestCount += 1
    loopTime += time
    turnTime = loopTime(in: turn) + time
    self.turn = turn
  }
}
