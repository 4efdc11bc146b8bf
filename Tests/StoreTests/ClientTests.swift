import Store
import Testing

@Suite struct ClientTests {
  private let ann = StoredClient(
    id: "a", name: "Ann", role: "operator", digest: [1, 2, 3], created: 1, expires: nil)

  @Test("Clients and their peers are there after the database was closed, and peers go with their client")
  func keeps() throws {
    let folder = TemporaryFolder()
    var bob = ann
    (bob.id, bob.digest, bob.created, bob.expires) = ("b", [4], 2, 99)
    let peer = StoredPeer(id: "p", name: "Ann's", seed: [9, 9], client: "a", created: 3)
    do {
      let database = try Database("\(folder.path)/gateway.db")
      try database.add(ann)
      try database.add(bob)
      try database.add(peer)
    }
    let database = try Database("\(folder.path)/gateway.db")
    #expect(try database.clients() == [ann, bob])
    #expect(try database.peers() == [peer])
    try database.removeClient("a")
    #expect(try database.clients() == [bob])
    #expect(try database.peers().isEmpty)
  }

  @Test("One token is one client's, and a peer belongs to one that is there")
  func refuses() throws {
    let folder = TemporaryFolder()
    let database = try Database("\(folder.path)/gateway.db")
    try database.add(ann)
    var twin = ann
    twin.id = "b"
    #expect(throws: StoreError.self) { try database.add(twin) }
    #expect(throws: StoreError.self) {
      try database.add(StoredPeer(id: "p", name: "P", seed: [1], client: "nobody", created: 1))
    }
  }
}
