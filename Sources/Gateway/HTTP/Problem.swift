internal import Nearby
internal import Notation
internal import Store
internal import Web

/// An error in the form of RFC 9457: the failure, its cause, and the remedy.
struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
  enum Kind: String, CaseIterable, Sendable {
    // The names of the framework's errors.
    case notConnected, invalidParameter, unsupported, timedOut, cancelled, unavailable, unknown
    // The gateway's own.
    case badRequest, unauthorized, forbidden, notFound, methodNotAllowed, notAcceptable, conflict, gone
    case preconditionFailed, tooLarge, unsupportedMediaType, rangeNotSatisfiable, misdirected, upgradeRequired
    case tooMany
  }

  var kind: Kind
  var detail: String
  /// The part of the request that is wrong.
  var field: String?
  /// The rule that it breaks, as the documentation names it.
  var rule: String?
  var limit: Int?
  /// The cause, where it has a name.
  var reason: Reason?
  /// The seconds after which a retry makes sense.
  var retryAfter: Int?
  /// Further headers of the response.
  var headers: [Field] = []

  enum Reason: Hashable, Sendable {
    /// A member is behind, and its queue is full.
    case queueFull
    /// The disk is full, or the quota is used up.
    case noSpace
    /// The end of something that had begun.
    case ended(Nearby.Reason)

    var name: String {
      switch self {
      case .queueFull: "queueFull"
      case .noSpace: "noSpace"
      case .ended(let reason): reason.description
      }
    }
  }

  struct Field: Hashable, Sendable {
    var name: String
    var value: String
  }

  init(_ kind: Kind, _ detail: String, field: String? = nil, rule: String? = nil, limit: Int? = nil) {
    self.kind = kind
    self.detail = detail
    self.field = field
    self.rule = rule
    self.limit = limit
  }

  static func noSpace(
    _ detail: String, field: String? = nil, rule: String? = nil, limit: Int? = nil
  ) -> Problem {
    var problem = Problem(.unavailable, detail, field: field, rule: rule, limit: limit)
    problem.reason = .noSpace
    return problem
  }

  /// A full queue makes room by itself and a full disk does not: HTTP has a status for each.
  var status: Int {
    switch reason {
    case .queueFull: 429
    case .noSpace: 507
    case .ended, nil: kind.status
    }
  }

  var description: String { detail }

  var json: JSON {
    var members: [JSON.Member] = [
      .init("type", .text("/problems/\(kind.rawValue)")), .init("title", .text(kind.title)),
      .init("status", .number(status)), .init("detail", .text(detail)),
    ]
    if let field { members.append(.init("field", .text(field))) }
    if let rule { members.append(.init("rule", .text(rule))) }
    if let reason { members.append(.init("reason", .text(reason.name))) }
    if let limit { members.append(.init("limit", .number(limit))) }
    if let retryAfter { members.append(.init("retryAfter", .number(retryAfter))) }
    return .object(members)
  }
}

extension Problem.Kind {
  var status: Int {
    switch self {
    case .badRequest, .invalidParameter: 400
    case .unauthorized: 401
    case .forbidden: 403
    case .notFound: 404
    case .methodNotAllowed: 405
    case .notAcceptable: 406
    case .notConnected, .cancelled, .conflict: 409
    case .gone: 410
    case .preconditionFailed: 412
    case .tooLarge: 413
    case .unsupportedMediaType: 415
    case .rangeNotSatisfiable: 416
    case .misdirected: 421
    case .unsupported: 422
    case .upgradeRequired: 426
    case .tooMany: 429
    case .unknown: 500
    case .unavailable: 503
    case .timedOut: 504
    }
  }

  var title: String {
    switch self {
    case .notConnected: "Not connected"
    case .invalidParameter: "Invalid parameter"
    case .unsupported: "Not supported"
    case .timedOut: "Timed out"
    case .cancelled: "Cancelled"
    case .unavailable: "Unavailable"
    case .unknown: "Internal error"
    case .unauthorized: "Not authenticated"
    case .forbidden: "Not allowed"
    case .notFound: "Not found"
    case .methodNotAllowed: "Method not allowed"
    case .notAcceptable: "Not acceptable"
    case .conflict: "Conflict with the current state"
    case .gone: "Gone"
    case .preconditionFailed: "Precondition failed"
    case .tooLarge: "Too large"
    case .unsupportedMediaType: "Unsupported media type"
    case .rangeNotSatisfiable: "Range not satisfiable"
    case .misdirected: "Misdirected request"
    case .upgradeRequired: "WebSocket upgrade required"
    case .tooMany: "Limit reached"
    case .badRequest: "Malformed request"
    }
  }

  /// The text of the page about it.
  var explanation: String {
    switch self {
    case .notConnected:
      "A recipient is not connected. The session's list of members has their states."
    case .invalidParameter:
      "A field of the body, a query parameter or a part of the path is invalid. The problem names the field, the rule and the limit."
    case .unsupported: "The request is well-formed, but this gateway does not support it."
    case .timedOut: "The other side did not answer before the timeout."
    case .cancelled: "An operation in progress was cancelled, by this side or the other."
    case .unavailable:
      "The request cannot be served now. With the reason queueFull (429) the send queue of a member is full: retry after Retry-After. With noSpace (507) the disk is full or the client's quota is exhausted, as the detail says; live messages and streams continue. Otherwise (503) a part of the gateway is overloaded, draining or down."
    case .unknown: "A bug of the gateway, or an unexpected error. The gateway's log has more."
    case .unauthorized:
      "The request needs a token: 'Authorization: Bearer …'. A token comes from a pairing code: POST /v1/pairings."
    case .forbidden:
      "The token is valid, but its role, its scopes or the connection does not permit this. The detail says what is missing, and how to get it."
    case .notFound: "There is nothing at this path, or it belongs to another client."
    case .methodNotAllowed:
      "The path exists, but does not have this method. The Allow header lists its methods."
    case .notAcceptable: "The response is not available in any type that the Accept header allows."
    case .conflict: "The request conflicts with the current state of the item, as the detail explains."
    case .gone: "The item existed, but has ended or was deleted."
    case .preconditionFailed:
      "The ETag in If-Match is not the current one: the item has changed. Read it again before you change it."
    case .tooLarge: "The body, or a part of it, is larger than the given limit."
    case .unsupportedMediaType: "This path does not accept the Content-Type of the body, or its Content-Encoding."
    case .rangeNotSatisfiable: "The Range header begins past the end of the content."
    case .misdirected:
      "The Host header has a name that this gateway does not serve. 'vicinity serve --host-name' adds one."
    case .upgradeRequired: "This path is a WebSocket: send an Upgrade request; the detail names the subprotocol."
    case .tooMany:
      "A rate limit or a limit on a number was reached. Retry-After says when to retry; if it is missing, the detail says how to make room."
    case .badRequest: "The request is not valid HTTP, or its body is not valid JSON."
    }
  }
}

extension Problem {
  init(_ error: NearbyError) {
    let kind: Kind =
      switch error.code {
      case .unknown: .unknown
      case .notConnected: .notConnected
      case .invalidParameter: .invalidParameter
      case .unsupported: .unsupported
      case .timedOut: .timedOut
      case .cancelled: .cancelled
      case .unavailable: .unavailable
      }
    self.init(kind, error.description)
    if error.isQueueFull {
      (reason, retryAfter) = (.queueFull, 1)
    } else if error.isFullDisk {
      reason = .noSpace
    } else {
      reason = error.reason.map(Reason.ended)
    }
  }

  init(_ error: StoreError) {
    switch error {
    case .full: self = .noSpace("\(error)")
    case .overloaded, .closed: self.init(.unavailable, "\(error)")
    default: self.init(.unknown, "\(error)")
    }
  }

  /// Names the field where the error is an invalid parameter.
  init(_ error: NearbyError, field: String, rule: String) {
    self.init(error)
    guard kind == .invalidParameter else { return }
    self.field = field
    self.rule = rule
  }

  init(wrapping error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as NearbyError: self.init(error)
    case let error as StoreError: self.init(error)
    default: self.init(.unknown, "\(error)")
    }
  }

  /// A limit that passes by itself: after so many seconds a retry makes sense. Where somebody has to make room, such as
  /// by deleting something, no time is given.
  static func rateLimited(
    _ detail: String, after seconds: Int, rule: String? = nil, limit: Int? = nil
  ) -> Problem {
    var problem = Problem(.tooMany, detail, rule: rule, limit: limit)
    problem.retryAfter = seconds
    return problem
  }

  init(_ method: Method, notAmong methods: String) {
    self.init(.methodNotAllowed, "\(method.name) is not allowed here; allowed methods: \(methods)")
    headers = [Field(name: "Allow", value: methods)]
  }

  static func missing(_ what: String, _ id: String) -> Problem {
    Problem(.notFound, "there is no \(what) \(QuotedText.of(id)) here, or it belongs to another client")
  }
}
