/// With what the gateway closes a WebSocket; docs/operations.md says what each means.
enum CloseCode: UInt16, CaseIterable, Sendable {
  /// A stream's bytes have all been told.
  case done = 1000
  /// A service restart, as the registry of RFC 6455 has it: come back in a moment.
  case restart = 1012
  case lagging = 4001
  // From here on as the statuses of HTTP, with 4000 more: the same would end the same way.
  case badFrame = 4400
  case unauthorized = 4401
  case forbidden = 4403
  case notFound = 4404
  case silence = 4408
  case conflict = 4409
  case gone = 4410

  init(_ problem: Problem) { self = CloseCode(rawValue: 4000 + UInt16(problem.status)) ?? .badFrame }
}
