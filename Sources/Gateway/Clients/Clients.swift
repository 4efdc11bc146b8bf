internal import Media
internal import Notation
internal import Store

/// The clients that hold a token, and the pairing by which one gets it.
///
/// Tokens are kept as digests only: a reader of the store cannot act as any client. Times that end with this process,
/// as those of codes, are measured by a monotonic clock; those that outlive it, by the machine's clock.
final class Clients {
  struct Limits: Sendable {
    var clientsMax = 10_000
    var codesMax = 64
    var codeTime: Duration
    var guesses = PairingRateLimit.Limits()
    /// Whether codes of every role are spent over private connections only.
    var needsPrivateConnection = false
    /// Limit for the cache of tokens that were compared with their digests.
    var cachedTokensMax = 1_024
    /// The lifetime of a token that was given over a connection that others can read.
    var openTokenTime: Duration = .seconds(12 * 3_600)

    init(_ limits: GatewayLimits = GatewayLimits(), codeTime: Duration = .seconds(600)) {
      clientsMax = limits.clients
      self.codeTime = codeTime
    }
  }

  struct Client {
    let id: ClientID
    let number: Int
    var name: String
    let role: Role
    let scopes: Scopes
    let createdAt: Timestamp
    /// Nil for a token that is valid until it is revoked.
    let expiresAt: Timestamp?
    fileprivate let digest: Digest
    fileprivate let account = ClientAccount()

    var stored: StoredClient {
      StoredClient(
        id: id.text, name: name, role: role.rawValue, digest: digest.bytes, created: createdAt.milliseconds,
        expires: expiresAt?.milliseconds, scopes: scopes.stored)
    }

    var view: ClientView { ClientView(id: id, number: number, name: name, role: role, scopes: scopes) }
  }

  struct Code {
    let id: String
    let text: String
    let role: Role
    let scopes: Scopes
    /// Nil for a code that was made on the machine itself.
    let maker: ClientID?
    /// The purpose of the code, in the words of its maker.
    let label: String?
    /// How many clients may still be paired by it.
    fileprivate(set) var usesLeft: Int
    /// Whether it is for several clients, whose tokens end when it ends.
    let isShared: Bool
    /// The end as people see it; setting the machine's clock does not change the time that is left.
    let expiresAt: Timestamp
    fileprivate let end: Instant
  }

  let limits: Limits
  private let crypto = OpenSSLCrypto(keys: [])
  private let clock: () -> Timestamp
  private let steadyClock: () -> Instant
  private(set) var clients: [ClientID: Client] = [:]
  /// How many there were since the gateway was started.
  private var clientCount = 0
  private var byDigest: [Digest: ClientID] = [:]
  private var tokenCache = TokenCache()
  private var codes: [String: Code] = [:]
  private var guesses: PairingRateLimit

  init(
    _ limits: Limits = Limits(), clock: @escaping () -> Timestamp, steadyClock: @escaping () -> Instant
  ) {
    self.limits = limits
    guesses = PairingRateLimit(limits.guesses)
    self.clock = clock
    self.steadyClock = steadyClock
  }

  private func nextNumber() -> Int {
    defer { clientCount += 1 }
    return clientCount
  }

  // MARK: Tokens

  /// Restores the clients of earlier runs.
  func restore(_ stored: [StoredClient]) {
    for client in stored {
      guard let role = Role(rawValue: client.role), let digest = try? Digest(bytes: client.digest) else { continue }
      let created = Timestamp(milliseconds: client.created)
      let id = ClientID(text: client.id)
      clients[id] = Client(
        id: id, number: nextNumber(), name: client.name, role: role, scopes: Scopes(stored: client.scopes),
        createdAt: created,
        expiresAt: client.expires.map(Timestamp.init(milliseconds:)), digest: digest)
      byDigest[digest] = id
    }
  }

  func tokenEntry(for token: Substring) -> TokenCache.Entry? {
    guard let entry = tokenCache[token] ?? verify(token), revalidate(entry) else { return nil }
    return entry
  }

  /// Whether its token is still valid; if it is, its client is active now.
  func revalidate(_ entry: TokenCache.Entry) -> Bool {
    if entry.isForgotten || entry.expiresAt.map({ $0 <= clock() }) ?? false { return false }
    markActive(entry.view.id, entry.account)
    return true
  }

  /// Called with an absent client once it is active again.
  var onReturn: (ClientID) -> Void = { _ in }

  /// Marks a client as active whose account is at hand.
  func markActive(_ id: ClientID, _ account: ClientAccount) {
    account.lastSeen = steadyClock()
    guard account.isAway else { return }
    account.isAway = false
    onReturn(id)
  }

  /// Marks the client as away, until it is active again.
  func markAway(_ id: ClientID) { clients[id]?.account.isAway = true }

  func account(of id: ClientID) -> ClientAccount? { clients[id]?.account }

  func lastActivity(of id: ClientID) -> Instant? { clients[id]?.account.lastSeen }

  /// Marks the client as active, as by a WebSocket that it holds.
  func markActive(_ id: ClientID) { if let account = clients[id]?.account { markActive(id, account) } }

  /// Nil for a client that was not active since the gateway was started.
  func lastSeen(_ id: ClientID) -> Timestamp? {
    guard let seen = clients[id]?.account.lastSeen else { return nil }
    return clock() + (seen - steadyClock())
  }

  /// Whether it holds a valid token.
  func hasValidToken(_ id: ClientID) -> Bool {
    guard let client = clients[id] else { return false }
    return client.expiresAt.map { $0 > clock() } ?? true
  }

  private func verify(_ token: Substring) -> TokenCache.Entry? {
    guard let id = byDigest[digest(String(token))], let client = clients[id] else { return nil }
    let entry = TokenCache.Entry(client.view, until: client.expiresAt, client.account)
    if tokenCache.count >= limits.cachedTokensMax { tokenCache.forgetAll() }
    tokenCache[token] = entry
    return entry
  }

  /// The CSRF token that a page must send beside the cookie; only a page of this gateway can know it.
  func csrf(for token: String) -> String {
    Base64.safeText(Array(crypto.hash(Array("vicinity csrf v1\0\(token)".utf8)).bytes.prefix(16)))
  }

  func add(
    name: String, role: Role, _ scopes: Scopes = .all, lasting time: Duration?
  ) throws(Problem) -> (client: Client, token: String) {
    guard clients.count < limits.clientsMax else {
      throw Problem(
        .tooMany, "\(clients.count) clients hold tokens, and no more may: revoke some (DELETE /v1/clients/…)",
        rule: "clients", limit: limits.clientsMax)
    }
    let token = Secrets.token()
    let now = clock()
    let client = Client(
      id: ClientID(text: Secrets.id()), number: nextNumber(), name: name, role: role, scopes: scopes, createdAt: now,
      expiresAt: time.map { now + $0 }, digest: digest(token))
    clients[client.id] = client
    byDigest[client.digest] = client.id
    return (client, token)
  }

  @discardableResult
  func revoke(_ id: ClientID) -> Client? {
    guard let client = clients.removeValue(forKey: id) else { return nil }
    tokenCache.forgetAll()
    byDigest[client.digest] = nil
    return client
  }

  private func digest(_ token: String) -> Digest { crypto.hash(Array("vicinity token v1\0\(token)".utf8)) }

  // MARK: Pairing

  /// The default lifetime of a code.
  var codeTime: Duration { limits.codeTime }

  var openCodes: [Code] {
    dropOldCodes()
    return Array(codes.values)
  }

  func makeCode(
    _ role: Role, _ scopes: Scopes = .all, lasting time: Duration?, uses: Int = 1, label: String? = nil,
    for maker: ClientID?
  ) throws(Problem) -> Code {
    dropOldCodes()
    guard codes.count < limits.codesMax else {
      let end = codes.values.map(\.end).min() ?? steadyClock()
      throw Problem.rateLimited(
        "\(codes.count) pairing codes are open: use them, revoke some, or wait until they expire",
        after: Int((end - steadyClock()).components.seconds) + 1, rule: "codes", limit: limits.codesMax)
    }
    let left = time ?? limits.codeTime
    let code = Code(
      id: Secrets.id(), text: Secrets.pairingCode(), role: role, scopes: scopes, maker: maker, label: label,
      usesLeft: uses, isShared: uses > 1, expiresAt: clock() + left, end: steadyClock() + left)
    codes[code.text] = code
    return code
  }

  func revokeCode(_ id: String) -> Bool {
    guard let code = codes.values.first(where: { $0.id == id }) else { return false }
    codes[code.text] = nil
    return true
  }

  /// Spends a code for a token, which is valid once its client is stored.
  func pair(
    _ typed: String, name: String, over connection: RequestConnection
  ) throws(Problem) -> (client: Client, token: String, code: Code) {
    dropOldCodes()
    let now = steadyClock()
    if let refusal = guesses.refusal(of: connection.source, at: now) {
      let seconds = Int(refusal.time.components.seconds) + 1
      throw Problem.rateLimited(
        "too many wrong pairing codes came from here in the last minute: wait \(seconds) s, or pair on the machine itself",
        after: seconds, rule: "guesses", limit: refusal.limit)
    }
    guard let code = codes[Secrets.normalized(code: typed)] else {
      guesses.spend(connection.source, at: now)
      throw Problem(
        .forbidden,
        "this pairing code is not valid: codes are for one use and expire soon; 'vicinity pair' shows a new one",
        field: "code", rule: "pairingCode")
    }
    if code.role > .member || limits.needsPrivateConnection, !connection.isPrivate {
      // An eavesdropper could spend it first.
      codes[code.text] = nil
      throw Problem(
        .forbidden,
        "a code for the role '\(code.role.rawValue)' can be used only over HTTPS or on the machine itself: it could be "
          + "intercepted here, so it is void now; create a new one ('vicinity pair') and use \(connection.secureURL)",
        field: "code", rule: "privateConnection")
    }
    let times = [code.isShared ? code.end - now : nil, connection.isPrivate ? nil : limits.openTokenTime]
    let (client, token) = try add(name: name, role: code.role, code.scopes, lasting: times.compactMap(\.self).min())
    spend(code)
    return (client, token, code)
  }

  private func spend(_ code: Code) {
    codes[code.text]?.usesLeft -= 1
    if codes[code.text]?.usesLeft == 0 { codes[code.text] = nil }
  }

  private func dropOldCodes() {
    let now = steadyClock()
    codes = codes.filter { $0.value.end > now }
  }
}
