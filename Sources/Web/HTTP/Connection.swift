internal import Reactor

/// One connection that is served by libmicrohttpd, over all of its requests.
final class Connection {
  let origin: Origin
  /// Kept for as long as the connection counts.
  private let admission: Admission
  var exchange: Exchange?
  private(set) var requestCount = 0
  /// When the next whole head has to be there, on the reactor's clock; nil while a request is served.
  var headDeadline: UInt64?

  init(_ origin: Origin, _ admission: Admission) {
    self.origin = origin
    self.admission = admission
  }

  func countRequest() { requestCount += 1 }
}
