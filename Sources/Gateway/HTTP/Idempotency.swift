internal import Engine
internal import Notation
internal import Web

/// Answers that are kept for those who ask again because they did not hear them, however the machine's clock is set.
struct Idempotency {
  static let answersMax = 10_000
  /// Of all answers together: they may repeat what was sent.
  static let bytesMax = 32 << 20
  private static let keptFor: Duration = .seconds(24 * 3_600)
  private static let keyBytesMax = 255

  private struct Key: Hashable {
    let client: ClientID?
    let text: String
  }

  private struct Entry {
    let request: String
    /// Nil while the first one is under way.
    var reply: Reply?
    let since: Instant
  }

  private var entries: [Key: Entry] = [:]
  private var order: ArraySlice<Key> = []
  private var bytes = 0

  private func key(_ call: Call) -> Key? {
    guard call.method == .post, let text = call.headers["Idempotency-Key"] else { return nil }
    return Key(client: call.client?.id, text: text)
  }

  private func request(_ call: Call) -> String {
    let query = call.query.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    return "\(call.target)?\(query) \(call.body.count) \(Fingerprint.of(call.body))"
  }

  mutating func recall(_ call: Call, at time: @autoclosure () -> Instant) throws(Problem) -> Reply? {
    guard let key = key(call) else { return nil }
    let now = time()
    guard !key.text.isEmpty, key.text.utf8.count <= Self.keyBytesMax else {
      throw Problem(
        .invalidParameter, "an Idempotency-Key has 1 to \(Self.keyBytesMax) bytes", field: "Idempotency-Key",
        rule: "length", limit: Self.keyBytesMax)
    }
    guard let entry = entries[key] else {
      entries[key] = Entry(request: request(call), reply: nil, since: now)
      order.append(key)
      trim(now)
      return nil
    }
    guard entry.request == request(call) else {
      throw Problem(
        .unsupported, "this Idempotency-Key was used for another request: each request has its own",
        field: "Idempotency-Key", rule: "sameRequest")
    }
    guard let reply = entry.reply else {
      throw Problem(.conflict, "the first request with this Idempotency-Key is still under way: ask again in a moment")
    }
    return reply
  }

  mutating func remember(_ reply: Reply, to call: Call, at now: @autoclosure () -> Instant) {
    guard let key = key(call), entries[key] != nil else { return }
    // What was refused may turn out otherwise: it is tried anew.
    if reply.status >= 400 { return forget(call) }
    entries[key]?.reply = reply
    bytes += reply.bytesCount
    trim(now())
  }

  mutating func forget(_ call: Call) {
    if let key = key(call) { drop(key) }
  }

  /// What a client has asked and was answered, once it is gone.
  mutating func forget(_ client: ClientID) {
    for key in entries.keys where key.client == client { drop(key) }
  }

  private mutating func drop(_ key: Key) { bytes -= entries.removeValue(forKey: key)?.reply?.bytesCount ?? 0 }

  private mutating func trim(_ now: Instant) {
    while let oldest = order.first {
      let isFull = order.count > Self.answersMax || bytes > Self.bytesMax
      if let entry = entries[oldest], !isFull, entry.since + Self.keptFor > now { return }
      drop(oldest)
      order.removeFirst()
    }
  }
}
