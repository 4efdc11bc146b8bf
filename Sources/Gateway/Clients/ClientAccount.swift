internal import Engine
internal import Web

/// What a client did and cost since the gateway was started, and when it was here last.
final class ClientAccount {
  var lastSeen: Instant?
  /// Its peers are shown as away.
  var isAway = false

  let traffic = Traffic()
  /// By HTTP, and frames of WebSockets.
  private(set) var requestCount = 0
  /// Of the loop, in nanoseconds: until a request is answered, or waits for something.
  private(set) var loopTime: UInt64 = 0
  /// How many of its requests have waited, since its share of a turn was used.
  var delayedCount = 0

  /// The requests that wait for a later turn.
  var waiting: ArraySlice<() -> Void> = []
  /// Whether it has a place among the clients that wait.
  var hasTurn = false
  private var turn: UInt64 = 0
  private var turnTime: UInt64 = 0

  /// What it had of a turn of the loop, in nanoseconds.
  func loopTime(in turn: UInt64) -> UInt64 { turn == self.turn ? turnTime : 0 }

  func spent(_ time: UInt64, in turn: UInt64) {
    requestCount += 1
    loopTime += time
    turnTime = loopTime(in: turn) + time
    self.turn = turn
  }
}
