internal import Media
internal import Wire

/// The contents of a key store, as a value.
struct StoredKeys: Sendable {
  // With each at its limit and names at their longest, the file stays under `KeyText.bytesMax`.
  /// A host that carries more people than this has a store of its own for them.
  static let peersMax = 4_096
  /// More people than anybody meets and confirms one by one.
  static let knownMax = 16_384
  /// A system trusts about 150 authorities.
  static let anchorsMax = 256
  /// One for each role of a person, and some that have expired.
  static let identitiesMax = 64

  var hostKey: SigningKey
  /// The last one that was used.
  var incarnation: Incarnation
  var peers: [DisplayName: SigningKey] = [:]
  var known: [PeerID: KnownPeer] = [:]
  var anchors: [Certificate] = []
  var identities: [HeldIdentity] = []

  init(hostKey: SigningKey = SigningKey(), incarnation: Incarnation = Incarnation(0)) {
    self.hostKey = hostKey
    self.incarnation = incarnation
  }

  /// Above every used one of this machine or, where the keys were restored from an old copy, after it: a clock that was
  /// right once has advanced meanwhile.
  mutating func beginIncarnation(secondsSince1970 now: UInt64) {
    incarnation = max(Incarnation(incarnation.rawValue + 1), Incarnation(now))
  }
}
