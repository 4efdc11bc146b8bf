public import Engine
internal import Glibc
public import Media
internal import Reactor
internal import Synchronization
public import Wire

/// The keys of a host and its peers, and its knowledge of others, kept over restarts.
///
/// A change is on the disk when its call returns, and if it throws nothing has changed. So a change takes the disk's
/// time and does not belong on a loop; reading never waits for that. Opening existing keys needs no disk space: a host
/// starts with a full disk, too. While a store is open its folder is this process's alone.
///
/// ```swift
/// let store = try KeyStore(.standard)
/// for peer in store.knownPeers where peer.confirmation == .firstUse { try store.forget(peer.id) }
/// try store.export(to: "moving.keys")
/// ```
public final class KeyStore: Sendable {
  /// Nil for one that keeps nothing.
  private let folder: KeyFolder?
  private let keys: Mutex<StoredKeys>
  /// Held while the disk is written to.
  private let change = Mutex(())

  public let hostKey: SigningKey
  /// The incarnation of this start alone: it was stored before its first use.
  public let incarnation: Incarnation

  /// Opens the store, and creates it where there is none yet.
  public convenience init(_ storage: KeyStorage) throws(KeyStoreError) {
    try self.init(storage, secondsSince1970: UInt64(max(time(nil), 0)))
  }

  init(_ storage: KeyStorage, secondsSince1970 now: UInt64) throws(KeyStoreError) {
    folder = try storage.path().map { (path) throws(KeyStoreError) in try KeyFolder(path) }
    let stored = try folder?.read()
    var keys = stored ?? StoredKeys()
    keys.beginIncarnation(secondsSince1970: now)
    try folder?.begin(keys, isNew: stored == nil)
    hostKey = keys.hostKey
    incarnation = keys.incarnation
    self.keys = Mutex(keys)
  }

  /// How many of each it takes.
  package static let identitiesMax = StoredKeys.identitiesMax
  package static let anchorsMax = StoredKeys.anchorsMax
  package static let knownPeersMax = StoredKeys.knownMax

  /// The store's path; nil for one that keeps nothing.
  public var path: String? { folder?.path }

  private func change<Result: Sendable>(
    _ body: (inout StoredKeys) throws(KeyStoreError) -> Result
  ) throws(KeyStoreError) -> Result {
    try change.withLock { (_) throws(KeyStoreError) in
      var changed = keys.withLock { $0 }
      let result = try body(&changed)
      try folder?.write(changed)
      keys.withLock { $0 = changed }
      return result
    }
  }
}

// MARK: - Peers of this host

extension KeyStore {
  /// The key of the peer with this name: the same name is the same peer, created on first use.
  public func peerKey(named name: DisplayName) throws(KeyStoreError) -> SigningKey {
    if let key = keys.withLock({ $0.peers[name] }) { return key }
    return try change { (keys) throws(KeyStoreError) in
      if let key = keys.peers[name] { return key }
      if keys.peers.count == StoredKeys.peersMax { throw .full(what: "peers", countMax: StoredKeys.peersMax) }
      let key = SigningKey()
      keys.peers[name] = key
      return key
    }
  }

  public var peerNames: [DisplayName] {
    keys.withLock { Array($0.peers.keys) }.sorted { $0.text.utf8.lexicographicallyPrecedes($1.text.utf8) }
  }

  /// A later user of the name is another peer.
  public func forgetPeer(named name: DisplayName) throws(KeyStoreError) {
    guard keys.withLock({ $0.peers[name] != nil }) else { return }
    try change { $0.peers[name] = nil }
  }
}

// MARK: - Known peers

extension KeyStore {
  public func knownPeer(_ id: PeerID) -> KnownPeer? { keys.withLock { $0.known[id] } }

  public var knownPeers: [KnownPeer] { keys.withLock { Array($0.known.values) }.sorted { $0.id < $1.id } }

  /// Replaces an earlier entry of the same peer.
  public func remember(_ peer: KnownPeer) throws(KeyStoreError) {
    if knownPeer(peer.id) == peer { return }
    try change { (keys) throws(KeyStoreError) in
      if keys.known[peer.id] == nil, keys.known.count == StoredKeys.knownMax {
        throw .full(what: "known peers", countMax: StoredKeys.knownMax)
      }
      keys.known[peer.id] = peer
    }
  }

  /// Trust on first use: whether a peer may have its name. The first peer with it is remembered, and one with another
  /// key later is not that peer.
  public func useFirst(_ id: PeerID, as name: DisplayName) throws(KeyStoreError) -> Bool {
    let known = keys.withLock { $0.known }
    if known[id]?.name == name { return true }
    if known.values.contains(where: { $0.name == name }) { return false }
    if known[id] != nil { return true }
    // The rest is for peers that somebody confirms.
    if known.values.count(where: { $0.confirmation == .firstUse }) >= StoredKeys.knownMax / 2 {
      throw .full(what: "peers that were met once", countMax: StoredKeys.knownMax / 2)
    }
    try remember(KnownPeer(id: id, name: name, confirmation: .firstUse))
    return true
  }

  public func forget(_ id: PeerID) throws(KeyStoreError) {
    guard knownPeer(id) != nil else { return }
    try change { $0.known[id] = nil }
  }
}

// MARK: - Certificates

extension KeyStore {
  /// Trusted certificates, in the order in which they were added.
  public var anchors: [Certificate] { keys.withLock { $0.anchors } }

  public func addAnchor(_ anchor: Certificate) throws(KeyStoreError) {
    if anchors.contains(anchor) { return }
    try change { (keys) throws(KeyStoreError) in
      if keys.anchors.count == StoredKeys.anchorsMax { throw .full(what: "anchors", countMax: StoredKeys.anchorsMax) }
      keys.anchors.append(anchor)
    }
  }

  public func removeAnchor(_ anchor: Certificate) throws(KeyStoreError) {
    guard anchors.contains(anchor) else { return }
    try change { $0.anchors.removeAll { $0 == anchor } }
  }

  public var identities: [HeldIdentity] { keys.withLock { $0.identities } }

  /// Replaces one with the same leaf.
  public func addIdentity(_ identity: HeldIdentity) throws(KeyStoreError) {
    try change { (keys) throws(KeyStoreError) in
      keys.identities.removeAll { $0.id == identity.id }
      if keys.identities.count == StoredKeys.identitiesMax {
        throw .full(what: "security identities", countMax: StoredKeys.identitiesMax)
      }
      keys.identities.append(identity)
    }
  }

  public func removeIdentity(_ id: IdentityID) throws(KeyStoreError) {
    guard identities.contains(where: { $0.id == id }) else { return }
    try change { $0.identities.removeAll { $0.id == id } }
  }
}

// MARK: - Moving to another box

extension KeyStore {
  /// Writes all of it into a new file, which is as secret as the store. The host then lives on one of the two machines
  /// alone: where both run, they are in conflict.
  public func export(to path: String) throws(KeyStoreError) {
    let folder = try openFolder(parent(of: path))
    try KeyFile(lastPart(of: path), in: folder, at: parent(of: path)).create(keys.withLock { $0 })
  }

  /// Takes an exported file as the keys of a folder that has none.
  public static func `import`(from path: String, into storage: KeyStorage) throws(KeyStoreError) {
    guard let target = try storage.path() else { throw .nothingIsKept }
    let folder = try openFolder(parent(of: path))
    guard let keys = try KeyFile(lastPart(of: path), in: folder, at: parent(of: path)).read() else {
      throw .missing(path: path)
    }
    let store = try KeyFolder(target)
    try store.refuseToReplace()
    try store.write(keys)
  }
}

private func lastPart(of path: String) -> String { String(path.split(separator: "/").last ?? "") }
