internal import Engine
internal import Glibc
internal import Media
internal import Reactor
internal import Wire

/// Security identities, the anchors for those of others, and known peers.
extension Host {
  // MARK: Identities

  /// Imports a private key and its certificates from a PKCS#12 file (`.p12`, `.pfx`), and keeps them with the host's
  /// keys.
  @discardableResult
  public func importIdentity(from path: String, password: String) async throws(NearbyError) -> Identity {
    try await importIdentity(password: password) { try SmallFile.read(path) }
  }

  /// From the bytes of such a file.
  @discardableResult
  public func importIdentity(_ file: [UInt8], password: String) async throws(NearbyError) -> Identity {
    try await importIdentity(password: password) { file }
  }

  private func importIdentity(
    password: String, from file: @escaping @Sendable () throws -> [UInt8]
  ) async throws(NearbyError) -> Identity {
    try await keeping { [keys] in
      let held = try IdentityFile.identity(from: try file(), password: password)
      try keys.addIdentity(held)
      return Identity(held)
    }
  }

  public var identities: [Identity] { keys.identities.map(Identity.init) }

  public func remove(_ identity: Identity) async throws(NearbyError) {
    try await keeping { [keys] in try keys.removeIdentity(identity.held.id) }
  }

  // MARK: Anchors

  /// Trusts the certificates of a file (PEM or DER), and those that they vouch for.
  @discardableResult
  public func addAnchors(from path: String) async throws(NearbyError) -> [CertificateSummary] {
    try await addAnchors { try SmallFile.read(path) }
  }

  /// From the bytes of such a file.
  @discardableResult
  public func addAnchors(_ file: [UInt8]) async throws(NearbyError) -> [CertificateSummary] {
    try await addAnchors { file }
  }

  private func addAnchors(
    from file: @escaping @Sendable () throws -> [UInt8]
  ) async throws(NearbyError) -> [CertificateSummary] {
    try await keeping { [keys] in
      let certificates = try Certificate.all(in: try file())
      for certificate in certificates { try keys.addAnchor(certificate) }
      return certificates.map(\.summary)
    }
  }

  /// Withdraws the trust.
  public func removeAnchor(_ anchor: CertificateSummary) async throws(NearbyError) {
    try await keeping { [keys] in
      for certificate in keys.anchors where certificate.summary == anchor { try keys.removeAnchor(certificate) }
    }
  }

  public var anchors: [CertificateSummary] { keys.anchors.map(\.summary) }

  /// Validates a chain as it was shown, leaf first, by the anchors of this host and its clock.
  public func evaluate(_ chain: [[UInt8]]) -> TrustVerdict {
    CertificateChain.evaluate(chain, anchors: keys.anchors, at: time(nil))
  }

  // MARK: Known peers

  /// Peers with verified keys. Nobody can take their place.
  public var knownPeers: [KnownPeer] { keys.knownPeers.filter { $0.confirmation != .firstUse } }

  public func knownPeer(_ id: PeerID) -> KnownPeer? {
    keys.knownPeer(id).flatMap { $0.confirmation == .firstUse ? nil : $0 }
  }

  /// Peers that were the first by their names, without verification.
  public var firstUsedPeers: [KnownPeer] { keys.knownPeers.filter { $0.confirmation == .firstUse } }

  /// Whether a peer is the one that is known by its name. The first one by a name is, from then on (trust on first
  /// use).
  public func useFirst(_ id: PeerID, as name: String) async throws(NearbyError) -> Bool {
    // Changes are serialised, so that of two at once one is the first.
    try await keeping { [keys] in try keys.useFirst(id, as: DisplayName(name)) }
  }

  /// Remembers a peer as verified, under a name of one's own.
  public func trust(
    _ id: PeerID, as name: String, confirmation: KnownPeer.Confirmation = .byHand
  ) async throws(NearbyError) {
    try Peer.check(name: name)
    try await keeping { [keys] in
      try keys.remember(KnownPeer(id: id, name: try DisplayName(name), confirmation: confirmation))
    }
  }

  public func forget(_ id: PeerID) async throws(NearbyError) {
    try await keeping { [keys] in try keys.forget(id) }
  }

  /// Runs on the disk's thread, so that the caller's does not wait.
  private func keeping<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
  ) async throws(NearbyError) -> Result {
    let disk = try await loop.run { $0.disk }
    do {
      return try await disk.attempt(body).get()
    } catch {
      throw NearbyError(wrapping: error)
    }
  }
}

/// A security identity that this host holds: a private key and its chain of certificates.
///
/// ```swift
/// var options = SessionOptions()
/// options.identity = try await host.importIdentity(from: "ada.p12", password: password)
/// let session = try await ada.openSession(options)
/// ```
public struct Identity: Sendable, Hashable {
  let held: HeldIdentity

  init(_ held: HeldIdentity) {
    self.held = held
  }

  /// The leaf first.
  public var certificates: [CertificateSummary] { held.chain.map(\.summary) }

  public static func == (a: Identity, b: Identity) -> Bool { a.held.id == b.held.id }
  public func hash(into hasher: inout Hasher) { hasher.combine(held.id) }
}

/// A file of keys or certificates, which is read whole.
enum SmallFile {
  private static let bytesMax = 2 << 20

  static func read(_ path: String) throws -> [UInt8] {
    do {
      let file = try SourceFile(path)
      guard file.size <= bytesMax else {
        throw NearbyError(
          .invalidParameter,
          "\(path) has \(file.size) bytes, and no file of keys or certificates has more than \(bytesMax): give another one."
        )
      }
      return try file.read(Int(file.size), from: 0)
    } catch let error as SystemError {
      throw NearbyError(.invalidParameter, sentence(path, error))
    }
  }

  private static func sentence(_ path: String, _ error: SystemError) -> String {
    switch error.code {
    case ENOENT, ENOTDIR: "There is no file \(path): look whether its name is right, and the folder it is said from."
    case EACCES: "This user may not read \(path): copy it to where it may be read, or change its permissions (chmod)."
    default: "\(path) cannot be read: \(error); give a copy of it that can."
    }
  }
}
