internal import Foundation
internal import Media
internal import Nearby
internal import Store
internal import TestKit
internal import Testing

@testable internal import Gateway

@Suite struct ClientTableTests {
  private let ann = StoredClient(
    id: "a", name: "Ann", role: "operator", digest: [1, 2, 3], created: 1, expires: nil)

  @Test("Clients and their peers are there after the database was closed, and peers go with their client")
  func keeps() throws {
    let folder = TemporaryFolder()
    var bob = ann
    (bob.id, bob.digest, bob.created, bob.expires) = ("b", [4], 2, 99)
    let peer = StoredPeer(id: "p", name: "Ann's", seed: [9, 9], client: "a", created: 3)
    do {
      let database = try Database("\(folder.path)/gateway.db", schema: .gateway)
      try database.add(ann)
      try database.add(bob)
      try database.add(peer)
    }
    let database = try Database("\(folder.path)/gateway.db", schema: .gateway)
    #expect(try database.clients() == [ann, bob])
    #expect(try database.peers() == [peer])
    try database.removeClient("a")
    #expect(try database.clients() == [bob])
    #expect(try database.peers().isEmpty)
  }

  @Test func `a stored public key that fits its peer's ID spares deriving it, and another one is not believed`() throws
  {
    let (key, other) = (SigningKey(), SigningKey())
    var peer = StoredPeer(id: Peer.id(of: key).text, name: "P", seed: key.seed, client: "a", created: 1)
    let database = try Database("\(TemporaryFolder().path)/gateway.db", schema: .gateway)
    try database.add(ann)
    try database.add(peer)
    #expect(try database.peers() == [peer] && peer.key?.publicKey == key.publicKey)
    try database.learn(key.publicKey.bytes, of: peer.id)
    peer.publicKey = key.publicKey.bytes
    #expect(try database.peers() == [peer] && peer.key?.publicKey == key.publicKey)
    #expect(peer.key?.seed == key.seed && peer.key?.sign([1, 2]) == key.sign([1, 2]))
    peer.publicKey = other.publicKey.bytes
    #expect(peer.key?.publicKey == key.publicKey)
    peer.publicKey = [1]
    #expect(peer.key?.publicKey == key.publicKey)
  }

  @Test("With a client its peers' sessions end, and what they held is held no more; others' stay")
  func sessions() throws {
    let database = try Database("\(TemporaryFolder().path)/gateway.db", schema: .gateway)
    var bob = ann
    (bob.id, bob.digest) = ("b", [4])
    for (number, client) in [ann, bob].enumerated() {
      let peer = "p\(number)"
      try database.add(client)
      try database.add(StoredPeer(id: peer, name: "P", seed: [UInt8(number)], client: client.id, created: 1))
      try database.keep(
        StoredSession(
          id: "s\(number)", host: "h", peer: peer, settings: [], created: 1, epoch: "e", number: number + 1))
      try database.keep(
        StoredResource(
          id: "r\(number)", session: number + 1, settings: [], state: "complete", path: "received/\(number)",
          transfer: nil))
    }
    try database.removeClient("a")
    #expect(try database.sessions().map(\.id) == ["s1"])
    #expect(try database.heldPaths() == ["received/1"])
    while try database.removeEndedSessions() {}
    #expect(try database.resources().map(\.id) == ["r1"])
  }

  @Test("Removed rows are in none of the database's files once the log is empty")
  func overwritten() async throws {
    let folder = TemporaryFolder()
    let path = "\(folder.path)/gateway.db"
    let writer = try Writer(path, schema: .gateway)
    let ann = ann
    let mark = Array("nobody is to find this".utf8)
    try await writer.perform { database in
      try database.add(ann)
      // Some within a page, and one over many.
      for number in 0..<200 {
        let seed = mark + [UInt8](repeating: UInt8(number), count: number == 100 ? 100_000 : number)
        try database.add(StoredPeer(id: "p\(number)", name: "P", seed: seed, client: "a", created: 1))
      }
    }
    try await writer.truncateLog()
    func isThere() -> Bool {
      [path, "\(path)-wal"].contains { file in
        FileManager.default.contents(atPath: file)?.range(of: Data(mark)) != nil
      }
    }
    #expect(isThere())
    for number in stride(from: 0, to: 200, by: 3) { try await writer.perform { try $0.removePeer("p\(number)") } }
    try await writer.perform { try $0.removeClient("a") }
    try await writer.truncateLog()
    #expect(!isThere())
    await writer.close()
  }

  @Test("One token is one client's, and a peer belongs to one that is there")
  func refuses() throws {
    let folder = TemporaryFolder()
    let database = try Database("\(folder.path)/gateway.db", schema: .gateway)
    try database.add(ann)
    var twin = ann
    twin.id = "b"
    #expect(throws: StoreError.self) { try database.add(twin) }
    #expect(throws: StoreError.self) {
      try database.add(StoredPeer(id: "p", name: "P", seed: [1], client: "nobody", created: 1))
    }
  }
}
