package import Media
package import Reactor
package import Wire

/// For a program of this package that carries peers of others.
extension Host {
  package var reactor: Reactor { loop.reactor }

  /// The loop of the thread that may wait for the disk, for tests that choose the order of threads.
  package var diskReactor: Reactor {
    get async throws { try await loop.run { $0.disk.reactor } }
  }

  /// The host's network, for code on its loop.
  package var network: HostNetwork? { loop.driverHere?.network }
  /// The links at this moment, on the loop.
  package var linksHere: [HostLink] { loop.driverHere?.links ?? [] }
  /// The links of others that go through this host at this moment, and the bytes that it has passed on.
  package var relayedHere: (links: Int, bytes: UInt64) { loop.driverHere?.relayed ?? (0, 0) }

  /// A peer with a key that is kept elsewhere, or nowhere.
  package func carry(_ key: SigningKey, named text: String) async throws(NearbyError) -> Peer {
    let name: DisplayName
    do {
      name = try DisplayName(text)
    } catch {
      throw NearbyError(wrapping: error)
    }
    let id = try await loop.run { $0.addPeer(key, named: name) }
    return Peer(id: id, name: text, loop)
  }
}

extension Host {
  /// Runs the body on the thread that may wait for the disk.
  package func onDisk<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    let disk = try await loop.run { $0.disk }
    return try await disk.attempt(body).get()
  }
}

extension Peer {
  private static let crypto = OpenSSLCrypto()

  /// The ID of the peer that has this key.
  package static func id(of key: SigningKey) -> PeerID {
    PeerID(digest: crypto.hash(PeerID.preimage(of: key.publicKey)))
  }

  /// Removes the peer, which leaves all its sessions.
  package func remove() async {
    try? await loop.run { [id] in $0.removePeer(id) }
  }
}
