internal import Foundation
internal import Glibc
internal import Nearby
internal import TestKit
internal import Testing

@Suite("Two hosts on one loopback", .timeLimit(.minutes(3)))
struct SessionTests {
  @Test("a message arrives, as it was sent")
  func message() async throws {
    let (ada, bob) = try await TwoPeers.connect()
    try await ada.session.send(Array("hello".utf8))
    let message = try await bob.next { if case .message(let message) = $0 { message } else { nil } }
    #expect(message.bytes == Array("hello".utf8) && message.from.peer == ada.peer.id && message.from.name == "Ada")
    #expect(message.contentType == nil)
    await TwoPeers.leave(ada, bob)
  }

  @Test("P-MSG-2 a message's content type arrives with it, however it was sent, and what is none is refused")
  func contentType() async throws {
    let (ada, bob) = try await TwoPeers.connect()
    let member = try #require(ada.session.members.first)
    try await ada.session.send([1], contentType: "image/png")
    try ada.session.trySend([2], contentType: "a/b; c=d")
    try await ada.session.deliver([3], contentType: "text/plain", to: member)
    _ = try ada.session.trySend(withReceipt: [4], contentType: "text/html")
    for type in ["image/png", "a/b; c=d", "text/plain", "text/html"] {
      let message = try await bob.next { if case .message(let message) = $0 { message } else { nil } }
      #expect(message.contentType == type)
    }
    for type in ["", "text", "a/b\n", "a/" + String(repeating: "b", count: 126)] {
      let error = #expect(throws: NearbyError.self) { try ada.session.trySend([5], contentType: type) }
      #expect(error?.code == .invalidParameter)
    }
    await TwoPeers.leave(ada, bob)
  }

  @Test("two hosts that stop at the same time dial nobody any more")
  func bothStop() async throws {
    for _ in 0..<3 {
      let (ada, bob) = try await TwoPeers.connect()
      async let goodbye: Void = ada.host.stop()
      await bob.host.stop()
      await goodbye
    }
    // Transfers in progress when they left have ended by the time that others have met.
    let (ada, bob) = try await TwoPeers.connect()
    await TwoPeers.leave(ada, bob)
  }

  @Test("a host that nobody holds any more ends in the middle of what it does")
  func droppedHosts() async throws {
    for round in 0..<40 {
      var (ada, bob): (TwoPeers.SessionPeer?, TwoPeers.SessionPeer?) = try await TwoPeers.connect()
      try bob?.session.trySend([2])
      if round % 2 == 0, let executor = ada?.host.executor {
        // The host's loop runs this, so that it gets all of it at once.
        try await withTaskExecutorPreference(executor) {
          try ada?.session.trySend([1])
          ada = nil
        }
      } else {
        for _ in 0..<50 + round { try ada?.session.trySend([1]) }
        ada = nil
      }
      bob = nil
    }
    let (ada, bob) = try await TwoPeers.connect()
    await TwoPeers.leave(ada, bob)
  }

  @Test("a host that nobody holds any more lets go of its keys, and of whoever waits for it")
  func droppedKeys() async throws {
    let folder = TemporaryFolder()
    var options = HostOptions()
    options.keys = .folder("\(folder.path)/keys")
    options.discovery = .fixed([])
    for _ in 0..<10 {
      let session = try await sessionOfNobody(options)
      let events = session.events
      for await event in events { Issue.record("\(event) was told by nobody") }
    }
  }

  /// Its host is not held any more. The one before may be about to end.
  private func sessionOfNobody(_ options: HostOptions) async throws -> Session {
    while true {
      do {
        return try await Nearby.Host.start(options).peer(named: "Ada").openSession()
      } catch {
        guard error.code == .unavailable else { throw error }
        await Task.yield()
      }
    }
  }

  @Test("many messages come in order, each once, however slowly they are read")
  func order() async throws {
    let (ada, bob) = try await TwoPeers.connect()
    let count = 20_000
    async let sent: Void = {
      for number in 0..<count { try await ada.session.send(withUnsafeBytes(of: number) { Array($0) }) }
    }()
    for number in 0..<count {
      let message = try await bob.next { if case .message(let message) = $0 { message } else { nil } }
      #expect(message.bytes.withUnsafeBytes { $0.loadUnaligned(as: Int.self) } == number)
    }
    try await sent
    await TwoPeers.leave(ada, bob)
  }

  @Test("who sends to a program that pauses waits for it, and nothing is lost")
  func pause() async throws {
    let (ada, bob) = try await TwoPeers.connect()
    func message(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number % 251), count: 256 << 10) }
    // More than the queue of a program that does not read, and everything in flight to it.
    for number in 0..<136 { try await ada.session.send(message(number)) }
    async let sent: Void = { for number in 136..<400 { try await ada.session.send(message(number)) } }()
    for number in 0..<400 {
      let got = try await bob.next { if case .message(let message) = $0 { message } else { nil } }
      #expect(got.bytes.count == 256 << 10 && got.bytes.first == UInt8(number % 251))
    }
    try await sent
    await TwoPeers.leave(ada, bob)
  }

  @Test("P-MSG-3 who wants to know is told once for each recipient, also of one that leaves meanwhile")
  func receipts() async throws {
    let (ada, bob) = try await TwoPeers.connect()
    let first = try ada.session.trySend(withReceipt: [1])
    #expect(first.recipients.map(\.name) == ["Bob"])
    async let left: Void = bob.session.leave()
    var open: Set<Receipt.ID> = [first.id]
    while open.count < 10_000, let receipt = try? ada.session.trySend(withReceipt: [2]) { open.insert(receipt.id) }
    await left
    while !open.isEmpty {
      let id = try await ada.next { event -> Receipt.ID? in
        guard case .deliveryStatus(let id, let members, let status) = event else { return nil }
        #expect(members.map(\.name) == ["Bob"] && status != .unknown)
        return id
      }
      #expect(open.remove(id) != nil)
    }
    await TwoPeers.leave(ada, bob)
  }

  @Test("a stream's bytes come in order, and it ends where it was closed")
  func stream() async throws {
    let (ada, bob) = try await TwoPeers.connect()
    let writer = try await ada.session.openStream("numbers", to: try #require(ada.session.members.first))
    let reader = try await bob.next { if case .stream(let reader) = $0 { reader } else { nil } }
    #expect(reader.name == "numbers")
    let sent = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }
    async let written: Void = writer.write(sent)
    var got: [UInt8] = []
    while got.count < sent.count, let piece = try await reader.read() { got += piece }
    try await written
    #expect(got == sent)
    await writer.close()
    #expect(try await reader.read() == nil)
    #expect(await writer.ended == .none)
    await TwoPeers.leave(ada, bob)
  }

  @Test("a file arrives whole, under its name, and both sides are told once", arguments: [0, 1, 16_384, 3_000_001])
  func file(size: Int) async throws {
    let (ada, bob) = try await TwoPeers.connect()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("nearby-\(UUID())")
    let inbox = folder.appendingPathComponent("in")
    try FileManager.default.createDirectory(at: inbox, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("picture.png")
    let bytes = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
    try bytes.write(to: file)
    let sent = try await ada.session.send(.file(file.path), to: try #require(ada.session.members.first))
    let offer = try await bob.next { if case .resource(let resource) = $0 { resource } else { nil } }
    #expect(offer.name == "picture.png" && offer.type == "image/png" && offer.size == UInt64(size))
    try await offer.accept(into: inbox.path)
    let path = try await offer.finished()
    try await sent.finished()
    #expect(path == inbox.appendingPathComponent("picture.png").path)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
    #expect(try FileManager.default.contentsOfDirectory(atPath: inbox.path) == ["picture.png"])
    await TwoPeers.leave(ada, bob)
  }

  @Test("P-RES-3 its sender hears that a file has arrived once that has its name, and not where it gets none")
  func namelessFile() async throws {
    let (ada, bob) = try await TwoPeers.connect()
    let folder = TemporaryFolder()
    // All numbered names are taken: the lack of a free one is found out at the end.
    for number in 1...10_000 {
      let name = number == 1 ? "bytes" : "bytes (\(number))"
      #expect(FileManager.default.createFile(atPath: "\(folder.path)/\(name)", contents: nil))
    }
    let member = try #require(ada.session.members.first)
    let sent = try await ada.session.send(.bytes([UInt8](repeating: 7, count: 100_000)), to: member)
    let offer = try await bob.next { if case .resource(let resource) = $0 { resource } else { nil } }
    try await offer.accept(into: folder.path)
    let here = await #expect(throws: NearbyError.self) { try await offer.finished() }
    #expect(here?.code == .unavailable)
    let there = await #expect(throws: NearbyError.self) { try await sent.finished() }
    #expect(there?.reason == .unwritable)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 10_000)
    await TwoPeers.leave(ada, bob)
  }

  @Test("P-CUS-1 two programs that have exchanged their connection data are connected, with no discovery")
  func connectionData() async throws {
    var options = HostOptions()
    options.keys = .ephemeral
    options.discovery = .fixed([])
    let (adas, bobs) = (try await Nearby.Host.start(options), try await Nearby.Host.start(options))
    let (ada, bob) = (try await adas.peer(named: "Ada"), try await bobs.peer(named: "Bob"))
    let (hers, his) = (try await ada.openSession(), try await bob.openSession())
    let (herData, hisData) = (try await hers.connectionData(), try await his.connectionData())
    async let met: Void = his.connect(to: ada.id, with: herData)
    try await hers.connect(to: bob.id, with: hisData)
    try await met
    #expect(hers.members.map(\.name) == ["Bob"] && his.members.map(\.name) == ["Ada"])
    await #expect(throws: NearbyError.self) { try await hers.connect(to: ada.id, with: hisData) }
    await adas.stop()
    await bobs.stop()
  }

  @Test("what an address of the web holds arrives under the name that it has there")
  func web() async throws {
    let (ada, bob) = try await TwoPeers.connect()
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("nearby-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let bytes = Data((0..<2_000_001).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
    try bytes.write(to: folder.appendingPathComponent("song.mp3"))
    let server = try WebServer(of: folder)
    defer { server.stop() }
    let member = try #require(ada.session.members.first)
    let sent = try await ada.session.send(.web("http://127.0.0.1:\(server.port)/song.mp3"), to: member)
    let offer = try await bob.next { if case .resource(let resource) = $0 { resource } else { nil } }
    #expect(offer.name == "song.mp3" && offer.type == "audio/mpeg" && offer.size == UInt64(bytes.count))
    let inbox = folder.appendingPathComponent("in")
    try FileManager.default.createDirectory(at: inbox, withIntermediateDirectories: true)
    try await offer.accept(into: inbox.path)
    #expect(try Data(contentsOf: URL(fileURLWithPath: try await offer.finished())) == bytes)
    try await sent.finished()
    let error = await #expect(throws: NearbyError.self) { try await ada.session.send(.web("gopher://a/"), to: member) }
    #expect(error?.code == .unsupported)
    await TwoPeers.leave(ada, bob)
  }

  @Test("who is not let in hears so, even where it looks only once all is over")
  func refused() async throws {
    var strict = SessionOptions()
    strict.trust = .ask(timeout: .milliseconds(50))
    let (adas, bobs, found) = try await TwoPeers.meet()
    let (ada, bob) = (adas.peer, bobs.peer)
    let (hers, his) = (try await ada.openSession(), try await bob.openSession(strict))
    async let invited: Void = hers.invite(found.id, as: "talk", timeout: .seconds(5))
    for await invitation in bobs.advertiser.invitations {
      await withTaskGroup { group in
        group.addTask { try? await invitation.accept(with: his) }
        // No task continues until the two loops are done with each other.
        for _ in 0..<2 * ProcessInfo.processInfo.activeProcessorCount { group.addTask { _ = poll(nil, 0, 300) } }
      }
      break
    }
    do {
      try await invited
      Issue.record("who is not trusted has joined")
    } catch let error as NearbyError {
      #expect(error.reason == .untrusted)
    }
    await adas.host.stop()
    await bobs.host.stop()
  }

  @Test("who leaves is told as left at once, and nobody is sent to any more")
  func leaving() async throws {
    let (ada, bob) = try await TwoPeers.connect()
    await bob.session.close()
    let reason = try await ada.next { if case .member(_, .notConnected(let reason)) = $0 { reason } else { nil } }
    #expect(reason == .left)
    #expect(throws: NearbyError.self) { try ada.session.trySend([1]) }
    await TwoPeers.leave(ada, bob)
  }

  @Test("P-SES-1 An invitation that is declined is told to the inviter's session, with who and why")
  func declined() async throws {
    let (ada, bob, found) = try await TwoPeers.meet()
    let session = try await ada.peer.openSession()
    async let invited: Void = session.invite(found.id, as: "talk")
    for await invitation in bob.advertiser.invitations {
      await invitation.decline()
      break
    }
    do {
      try await invited
      Issue.record("the invitation was declined, and has joined")
    } catch {
      #expect((error as? NearbyError)?.reason == .declined)
    }
    for await event in session.events {
      guard case .notConnected(let invitee, let reason) = event else {
        Issue.record("\(event)")
        continue
      }
      #expect(invitee.peer == found.id && invitee.name == "Bob" && reason == .declined)
      #expect(!invitee.isAdhoc && !invitee.isAskedAgain)
      break
    }
    await ada.host.stop()
    await bob.host.stop()
  }

  @Test("P-HAB-1 A search and an advertisement that last until somebody is connected end then")
  func until() async throws {
    let (ada, bob, found) = try await TwoPeers.meet()
    let (hers, his) = (try await ada.peer.openSession(), try await bob.peer.openSession())
    let advertiser = try await bob.peer.advertise("once", until: .connected)
    let browser = try await ada.peer.browse("once", until: .connected)
    var isInvited = false
    for await event in browser.events {
      guard case .found = event, !isInvited else { continue }
      isInvited = true
      async let invited: Void = hers.invite(found.id, as: "once")
      for await invitation in advertiser.invitations {
        try await invitation.accept(with: his)
      }
      try await invited
    }
    #expect(isInvited)
    #expect(hers.members.map(\.peer) == [found.id])
    await ada.host.stop()
    await bob.host.stop()
  }
}

enum TwoPeers {
  struct SessionPeer: Sendable {
    let host: Nearby.Host
    let peer: Peer
    let session: Session

    func next<Value>(_ pick: (SessionEvent) -> Value?) async throws -> Value {
      for await event in session.events {
        if let value = pick(event) { return value }
      }
      throw Closed()
    }
  }

  struct Closed: Error {}

  static func connect() async throws -> (SessionPeer, SessionPeer) {
    let (adas, bobs, found) = try await meet()
    let (hers, his) = (try await adas.peer.openSession(), try await bobs.peer.openSession())
    async let invited: Void = hers.invite(found.id, as: "talk", context: [1, 2, 3])
    for await invitation in bobs.advertiser.invitations {
      #expect(invitation.context == [1, 2, 3] && invitation.from == adas.peer.id)
      try await invitation.accept(with: his)
      break
    }
    try await invited
    return (
      SessionPeer(host: adas.host, peer: adas.peer, session: hers),
      SessionPeer(host: bobs.host, peer: bobs.peer, session: his)
    )
  }

  /// Ada has found Bob, who advertises.
  static func meet() async throws -> (
    ada: (host: Nearby.Host, peer: Peer, browser: Browser),
    bob: (host: Nearby.Host, peer: Peer, advertiser: Advertiser), FoundPeer
  ) {
    var options = HostOptions()
    options.keys = .ephemeral
    options.web.allowsLoopback = true
    options.discovery = .fixed([])
    let bobs = try await Nearby.Host.start(options)
    let port = try #require(await bobs.addresses.first?.split(separator: ":").last)
    options.discovery = .fixed(["127.0.0.1:\(port)"])
    let adas = try await Nearby.Host.start(options)
    let (ada, bob) = (try await adas.peer(named: "Ada"), try await bobs.peer(named: "Bob"))
    let advertiser = try await bob.advertise("talk", info: ["room": "2"])
    let browser = try await ada.browse("talk")
    for await event in browser.events {
      guard case .found(let found) = event else { continue }
      #expect(found.name == "Bob" && found.info == ["room": "2"])
      return ((adas, ada, browser), (bobs, bob, advertiser), found)
    }
    throw Closed()
  }

  static func leave(_ peers: SessionPeer...) async {
    for peer in peers { await peer.host.stop() }
  }
}

/// A real web server, which serves a folder at a free port of the loopback.
final class WebServer {
  let port: Int
  private let process = Process()

  init(of folder: URL) throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", folder.path, "0"]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    // "Serving HTTP on 127.0.0.1 port 34567 (http://127.0.0.1:34567/) ..."
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    port = try #require(line.firstMatch(of: #/port (\d+)/#).flatMap { Int($0.output.1) })
  }

  func stop() {
    // A child inherits what its thread blocks, which here is every signal that can be blocked.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
