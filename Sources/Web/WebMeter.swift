/// What a front has done since it began, in plain numbers: they belong to its loop, like all that counts them.
package final class WebMeter {
  package enum Kind: Int, CaseIterable {
    case link, http, socket
    /// Those that left, or were sent away, before they had said what they are.
    case refused
  }

  /// Connections that have said what they are. One that goes on as a WebSocket after a request is both.
  package private(set) var connections = [Int](repeating: 0, count: Kind.allCases.count)
  /// Answers that the server gave by itself, since what came was no sound request.
  package private(set) var refusals: [Int: Int] = [:]
  /// Of the bodies of requests and answers.
  package var bodyBytesIn = 0
  package var bodyBytesOut = 0
  /// Messages of WebSockets that came, and the bytes in which they did.
  package var socketMessagesIn = 0
  package var socketBytesIn = 0
  package var framesOut = 0
  package var frameBytesOut = 0
  /// Frames that were not sent since their subscriber was too far behind, and how often one was.
  package var framesDropped = 0
  package var lags = 0

  /// Turns in which the HTTP library asked for another at once and had done nothing, often in a row.
  package var idleTurns = 0

  func connected(as kind: Kind) { connections[kind.rawValue] += 1 }
  func refused(with status: Int) { refusals[status, default: 0] += 1 }
}
