/// Counters of a front since its start; they belong to its loop, as does all code that counts them.
package final class WebMeter {
  package enum Kind: Int, CaseIterable {
    case link, http, socket
    /// Connections that ended, or were refused, before their protocol was known.
    case refused
  }

  /// Connections whose protocol is known. One that becomes a WebSocket after a request counts as both.
  package private(set) var connections = [Int](repeating: 0, count: Kind.allCases.count)
  /// Responses that the server gave by itself because a request was not valid, by status.
  package private(set) var refusals: [Int: Int] = [:]
  /// Connections that were closed at once because a limit was reached.
  package internal(set) var refusedConnections: [ConnectionLimit: Int] = [:]
  /// Bytes of the bodies of requests and responses.
  package var bodyBytesIn = 0
  package var bodyBytesOut = 0
  /// WebSocket messages that were received, and their bytes on the wire.
  package var socketMessagesIn = 0
  package var socketBytesIn = 0
  package var framesOut = 0
  package var frameBytesOut = 0
  /// Frames that were dropped because their subscriber was too far behind, and how often one was.
  package var framesDropped = 0
  package var lags = 0

  /// Turns in which the HTTP library asked for another turn at once without doing anything, many times in a row.
  package var idleTurns = 0

  func connected(as kind: Kind) { connections[kind.rawValue] += 1 }
  func refused(with status: Int) { refusals[status, default: 0] += 1 }
}
