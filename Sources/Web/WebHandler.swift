package import Reactor

/// What the server tells the one that it serves for; always on the loop.
package protocol WebHandler: AnyObject {
  /// What a head means here: one that a trusted proxy passes on is read as it came to that. Called once for each head.
  func read(_ head: Head) throws(WebFault) -> Head

  /// Whether this address is one of many clients, so that the limits of one do not hold for it.
  func isShared(_ client: SocketAddress) -> Bool

  /// A request has begun. Before this returns or at any later time: read its body if it is wanted, and respond once.
  func begin(_ exchange: Exchange)

  /// A client asks for a WebSocket at this target. `Host` and `Origin` are the handler's to check.
  func upgrade(_ head: Head) -> SocketDecision

  /// The answer to a request is on its way; one that the server gave by itself as well.
  func answered(_ exchange: Exchange, with status: Int)

  /// How to say that the server refuses by itself; the connection ends after it. The head is nil where it is not sound.
  func refuse(_ fault: WebFault, _ head: Head?) -> Response
}

extension WebHandler {
  /// The same, with what HTTP asks for beside it.
  func refusal(of fault: WebFault, _ head: Head?) -> Response {
    var response = refuse(fault, head)
    response.closes = true
    if fault.status == 426 {
      response.headers.append("Sec-WebSocket-Version", "13")
      response.headers.append("Upgrade", "websocket")
    }
    return response
  }

  package func read(_ head: Head) throws(WebFault) -> Head { head }
  package func isShared(_ client: SocketAddress) -> Bool { false }
  package func answered(_ exchange: Exchange, with status: Int) {}

  package func refuse(_ fault: WebFault, _ head: Head?) -> Response {
    var response = Response(fault.status, .bytes(Array("\(fault)\n".utf8)))
    response.headers.append("Content-Type", "text/plain; charset=utf-8")
    return response
  }
}
