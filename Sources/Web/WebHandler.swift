package import Reactor

/// The handler of the server's requests; all calls are on the loop.
package protocol WebHandler: AnyObject {
  /// Interprets a head: one that a trusted proxy passes on is read as it came to the proxy. Called once for each head.
  func read(_ head: Head) throws(WebFault) -> Head

  /// Whether many clients share this address, so that the limits of one client do not hold for it.
  func isShared(_ client: SocketAddress) -> Bool

  /// A connection was closed at once because a limit is reached.
  func refused(_ client: SocketAddress, at limit: ConnectionLimit)

  /// A request has begun. Before this returns or at any later time: read its body if it is wanted, and respond once.
  func begin(_ exchange: Exchange)

  /// A client asks for a WebSocket at this target. `Host` and `Origin` are the handler's to check.
  func upgrade(_ head: Head) -> SocketDecision

  /// The response to a request is queued; also called for one that the server gave by itself.
  func responded(to exchange: Exchange, with status: Int)

  /// The response to a request that the server itself refuses, and then closes. The head is nil where it is not valid.
  func refuse(_ fault: WebFault, _ head: Head?) -> Response
}

extension WebHandler {
  /// The same, with the header fields that HTTP requires.
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
  package func refused(_ client: SocketAddress, at limit: ConnectionLimit) {}
  package func responded(to exchange: Exchange, with status: Int) {}

  package func refuse(_ fault: WebFault, _ head: Head?) -> Response {
    var response = Response(fault.status, .bytes(Array("\(fault)\n".utf8)))
    response.headers.append("Content-Type", "text/plain; charset=utf-8")
    return response
  }
}
