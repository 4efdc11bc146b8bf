/// Codes with which the gateway closes a WebSocket; docs/operations.md explains each.
enum CloseCode: UInt16, CaseIterable, Sendable {
  /// All bytes of a stream were sent.
  case done = 1000
  /// Service restart (IANA registry of RFC 6455): reconnect in a moment.
  case restart = 1012
  case lagging = 4001
  // From here on HTTP status codes plus 4000: the same request would fail with that status.
  case badFrame = 4400
  case unauthorized = 4401
  case forbidden = 4403
  case notFound = 4404
  case silence = 4408
  case conflict = 4409
  case gone = 4410

  init(_ problem: Problem) { self = CloseCode(rawValue: 4000 + UInt16(problem.status)) ?? .badFrame }
}
