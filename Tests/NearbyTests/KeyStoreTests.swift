import Glibc
import Media
import TestKit
import Testing
import Wire

@testable import Nearby

@Suite struct KeyStoreTests {
  private let folder = TemporaryFolder()

  private var path: String { "\(folder.path)/vicinity/keys of one host" }

  private func open(at now: UInt64 = 0) throws -> KeyStore {
    try KeyStore(.folder(path), secondsSince1970: now)
  }

  @Test func `a host has the same key each time, and a greater incarnation`() throws {
    let (key, first) = try { (try open().hostKey.publicKey, try open().incarnation) }()
    let again = try open()
    #expect(again.hostKey.publicKey == key)
    #expect(again.incarnation > first)
  }

  @Test func `an incarnation is on the disk before anybody has it, and was never used before`() throws {
    var used: Set<Incarnation> = []
    for now: UInt64 in [0, 0, 1_000, 1_000, 999, 0, 2_000] {
      let store = try open(at: now)
      #expect(
        folder.text(of: "vicinity/keys of one host/keys").contains("\nincarnation \(store.incarnation.rawValue)\n"))
      #expect(used.allSatisfy { $0 < store.incarnation })
      used.insert(store.incarnation)
    }
  }

  /// A disk of memory, full until it is released.
  private func filled(_ path: String) throws -> () -> Void {
    let ballast = Glibc.open("\(path)/ballast", O_WRONLY | O_CREAT, 0o600)
    try #require(ballast >= 0)
    while write(ballast, [UInt8](repeating: 1, count: 4_096), 4_096) > 0 {}
    close(ballast)
    return { unlink("\(path)/ballast") }
  }

  private static let mayMount: Bool = {
    let folder = TemporaryFolder()
    defer { umount(folder.path) }
    return mount("tmpfs", folder.path, "tmpfs", 0, "size=64k") == 0
  }()

  @Test(.enabled(if: mayMount))
  func `with a full disk keys that are there are opened, each time with a greater incarnation`()
    throws
  {
    let disk = "\(folder.path)/disk"
    mkdir(disk, 0o700)
    try #require(mount("tmpfs", disk, "tmpfs", 0, "size=64k,mode=700") == 0)
    defer { umount2(disk, CInt(MNT_DETACH)) }
    let place = KeyStorage.folder("\(disk)/keys")
    let (key, first) = try {
      let store = try KeyStore(place, secondsSince1970: 1_000)
      return (store.hostKey.publicKey, store.incarnation)
    }()
    let empty = try filled(disk)
    var last = first
    for now: UInt64 in [1_000, 1_000, 5, 9_000, 9_000] {
      let store = try KeyStore(place, secondsSince1970: now)
      #expect(store.hostKey.publicKey == key && store.incarnation > last)
      last = store.incarnation
      let error = #expect(throws: KeyStoreError.self) { try store.peerKey(named: DisplayName("Ann")) }
      #expect("\(error as Any)".contains("make room"))
    }
    // There are none yet, and there is no room for any.
    #expect(throws: KeyStoreError.self) { try KeyStore(.folder(disk), secondsSince1970: 0) }
    empty()
    let store = try KeyStore(place, secondsSince1970: 0)
    #expect(store.incarnation > last)
    _ = try store.peerKey(named: DisplayName("Ann"))
  }

  @Test func `keys put back from an old copy begin after all that was used since`() throws {
    _ = try open(at: 5_000)
    let copy = folder.bytes(of: "vicinity/keys of one host/keys")
    var last = Incarnation(0)
    for second: UInt64 in 0..<20 { last = try open(at: 5_001 + second).incarnation }
    try folder.write(copy, to: "vicinity/keys of one host/keys")
    #expect(try open(at: 5_030).incarnation > last)
  }

  @Test func `P-ID-4 The same name gives the same peer after a restart, and another name another one`() throws {
    let names = try [
      "Ann", "Ann ", "a\u{308}", "\u{E4}", "100 % \n\r\t\u{7F}", "%0a", String(repeating: "\u{1}", count: 63),
    ]
    .map { try DisplayName($0) }
    let keys = try { () throws in
      let store = try open()
      return try names.map { try store.peerKey(named: $0).publicKey }
    }()
    #expect(Set(keys).count == names.count)
    let again = try open()
    #expect(Set(again.peerNames) == Set(names))
    #expect(try names.map { try again.peerKey(named: $0).publicKey } == keys)
    try again.forgetPeer(named: names[0])
    #expect(try again.peerKey(named: names[0]).publicKey != keys[0])
  }

  @Test func `what is known of others, anchors and identities last`() throws {
    let (certificate, other) = (try Fixture.identity(), try Fixture.identity())
    let ann = KnownPeer(
      id: PeerID(ID128(high: 1, low: 2)), name: try DisplayName("Ann % B."), confirmation: .comparedCode)
    let bob = KnownPeer(id: PeerID(ID128(high: 3, low: 4)), name: try DisplayName("Bob"), confirmation: .byHand)
    try {
      let store = try open()
      for peer in [ann, bob] { try store.remember(peer) }
      for identity in [certificate, other] {
        try store.addAnchor(identity.chain[0])
        try store.addIdentity(identity)
      }
      try store.addAnchor(certificate.chain[0])
      try store.addIdentity(certificate)
    }()
    try {
      let store = try open()
      #expect(store.knownPeers == [ann, bob])
      #expect(store.knownPeer(ann.id) == ann)
      #expect(store.anchors == [certificate.chain[0], other.chain[0]])
      #expect(store.identities.map(\.shown) == [other.shown, certificate.shown])
      #expect(store.identities.map(\.privateKey) == [other.privateKey, certificate.privateKey])
      var renamed = ann
      renamed.name = try DisplayName("Anna")
      try store.remember(renamed)
      try store.forget(bob.id)
      try store.removeAnchor(other.chain[0])
      try store.removeIdentity(other.id)
    }()
    let store = try open()
    #expect(store.knownPeers.map(\.name.text) == ["Anna"])
    #expect(store.anchors == [certificate.chain[0]])
    #expect(store.identities.map(\.id) == [certificate.id])
  }

  @Test func `an ephemeral store does all that and leaves nothing`() throws {
    let store = try KeyStore(.ephemeral)
    let ann = try DisplayName("Ann")
    #expect(store.path == nil)
    #expect(try store.peerKey(named: ann).publicKey == store.peerKey(named: ann).publicKey)
    #expect(try KeyStore(.ephemeral).hostKey.publicKey != store.hostKey.publicKey)
  }

  @Test func `the standard folder is where the XDG rules say`() throws {
    func path(_ variables: [String: String]) throws -> String? {
      try KeyStorage.standard.path { variables[$0] }
    }
    #expect(try path(["XDG_DATA_HOME": "/data", "HOME": "/me"]) == "/data/vicinity")
    #expect(try path(["XDG_DATA_HOME": "data", "HOME": "/me"]) == "/me/.local/share/vicinity")
    #expect(try path(["HOME": "/me"]) == "/me/.local/share/vicinity")
    #expect(throws: KeyStoreError.noStandardFolder) { try path([:]) }
  }

  @Test func `all of it moves to another box, and takes no other's place`() throws {
    let exported = "\(folder.path)/exported"
    let elsewhere = KeyStorage.folder("\(folder.path)/elsewhere")
    let ann = try DisplayName("Ann")
    let (host, peer, incarnation) = try {
      let store = try open()
      let peer = try store.peerKey(named: ann).publicKey
      try store.export(to: exported)
      #expect(throws: KeyStoreError.occupied(path: exported)) { try store.export(to: exported) }
      return (store.hostKey.publicKey, peer, store.incarnation)
    }()
    #expect(folder.mode(of: "exported") == 0o600)
    try KeyStore.import(from: exported, into: elsewhere)
    do {
      let store = try KeyStore(elsewhere, secondsSince1970: 0)
      #expect(store.hostKey.publicKey == host)
      #expect(try store.peerKey(named: ann).publicKey == peer)
      #expect(store.incarnation > incarnation)
    }
    #expect(throws: KeyStoreError.occupied(path: "\(folder.path)/elsewhere/keys")) {
      try KeyStore.import(from: exported, into: elsewhere)
    }
    #expect(throws: KeyStoreError.missing(path: "\(folder.path)/nothing")) {
      try KeyStore.import(from: "\(folder.path)/nothing", into: .folder("\(folder.path)/third"))
    }
    #expect(throws: KeyStoreError.nothingIsKept) { try KeyStore.import(from: exported, into: .ephemeral) }
  }

  @Test func `a store that is full says so and loses nothing`() throws {
    let store = try KeyStore(.ephemeral)
    for number in 0..<StoredKeys.peersMax { _ = try store.peerKey(named: DisplayName("\(number)")) }
    #expect(throws: KeyStoreError.full(what: "peers", countMax: StoredKeys.peersMax)) {
      try store.peerKey(named: DisplayName("one more"))
    }
    #expect(store.peerNames.count == StoredKeys.peersMax)
  }
}
