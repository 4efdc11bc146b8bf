internal import Notation

/// A cache of tokens that were compared with their digests, so that this is done once for many requests.
///
/// Invariants: the cache is emptied where a client is removed, and an entry that was kept elsewhere then says that it
/// is forgotten. A token is looked up by a hash under a key of this process, and compared in constant time.
struct TokenCache {
  final class Entry {
    let view: ClientView
    let expiresAt: Timestamp?
    let account: ClientAccount
    /// Whether the token must be compared with its digest anew.
    fileprivate(set) var isForgotten = false

    init(_ view: ClientView, until expiresAt: Timestamp?, _ account: ClientAccount = ClientAccount()) {
      self.view = view
      self.account = account
      self.expiresAt = expiresAt
    }
  }

  private var entries: [Int: (token: [UInt8], entry: Entry)] = [:]

  var count: Int { entries.count }

  mutating func forgetAll() {
    for (_, entry) in entries.values { entry.isForgotten = true }
    entries = [:]
  }

  subscript(token: Substring) -> Entry? {
    get {
      guard let known = entries[Self.hash(token)], Self.isSame(known.token, token) else { return nil }
      return known.entry
    }
    set { entries[Self.hash(token)] = newValue.map { (Array(token.utf8), $0) } }
  }

  /// `Hasher` takes its key from the system's randomness when the process starts.
  private static func hash(_ token: Substring) -> Int {
    var hasher = Hasher()
    var token = token
    token.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    return hasher.finalize()
  }

  private static func isSame(_ known: [UInt8], _ token: Substring) -> Bool {
    var token = token
    return token.withUTF8 { token in
      if token.count != known.count { return false }
      var difference: UInt8 = 0
      for place in token.indices { difference |= known[place] ^ token[place] }
      return difference == 0
    }
  }
}
