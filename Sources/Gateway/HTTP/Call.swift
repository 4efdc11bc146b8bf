internal import Nearby
internal import Notation
internal import Reactor
internal import Web

/// One request, by HTTP or by a frame of a WebSocket.
///
/// It is an object since it is passed on often, and has many parts.
final class Call: Sendable {
  let method: Method
  let path: [String]
  let query: [QueryItem]
  let headers: Headers
  let body: [UInt8]
  /// The client that asks; nil where it is unknown.
  let client: ClientView?
  let connection: RequestConnection
  /// Whether it comes from an address that needs no token for some resources.
  let isNearby: Bool
  /// The segments at the pattern's placeholders, in order.
  let captures: [String]

  init(
    _ method: Method, _ path: [String], _ captures: [String], query: [QueryItem] = [], headers: Headers = Headers(),
    body: [UInt8] = [], of client: ClientView? = nil, isNearby: Bool = false, over connection: RequestConnection
  ) {
    self.method = method
    self.path = path
    self.captures = captures
    self.query = query
    self.headers = headers
    self.body = body
    self.client = client
    self.isNearby = isNearby
    self.connection = connection
  }

  /// The request as it came by HTTP; its client is not known yet.
  convenience init(_ head: Head, _ captures: [String]) {
    self.init(head.method, head.path, captures, query: head.query, headers: head.headers, over: RequestConnection(head))
  }

  /// The same request with its client.
  func asked(by client: ClientView?, isNearby: Bool = false) -> Call {
    Call(
      method, path, captures, query: query, headers: headers, body: body, of: client, isNearby: isNearby,
      over: connection)
  }

  func with(body: [UInt8]) -> Call {
    Call(
      method, path, captures, query: query, headers: headers, body: body, of: client, isNearby: isNearby,
      over: connection)
  }

  /// The segment at a placeholder of the path's pattern.
  subscript(place: Int) -> String { captures[place] }

  var target: String { "/" + path.joined(separator: "/") }

  func json() throws(Problem) -> JSON {
    if let type = headers["Content-Type"], !MediaRange.isJSON(type) {
      throw Problem(.unsupportedMediaType, "this path takes application/json, and not \(QuotedText.of(type))")
    }
    if body.isEmpty { return .object([]) }
    do {
      return try JSON(parsing: body)
    } catch {
      throw Problem(.badRequest, "the body is no JSON: \(error)")
    }
  }

  func fields() throws(Problem) -> Fields { try Fields(json()) }

  /// The only value of a query parameter.
  func parameter(_ name: String) throws(Problem) -> String? {
    let values = query.filter { $0.name == name }
    if values.count > 1 {
      throw Problem(.invalidParameter, "the query has '\(name)' more than once", field: name, rule: "once")
    }
    return values.first?.value
  }

  func count(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
    guard let text = try parameter(name) else { return nil }
    guard let count = Int(text), range.contains(count) else {
      throw Problem(
        .invalidParameter,
        "'\(name)' is \(QuotedText.of(text)) and must be a number from \(range.lowerBound) to \(range.upperBound)",
        field: name, rule: "range", limit: range.upperBound)
    }
    return count
  }

  func flag(_ name: String) throws(Problem) -> Bool {
    switch try parameter(name) {
    case nil, "false": return false
    case "", "true": return true
    case let text?:
      throw Problem(.invalidParameter, "'\(name)' is \(QuotedText.of(text)) and must be true or false", field: name)
    }
  }

  /// The client that asks; the route has checked that there is one.
  func need() throws(Problem) -> ClientView {
    guard let client else { throw Problem.unauthorized() }
    return client
  }
}

/// The connection by which a request comes.
struct RequestConnection: Sendable {
  let isSecure: Bool
  /// Whether nobody on the way can read it: TLS, or this machine where no proxy asks for another client.
  let isPrivate: Bool
  private let head: Head

  init(_ head: Head) {
    self.head = head
    isSecure = head.isSecure
    isPrivate = head.isSecure || head.isOfMachine
  }

  /// The source of a guess, for its rate limit.
  var source: PairingRateLimit.Source { head.isOfMachine ? .machine : .address(head.client.host) }

  /// The URL of the same gateway under TLS.
  var secureURL: String { "https://\(head.headers["Host"] ?? "")\(head.base)" }

  /// Throws where others can read the connection; the error begins with what needs a private one.
  func requirePrivate(_ what: @autoclosure () -> String, field: String? = nil) throws(Problem) {
    if isPrivate { return }
    throw Problem(
      .forbidden,
      "\(what()) over HTTPS or on the machine itself only, and this connection is not encrypted: use \(secureURL)",
      field: field, rule: "privateConnection")
  }
}

extension Problem {
  static func unauthorized(
    _ detail: String = "this needs a token: pair by a code (POST /v1/pairings) and send 'Authorization: Bearer …'"
  ) -> Problem {
    var problem = Problem(.unauthorized, detail)
    problem.headers = [Field(name: "WWW-Authenticate", value: "Bearer realm=\"vicinity\"")]
    return problem
  }
}

/// The response to a call.
struct Reply: Sendable {
  enum Body: Sendable {
    case none
    /// `application/json`, serialized.
    case json([UInt8])
    /// The same for a large response, whose memory is reserved before it is sent.
    case pieces(Pieces)
    case bytes([UInt8], type: String)
    case asset(Asset)
  }

  var status: Int
  var body: Body
  /// The entity tag of the state that it shows.
  var tag: EntityTag?
  var headers: [Problem.Field] = []

  init(_ status: Int, _ body: Body = .none) {
    self.status = status
    self.body = body
  }

  static let nothing = Reply(204)

  /// The bytes to reserve for a large body; nil for a small one.
  var largeBytes: Int? { if case .pieces(let pieces) = body { pieces.count } else { nil } }

  /// The same reply; a large one keeps its reservation, which is corrected to its size.
  func keeping(_ reservation: ResponseReservation?) -> Reply {
    guard let reservation, case .pieces(var pieces) = body else { return self }
    reservation.resize(to: pieces.count)
    pieces.keep(reservation)
    var reply = self
    reply.body = .pieces(pieces)
    return reply
  }

  var bytesCount: Int { content?.bytes.count ?? 0 }

  /// The body and its type before compression.
  var content: (bytes: [UInt8], type: String)? {
    switch body {
    // Large bodies are neither compressed nor cached.
    case .none, .pieces: nil
    case .json(let bytes): (bytes, "application/json")
    case .bytes(let bytes, let type): (bytes, type)
    case .asset(let asset): (asset.bytes, asset.type)
    }
  }

  /// Whether both are the same; bodies are the same only where they lie in the same place.
  func isSame(as other: Reply) -> Bool {
    guard status == other.status, tag == other.tag, headers == other.headers else { return false }
    switch (body, other.body) {
    case (.none, .none): return true
    case (.json(let one), .json(let other)): return one.isSamePlace(as: other)
    case (.bytes(let one, let type), .bytes(let other, let otherType)):
      return type == otherType && one.isSamePlace(as: other)
    case (.asset(let one), .asset(let other)): return one.bytes.isSamePlace(as: other.bytes)
    default: return false
    }
  }

  static func json(_ json: JSON, _ status: Int = 200) -> Reply { Reply(status, .json(json.bytes)) }

  /// The response to a creation: the item, and its path.
  static func created(_ item: Item, at path: String) -> Reply {
    var reply = Reply(201, .json(item.bytes))
    reply.tag = item.tag
    reply.headers = [.init(name: "Location", value: path)]
    return reply
  }

  static func item(_ item: Item) -> Reply {
    var reply = Reply(200, .json(item.bytes))
    reply.tag = item.tag
    return reply
  }

  init(_ problem: Problem) {
    self.init(problem.status, .bytes(problem.json.bytes, type: "application/problem+json"))
    headers = problem.headers
    if let seconds = problem.retryAfter { headers.append(.init(name: "Retry-After", value: String(seconds))) }
  }
}

enum MediaRange {
  /// Whether a text is a media type: two words with a slash between, and maybe parameters, all of it printable.
  static func isType(_ text: String) -> Bool {
    let words = text.prefix { $0 != ";" }.split(separator: "/", omittingEmptySubsequences: false)
    return words.count == 2 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
      && words.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(\.isTokenByte) }
  }

  /// The type without its parameters, in lower case.
  static func essence(_ type: String) -> String {
    String(type.prefix { $0 != ";" }).filter { $0 != " " }.lowercased()
  }

  static func isJSON(_ type: String) -> Bool {
    // As most are written.
    if type == "application/json" { return true }
    let essence = essence(type)
    return essence == "application/json" || essence.hasSuffix("+json")
  }

  /// Whether an Accept header names a type, by itself or by a wildcard, and with a weight other than zero.
  static func accepts(_ header: String?, _ type: String) -> Bool {
    guard let header, !header.isEmpty, header != "*/*", header != type else { return true }
    let kind = type.prefix { $0 != "/" }
    return header.split(separator: ",").contains { range in
      let essence = essence(String(range))
      let weight = range.split(separator: ";").dropFirst().first { $0.filter { $0 != " " }.hasPrefix("q=") }
      if let weight, Double(weight.filter { $0 != " " }.dropFirst(2)) == 0 { return false }
      return essence == type || essence == "*/*" || essence == "\(kind)/*"
    }
  }

  /// Whether the header names the type itself.
  static func names(_ header: String?, _ type: String) -> Bool {
    header?.split(separator: ",").contains { essence(String($0)) == type } ?? false
  }
}
