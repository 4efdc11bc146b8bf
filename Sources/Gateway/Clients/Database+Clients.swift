internal import Media
internal import Nearby
internal import Store

extension Migration {
  static let clients = Migration(
    "clients",
    """
    CREATE TABLE client (
      id TEXT NOT NULL PRIMARY KEY,
      name TEXT NOT NULL,
      role TEXT NOT NULL,
      digest BLOB NOT NULL UNIQUE,
      created INTEGER NOT NULL,
      expires INTEGER
    ) STRICT;
    CREATE TABLE peer (
      id TEXT NOT NULL PRIMARY KEY,
      name TEXT NOT NULL,
      seed BLOB NOT NULL,
      client TEXT NOT NULL REFERENCES client (id) ON DELETE CASCADE,
      created INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX peer_client ON peer (client);
    """)

  static let scopes = Migration("scopes", "ALTER TABLE client ADD COLUMN scopes TEXT")
  /// Public keys take long to derive from the seeds of many peers.
  static let peerKeys = Migration("peer keys", "ALTER TABLE peer ADD COLUMN public_key BLOB")
}

/// A client that holds a token of a gateway. The token itself is stored only as a digest.
struct StoredClient: Hashable, Sendable {
  var id: String
  var name: String
  var role: String
  var digest: [UInt8]
  /// Milliseconds since 1970, as all times here.
  var created: Int64
  var expires: Int64?
  /// Its scopes, by name; nil for all.
  var scopes: String?

  init(
    id: String, name: String, role: String, digest: [UInt8], created: Int64, expires: Int64?, scopes: String? = nil
  ) {
    self.id = id
    self.name = name
    self.role = role
    self.digest = digest
    self.created = created
    self.expires = expires
    self.scopes = scopes
  }
}

/// A peer that a gateway carries for a client, with its key.
struct StoredPeer: Hashable, Sendable {
  var id: String
  var name: String
  var seed: [UInt8]
  var client: String
  var created: Int64
  /// Nil where it was stored by an earlier release, and not learned yet.
  var publicKey: [UInt8]?

  init(id: String, name: String, seed: [UInt8], client: String, created: Int64, publicKey: [UInt8]? = nil) {
    self.id = id
    self.name = name
    self.seed = seed
    self.client = client
    self.created = created
    self.publicKey = publicKey
  }

  /// Its key; nil where the seed is damaged. A public key that is not the one of the peer's ID is not believed.
  var key: SigningKey? {
    if let publicKey, let key = SigningKey(seed: seed, publicKey: publicKey), Peer.id(of: key).text == id { return key }
    return SigningKey(seed: seed)
  }
}

extension Database {
  func clients() throws -> [StoredClient] {
    var clients: [StoredClient] = []
    try each("SELECT id, name, role, digest, created, expires, scopes FROM client ORDER BY created, id") { row in
      clients.append(
        StoredClient(
          id: row.text(0), name: row.text(1), role: row.text(2), digest: row.bytes(3), created: Int64(row.integer(4)),
          expires: row.isNull(5) ? nil : Int64(row.integer(5)), scopes: row.isNull(6) ? nil : row.text(6)))
    }
    return clients
  }

  func add(_ client: StoredClient) throws(StoreError) {
    try run(
      "INSERT INTO client (id, name, role, digest, created, expires, scopes) VALUES (?, ?, ?, ?, ?, ?, ?)", client.id,
      client.name, client.role, client.digest, client.created, client.expires, client.scopes)
  }

  /// Its peers are removed with it, and their sessions have ended: `removeEndedSessions` removes their rows.
  func removeClient(_ id: String) throws(StoreError) {
    try run("UPDATE session SET is_ended = 1 WHERE peer IN (SELECT id FROM peer WHERE client = ?)", id)
    try run("DELETE FROM client WHERE id = ?", id)
  }

  func peers() throws -> [StoredPeer] {
    var peers: [StoredPeer] = []
    try each("SELECT id, name, seed, client, created, public_key FROM peer ORDER BY created, id") { row in
      peers.append(
        StoredPeer(
          id: row.text(0), name: row.text(1), seed: row.bytes(2), client: row.text(3), created: Int64(row.integer(4)),
          publicKey: row.isNull(5) ? nil : row.bytes(5)))
    }
    return peers
  }

  func add(_ peer: StoredPeer) throws(StoreError) {
    try run(
      "INSERT INTO peer (id, name, seed, client, created, public_key) VALUES (?, ?, ?, ?, ?, ?)", peer.id, peer.name,
      peer.seed, peer.client, peer.created, peer.publicKey)
  }

  /// Stores the public keys of peers that an earlier release has stored.
  func learn(_ publicKey: [UInt8], of peer: String) throws(StoreError) {
    try run("UPDATE peer SET public_key = ? WHERE id = ?", publicKey, peer)
  }

  func removePeer(_ id: String) throws(StoreError) { try run("DELETE FROM peer WHERE id = ?", id) }
}
