import FoundationEssentials
import Glibc
import Nearby
import TestKit
import Testing

@Suite("A host with a store", .serialized, .timeLimit(.minutes(3)))
struct DurableTests {
  let ada = DurableHost("Ada")
  let bob = DurableHost("Bob")

  @Test(
    "a receiver that is started again goes on with the file, to the same place", arguments: [400_000_000, 400_000_001])
  func receiver(size: Int) async throws {
    let (sent, offer) = try await beginFile(size)
    await bob.suspend()
    try await bob.resume()
    let resource = try await bob.next { if case .resource(let resource) = $0 { resource } else { nil } }
    #expect(resource.isUnderWay && resource.name == "long.bin" && resource.size == UInt64(size))
    #expect(resource.member == offer.member)
    await #expect(throws: NearbyError.self) { try await resource.accept(into: bob.folder.path) }
    #expect(try await resource.finished() == "\(bob.folder.path)/long.bin")
    try await sent.finished()
    #expect(try bob.hasSame("long.bin", as: ada))
    await leave()
    #expect(bob.files == ["keys", "long.bin"])
  }

  @Test("a sender that is started again goes on with the file")
  func sender() async throws {
    let (sent, offer) = try await beginFile(400_000_000)
    await ada.suspend()
    try await ada.resume()
    let resource = try await ada.next { if case .sending(let resource) = $0 { resource } else { nil } }
    #expect(resource.name == "long.bin" && resource.member == sent.member && resource.file == sent.file)
    #expect(try ada.session.resumedFiles == [#require(sent.file)])
    try await resource.finished()
    #expect(try await offer.finished() == "\(bob.folder.path)/long.bin")
    #expect(try bob.hasSame("long.bin", as: ada))
    await leave()
  }

  @Test("a file arrives whole, however often whoever of the two is started again")
  func often() async throws {
    var (sent, offer) = try await beginFile(400_000_000)
    for tenth in 1..<5 {
      try await reach(UInt64(tenth) * 40_000_000, of: offer)
      let home = tenth.isMultiple(of: 2) ? bob : ada
      await home.suspend()
      try await home.resume()
      if tenth.isMultiple(of: 2) {
        offer = try await bob.next { if case .resource(let resource) = $0 { resource } else { nil } }
      } else {
        sent = try await ada.next { if case .sending(let resource) = $0 { resource } else { nil } }
      }
    }
    #expect(try await offer.finished() == "\(bob.folder.path)/long.bin")
    try await sent.finished()
    #expect(try bob.hasSame("long.bin", as: ada))
    await leave()
    #expect(bob.files == ["keys", "long.bin"])
  }

  @Test("a file that has changed since is not sent on")
  func change() async throws {
    let (_, offer) = try await beginFile(400_000_000)
    await ada.suspend()
    _ = try ada.file("long.bin", bytes: 400_000_000)
    try await ada.resume()
    let resource = try await ada.next { if case .sending(let resource) = $0 { resource } else { nil } }
    let hersEnd = await #expect(throws: NearbyError.self) { try await resource.finished() }
    let hisEnd = await #expect(throws: NearbyError.self) { try await offer.finished() }
    #expect(hersEnd?.reason == .unreadable && hisEnd?.reason == .unreadable)
    await leave()
    #expect(bob.files == ["keys"])
  }

  @Test("a received file that is gone ends the transfer")
  func loss() async throws {
    let (sent, _) = try await beginFile(400_000_000)
    await bob.suspend()
    for name in bob.files where name.hasPrefix(".vicinity-") { unlink("\(bob.folder.path)/\(name)") }
    try await bob.resume()
    let resource = try await bob.next { if case .resource(let resource) = $0 { resource } else { nil } }
    let hisEnd = await #expect(throws: NearbyError.self) { try await resource.finished() }
    let hersEnd = await #expect(throws: NearbyError.self) { try await sent.finished() }
    #expect(hersEnd?.reason == .unwritable && hisEnd?.reason == .unwritable)
    await leave()
  }

  @Test("P-RES-5 a received part that the disk has changed while the host was down comes again")
  func damage() async throws {
    let (sent, _) = try await beginFile(400_000_000)
    await bob.suspend()
    let hidden = try #require(bob.files.first { $0.hasPrefix(".vicinity-") })
    let file = try #require(fopen("\(bob.folder.path)/\(hidden)", "r+e"))
    var byte: UInt8 = 0
    try #require(fseek(file, 500_000, SEEK_SET) == 0 && fread(&byte, 1, 1, file) == 1)
    byte ^= 1
    try #require(fseek(file, 500_000, SEEK_SET) == 0 && fwrite(&byte, 1, 1, file) == 1)
    fclose(file)
    try await bob.resume()
    let resource = try await bob.next { if case .resource(let resource) = $0 { resource } else { nil } }
    #expect(resource.isUnderWay)
    #expect(try await resource.finished() == "\(bob.folder.path)/long.bin")
    try await sent.finished()
    #expect(try bob.hasSame("long.bin", as: ada))
    await leave()
  }

  @Test("what was offered and not answered is offered again")
  func offer() async throws {
    try await meet()
    let file = try ada.file("short.bin", bytes: 100_000)
    let sent = try await ada.session.send(.file(file), to: try #require(try ada.session.members.first))
    try await bob.next { if case .resource = $0 { true } else { nil } }
    // It is stored by the time at which a later message is acknowledged.
    try await ada.session.deliver([1], to: sent.member)
    await bob.suspend()
    try await bob.resume()
    let resource = try await bob.next { if case .resource(let resource) = $0 { resource } else { nil } }
    #expect(!resource.isUnderWay)
    // A resource without a path would not survive the next restart, and the offer stands.
    let error = await #expect(throws: NearbyError.self) { try await resource.accept() }
    #expect(error?.code == .invalidParameter && error?.description.contains("folder") == true)
    try await resource.accept(into: bob.folder.path)
    #expect(try await resource.finished() == "\(bob.folder.path)/short.bin")
    try await sent.finished()
    await leave()
  }

  @Test("messages go on, each once and in order, whoever is started again")
  func messages() async throws {
    try await meet()
    for round in 0..<4 {
      for home in [ada, bob] where try home.session.members.isEmpty {
        try await home.next { if case .member(_, .connected) = $0 { true } else { nil } }
      }
      let numbers = UInt8(round * 8)..<UInt8(round * 8 + 8)
      let member = try #require(try ada.session.members.first)
      for number in numbers { try await ada.session.deliver([number], contentType: "x/\(number)", to: member) }
      for number in numbers {
        let got = try await bob.next { if case .message(let message) = $0 { message } else { nil } }
        #expect(got.bytes == [number] && got.contentType == "x/\(number)")
      }
      let home = round.isMultiple(of: 2) ? bob : ada
      await home.suspend()
      try await home.resume()
    }
    await leave()
  }

  @Test("a host that is stopped has left, and begins anew")
  func stop() async throws {
    try await meet()
    await bob.stop()
    let reason = try await ada.next { if case .member(_, .notConnected(let reason)) = $0 { reason } else { nil } }
    #expect(reason == .left)
    try await bob.start()
    await leave()
  }

  @Test("a store of a host whose keys are kept nowhere is refused, and one that is in use too")
  func refusals() async throws {
    var options = HostOptions()
    options.keys = .ephemeral
    options.discovery = .fixed([])
    options.store = .besideKeys()
    let error = await #expect(throws: NearbyError.self) { _ = try await Nearby.Host.start(options) }
    #expect(error?.code == .invalidParameter)
    var (first, second) = (ada.options(), bob.options())
    first.store = .file("\(ada.folder.path)/one.db")
    second.store = first.store
    let host = try await Nearby.Host.start(first)
    let busy = await #expect(throws: NearbyError.self) { _ = try await Nearby.Host.start(second) }
    #expect(busy?.code == .unavailable)
    await host.stop()
  }

  /// A file of which a part has been stored.
  private func beginFile(_ size: Int) async throws -> (OutgoingResource, IncomingResource) {
    try await meet()
    let file = try ada.file("long.bin", bytes: size)
    let sent = try await ada.session.send(.file(file), to: try #require(try ada.session.members.first))
    let offer = try await bob.next { if case .resource(let resource) = $0 { resource } else { nil } }
    #expect(!offer.isUnderWay)
    try await offer.accept(into: bob.folder.path)
    try await reach(1_000_000, of: offer)
    return (sent, offer)
  }

  private func reach(_ bytes: UInt64, of resource: IncomingResource) async throws {
    for await progress in resource.progress where progress.bytes > bytes { return }
    throw TwoPeers.Closed()
  }

  private func meet() async throws {
    try await bob.start()
    try await ada.start(reaching: bob)
    let advertiser = try await bob.peer.advertise("talk")
    let browser = try await ada.peer.browse("talk")
    for await event in browser.events { if case .found = event { break } }
    let (hers, his) = (try ada.session, try bob.session)
    async let invited: Void = hers.invite(his.peer, as: "talk")
    for await invitation in advertiser.invitations {
      try await invitation.accept(with: his)
      break
    }
    try await invited
  }

  private func leave() async {
    await ada.stop()
    await bob.stop()
  }
}

/// A durable host, over its restarts.
final class DurableHost {
  private let name: String
  let folder = TemporaryFolder()
  private var here: (host: Nearby.Host, peer: Peer, session: Session)?
  /// The ID of its last session.
  private var id: EndpointID?
  /// The port, the same each time: two hosts that had both moved would not find each other's new address here.
  private var port: UInt16 = 0

  init(_ name: String) {
    self.name = name
  }

  var peer: Peer { get throws { try #require(here?.peer) } }
  var session: Session { get throws { try #require(here?.session) } }
  var place: String { "127.0.0.1:\(port)" }
  var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []).sorted() }

  func options(at places: [String] = []) -> HostOptions {
    var options = HostOptions()
    options.keys = .folder("\(folder.path)/keys")
    options.store = .besideKeys()
    options.port = port
    options.discovery = .fixed(places)
    return options
  }

  func start(reaching other: DurableHost? = nil) async throws {
    var places: [String] = []
    if let other { places = [other.place] }
    let host = try await Nearby.Host.start(options(at: places))
    port = try #require(await host.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
    let peer = try await host.peer(named: name)
    #expect(try await peer.restoredSessions().isEmpty)
    let session = try await peer.openSession()
    id = session.id
    here = (host, peer, session)
  }

  /// Resumes the session of the last run.
  func resume() async throws {
    let host = try await Nearby.Host.start(options())
    let peer = try await host.peer(named: name)
    let sessions = try await peer.restoredSessions()
    #expect(sessions.map(\.id) == [id])
    here = (host, peer, try #require(sessions.first))
  }

  func suspend() async {
    await here?.host.suspend()
    here = nil
  }

  func stop() async {
    await here?.host.stop()
    here = nil
  }

  @discardableResult
  func next<Value>(_ pick: (SessionEvent) -> Value?) async throws -> Value {
    for await event in try session.events {
      if let value = pick(event) { return value }
    }
    throw TwoPeers.Closed()
  }

  /// Random for a megabyte, then that again, numbered: long enough that the transfer is not over at once.
  func file(_ name: String, bytes: Int) throws -> String {
    let path = "\(folder.path)/\(name)"
    let file = try #require(fopen(path, "we"))
    defer { fclose(file) }
    var block = [UInt8](unsafeUninitializedCapacity: 1 << 20) { buffer, count in
      count = buffer.count
      for index in 0..<count { buffer[index] = .random(in: 0...255) }
    }
    for start in stride(from: 0, to: bytes, by: block.count) {
      block.withUnsafeMutableBytes { $0.storeBytes(of: start, as: Int.self) }
      let count = min(block.count, bytes - start)
      try #require(fwrite(block, 1, count, file) == count)
    }
    return path
  }

  func hasSame(_ name: String, as other: DurableHost) throws -> Bool {
    let files = try [self, other].map { try #require(fopen("\($0.folder.path)/\(name)", "re")) }
    defer { for file in files { fclose(file) } }
    let size = 1 << 20
    let blocks = files.map { _ in UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1) }
    defer { for block in blocks { block.deallocate() } }
    while true {
      // A buffer that was allocated has an address.
      let counts = zip(blocks, files).map { fread($0.baseAddress, 1, size, $1) }
      guard counts[0] == counts[1], memcmp(blocks[0].baseAddress!, blocks[1].baseAddress!, counts[0]) == 0 else {
        return false
      }
      if counts[0] == 0 { return true }
    }
  }
}
