internal import Nearby
internal import Reactor
internal import Web

/// Access control: clients, the pages that may ask, and the host names of this gateway.
final class Access {
  static let csrfHeader = "X-Vicinity-CSRF"
  /// The lifetime of the response to a preflight, in seconds.
  private static let preflightTime = 600

  private let clients: Clients
  private let settings: GatewayOptions
  /// Host names under which clients may ask, besides addresses and this machine's own.
  private let names: Set<String>
  private let cookie: String
  /// A cache of `Host` headers that mean this gateway: most requests have one of few.
  private var knownHosts: Set<String> = []
  private static let knownHostsMax = 64
  private static let knownHostBytesMax = 64

  /// Addresses that get metrics without a token, besides this machine.
  let metricsFrom: [AddressRange]
  let proxies: TrustedProxies
  let base: BasePath

  init(_ clients: Clients, _ settings: GatewayOptions, names: [String], of host: HostID) throws(Problem) {
    metricsFrom = try settings.metricsFrom.map { (text) throws(Problem) in
      guard let range = AddressRange(text) else {
        throw Problem(
          .invalidParameter, "\(QuotedText.of(text)) is no address and no range such as 10.0.0.0/8: see --metrics-from")
      }
      return range
    }
    proxies = try TrustedProxies(settings.trustedProxies)
    guard let base = BasePath(settings.basePath) else {
      throw Problem(
        .invalidParameter, "\(QuotedText.of(settings.basePath)) is not \(GatewayOptions.Form.basePath): see --base-path"
      )
    }
    self.base = base
    cookie = "vicinity-\(host.text.prefix(8))"
    self.clients = clients
    self.settings = settings
    self.names = Set(names)
  }

  // MARK: Names

  /// Prevents DNS rebinding: a page of another site that makes its own name point here asks by that name.
  func checkHost(_ head: Head) throws(Problem) {
    let header = head.headers["Host"] ?? ""
    if knownHosts.contains(header) { return }
    guard let host = Self.name(header) else {
      throw Problem(.badRequest, "the Host header is missing or malformed")
    }
    guard isOwnHost(host) else {
      throw Problem(
        .misdirected,
        "this gateway does not serve the host \(QuotedText.of(host)): use its address, or start it with --host-name \(host)"
      )
    }
    if header.utf8.count > Self.knownHostBytesMax { return }
    if knownHosts.count == Self.knownHostsMax { knownHosts = [] }
    knownHosts.insert(header)
  }

  private func isOwnHost(_ host: String) -> Bool {
    let host = host.lowercased()
    // The owner of a name cannot make an address point elsewhere.
    if host.hasPrefix("[") || SocketAddress(host, port: 0) != nil { return true }
    return host == "localhost" || host.hasSuffix(".localhost") || names.contains(host)
  }

  /// The Host header without its port.
  private static func name(_ header: String) -> String? {
    if header.hasPrefix("[") { return header.firstIndex(of: "]").map { String(header[...$0]) } }
    let name = header.prefix { $0 != ":" }
    return name.isEmpty ? nil : String(name)
  }

  // MARK: Redirection to HTTPS

  private static let pairings = ["v1", "pairings"]

  /// The redirection of a request in the clear, with the same method and body. Nil for one that is answered here, such
  /// as one with a code, which must not remain valid.
  func redirection(of head: Head) -> Response? {
    guard settings.isHTTPSOnly, !RequestConnection(head).isPrivate, head.path != Self.pairings else { return nil }
    var response = Response(308)
    let query = head.target.drop { $0 != "?" }
    response.headers.append("Location", "\(RequestConnection(head).secureURL)/\(Percent.encode(head.path))\(query)")
    addCommonHeaders(to: &response, for: head)
    return response
  }

  // MARK: Pages

  /// Checks the origin of a page, which browsers send. Pages of other origins must be on the list.
  func checkOrigin(_ head: Head) throws(Problem) {
    guard let origin = head.headers["Origin"], !isOwn(origin, head), !settings.origins.contains(origin) else { return }
    throw Problem(
      .forbidden,
      "the origin \(QuotedText.of(origin)) is not allowed (CORS): start the gateway with --origin \(origin) to allow it",
      field: "Origin", rule: "origin")
  }

  private func isOwn(_ origin: String, _ head: Head) -> Bool {
    guard let host = head.headers["Host"] else { return false }
    return origin == "\(head.isSecure ? "https" : "http")://\(host)"
  }

  /// Adds the CORS permissions for a page of another origin on the list.
  func addCORSPermissions(_ methods: String, to response: inout Response, for head: Head) {
    guard let origin = head.headers["Origin"], settings.origins.contains(origin) else { return }
    response.headers.append("Access-Control-Allow-Methods", methods)
    response.headers.append(
      "Access-Control-Allow-Headers",
      "Authorization, Content-Type, If-Match, If-None-Match, If-Range, Idempotency-Key, Last-Event-ID, Range, Upload-Offset, Upload-Complete, Content-Digest, Repr-Digest, Want-Repr-Digest"
    )
    response.headers.append("Access-Control-Max-Age", String(Self.preflightTime))
  }

  /// Adds the headers that every response has.
  func addCommonHeaders(to response: inout Response, for head: Head) {
    response.headers.append("X-Content-Type-Options", "nosniff")
    if response.headers["Cache-Control"] == nil { response.headers.append("Cache-Control", "no-store") }
    response.headers.append("Vary", "Origin, Accept, Accept-Encoding, Authorization, Cookie")
    if let origin = head.headers["Origin"], settings.origins.contains(origin) {
      response.headers.append("Access-Control-Allow-Origin", origin)
      response.headers.append(
        "Access-Control-Expose-Headers",
        "Allow, Content-Disposition, Content-Range, ETag, Link, Location, Repr-Digest, Retry-After, Upload-Complete, Upload-Offset"
      )
    }
  }

  // MARK: Clients

  func client(of head: Head, at route: Route) throws(Problem) -> ClientView? {
    if let entry = try bearer(of: head) { return entry.view }
    return try client(byCookieOf: head, at: route)
  }

  /// The cached entry of the token in the `Authorization` header.
  func bearer(of head: Head) throws(Problem) -> TokenCache.Entry? {
    guard let header = head.headers["Authorization"] else { return nil }
    guard let token = Self.bearer(header) else {
      throw .unauthorized("the Authorization header must be 'Bearer' and a token")
    }
    guard let entry = clients.tokenEntry(for: token) else {
      throw .unauthorized("this token is unknown, revoked or expired: pair again")
    }
    _ = try requirePrivate(entry.view, over: RequestConnection(head))
    return entry
  }

  /// The client of the cookie, which its browser sends by itself.
  func client(byCookieOf head: Head, at route: Route) throws(Problem) -> ClientView? {
    guard let token = cookie(of: head), let entry = clients.tokenEntry(for: token[...]) else { return nil }
    var view = try requirePrivate(entry.view, over: RequestConnection(head))
    view.usesCookie = true
    let isChange = head.method != .get && head.method != .head && head.method != .options
    // Everyone may do this, so it is done without a client: a page that has lost its CSRF token can still pair anew.
    if isChange, case .anyone = route.access { return nil }
    if isChange, head.headers[Self.csrfHeader] != clients.csrf(for: token) {
      throw Problem(
        .forbidden, "a change with a cookie needs the header \(Self.csrfHeader), with the 'csrf' token of the pairing",
        field: Self.csrfHeader, rule: "csrf")
    }
    return view
  }

  /// The token in an `Authorization` header.
  private static func bearer(_ header: String) -> Substring? {
    let scheme = "bearer ".utf8
    guard header.utf8.count > scheme.count, zip(header.utf8, scheme).allSatisfy({ $0 == $1 || $0 | 0x20 == $1 }) else {
      return nil
    }
    return header[header.utf8.index(header.startIndex, offsetBy: scheme.count)...]
  }

  /// Refuses a client with more than a member's role where others can read the connection.
  private func requirePrivate(_ client: ClientView, over connection: RequestConnection) throws(Problem) -> ClientView {
    if client.role > .member {
      try connection.requirePrivate("a token of the role '\(client.role.rawValue)' is accepted")
    }
    return client
  }

  /// The client of a WebSocket, whose browser sends the cookie and no header of ours: its Origin was checked.
  func client(token: String, over connection: RequestConnection) throws(Problem) -> ClientView? {
    guard let entry = clients.tokenEntry(for: token[...]) else { return nil }
    return try requirePrivate(entry.view, over: connection)
  }

  func cookie(of head: Head) -> String? {
    let name = cookieName(isSecure: head.isSecure)
    for header in head.headers.all("Cookie") {
      for pair in header.split(separator: ";") {
        let pair = pair.drop { $0 == " " }
        if pair.hasPrefix("\(name)=") { return String(pair.dropFirst(name.utf8.count + 1)) }
      }
    }
    return nil
  }

  /// The cookie's name. It has this gateway's id, since a browser sends its cookies to every port of a machine, where
  /// several may be. It differs with TLS and without, since a page without TLS must neither see nor replace the cookie
  /// of one with TLS. Browsers accept `__Host-` for the root path alone.
  private func cookieName(isSecure: Bool) -> String {
    isSecure ? (base.text.isEmpty ? "__Host-" : "__Secure-") + cookie : cookie
  }

  /// The header that stores a token in the browser.
  func setCookieHeader(_ token: String, over connection: RequestConnection) -> Problem.Field {
    cookie(token, seconds: 31_536_000, over: connection)
  }

  /// The header that removes the token from the browser.
  func clearCookieHeader(over connection: RequestConnection) -> Problem.Field {
    cookie("", seconds: 0, over: connection)
  }

  private func cookie(_ value: String, seconds: Int, over connection: RequestConnection) -> Problem.Field {
    let name = cookieName(isSecure: connection.isSecure)
    let path = base.text.isEmpty ? "/" : base.text
    let text = "\(name)=\(value); Path=\(path); HttpOnly; SameSite=Strict; Max-Age=\(seconds)"
    return .init(name: "Set-Cookie", value: connection.isSecure ? text + "; Secure" : text)
  }

  private func checkScope(_ call: Call, _ route: Route, _ client: ClientView) throws(Problem) {
    guard let scope = route.scope, !client.scopes.contains(scope) else { return }
    // Every client may see, and revoke, itself.
    if scope == .clients, call.captures.first.map(client.meant(by:)) == client.id { return }
    throw .lacking(Scopes([scope]), client)
  }

  func check(_ call: Call, _ route: Route) throws(Problem) {
    if let role = route.access.role(of: call) {
      guard let client = call.client else { throw .unauthorized() }
      guard client.role >= role else { throw .lacking(role, client) }
      try checkScope(call, route, client)
    }
    for item in call.query where !route.parameters.contains(item.name) {
      let known = route.parameters.isEmpty ? "none" : route.parameters.map { "'\($0)'" }.joined(separator: ", ")
      throw Problem(
        .invalidParameter, "unknown query parameter \(QuotedText.of(item.name)); known parameters: \(known)",
        field: item.name, rule: "known")
    }
  }
}
