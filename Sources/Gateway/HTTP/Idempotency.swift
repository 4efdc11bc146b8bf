internal import Notation
internal import Web

/// A cache of responses for retries by clients that missed them; it does not depend on the machine's clock.
///
/// Invariant: where there are too many responses, the oldest of the client with the most is evicted. So no client
/// evicts the responses of one that has less, and none are kept for an unknown client.
final class Idempotency {
  static let answersMax = 10_000
  /// Limit for all responses together: they may repeat the bytes of requests.
  static let bytesMax = 32 << 20
  static let keptFor: Duration = .seconds(24 * 3_600)
  static let keyBytesMax = 255

  private struct Entry {
    let request: String
    /// Nil while the first request is under way.
    var reply: Reply?
    let since: Instant
  }

  /// The requests of one client.
  private struct ClientCache {
    private(set) var entries: [String: Entry] = [:]
    private(set) var bytes = 0
    /// The keys, oldest first.
    private var order: ArraySlice<String> = []

    /// The oldest answered entry; a repeated request must find one that is still in progress, so that stays.
    private var oldestKey: String? { order.first { entries[$0]?.reply != nil } }
    var oldest: Entry? { oldestKey.flatMap { entries[$0] } }
    var hasAnswers: Bool { oldestKey != nil }

    mutating func begin(_ key: String, _ entry: Entry) {
      entries[key] = entry
      order.append(key)
    }

    mutating func answer(_ key: String, _ reply: Reply) {
      entries[key]?.reply = reply
      bytes += reply.bytesCount
    }

    mutating func drop(_ key: String) {
      guard let entry = entries.removeValue(forKey: key) else { return }
      bytes -= entry.reply?.bytesCount ?? 0
      // The key is mostly the first or one of the last.
      if order.first == key {
        order.removeFirst()
      } else if let index = order.lastIndex(of: key) {
        order.remove(at: index)
      }
    }

    mutating func dropOldest() {
      if let oldestKey { drop(oldestKey) }
    }
  }

  private var caches: [ClientID: ClientCache] = [:]

  private func key(_ call: Call) -> (client: ClientID, text: String)? {
    guard call.method == .post, let client = call.client?.id, let text = call.headers["Idempotency-Key"] else {
      return nil
    }
    return (client, text)
  }

  private func request(_ call: Call) -> String {
    let query = call.query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    return "\(call.target)?\(query) \(call.body.count) \(Fingerprint.of(call.body))"
  }

  /// The reply to the same request of before; else the one that the work gives, which is remembered.
  func run(_ call: Call, _ work: () throws -> Reply) throws -> Reply {
    if let reply = try recall(call) { return reply }
    let reply = try forgetOnError(call, work)
    remember(reply, to: call)
    return reply
  }

  /// The same for work that may only begin here: where it gives nil, the request is still under way.
  func begin(_ call: Call, _ work: () throws -> Reply?) throws -> Reply? {
    if let reply = try recall(call) { return reply }
    guard let reply = try forgetOnError(call, work) else { return nil }
    remember(reply, to: call)
    return reply
  }

  private func forgetOnError<Result>(_ call: Call, _ work: () throws -> Result) throws -> Result {
    do { return try work() } catch {
      forget(call)
      throw error
    }
  }

  /// The remembered reply to the same request; nil where it is new, and under way from now on.
  func recall(_ call: Call, at time: @autoclosure () -> Instant = Instant.now) throws(Problem) -> Reply? {
    guard let (client, key) = key(call) else { return nil }
    guard !key.isEmpty, key.utf8.count <= Self.keyBytesMax else {
      throw Problem(
        .invalidParameter, "an Idempotency-Key has 1 to \(Self.keyBytesMax) bytes", field: "Idempotency-Key",
        rule: "length", limit: Self.keyBytesMax)
    }
    let now = time()
    while let oldest = caches[client]?.oldest, oldest.since + Self.keptFor <= now { caches[client]?.dropOldest() }
    guard let entry = caches[client]?.entries[key] else {
      caches[client, default: ClientCache()].begin(key, Entry(request: request(call), reply: nil, since: now))
      trim()
      return nil
    }
    guard entry.request == request(call) else {
      throw Problem(
        .unsupported, "this Idempotency-Key was used for another request: each request needs its own",
        field: "Idempotency-Key", rule: "sameRequest")
    }
    guard let reply = entry.reply else {
      throw Problem(.conflict, "the first request with this Idempotency-Key is still in progress: retry in a moment")
    }
    return reply
  }

  func remember(_ reply: Reply, to call: Call) {
    guard let (client, key) = key(call), caches[client]?.entries[key] != nil else { return }
    // A retry of a refused request may succeed, so it runs anew.
    if reply.status >= 400 { return forget(call) }
    caches[client]?.answer(key, reply)
    trim()
  }

  func forget(_ call: Call) {
    if let (client, key) = key(call) { caches[client]?.drop(key) }
  }

  /// Forgets the requests and responses of a client that is gone.
  func forget(_ client: ClientID) { caches[client] = nil }

  private func trim() {
    trim(to: Self.answersMax) { $0.entries.count }
    trim(to: Self.bytesMax) { $0.bytes }
  }

  private func trim(to most: Int, _ size: (ClientCache) -> Int) {
    var total = caches.values.reduce(0) { $0 + size($1) }
    while total > most,
      let (client, cache) = caches.filter(\.value.hasAnswers).max(by: { size($0.value) < size($1.value) })
    {
      caches[client]?.dropOldest()
      total += (caches[client].map(size) ?? 0) - size(cache)
    }
  }
}
