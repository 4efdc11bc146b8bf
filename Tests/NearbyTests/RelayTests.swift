internal import TestKit
internal import Testing
internal import Wire

@testable internal import Engine
@testable internal import Nearby

/// Hosts without a common medium, and relays between them: one meets others in a shared folder, the other by the loopback, where
/// the relays know its address.
@Suite("Hosts that meet through a relay", .timeLimit(.minutes(1)))
struct RelayTests {
  private let temporary = TemporaryFolder()

  private var folder: HostMedium { .folder(temporary.path) }

  private static func start(
    _ media: [HostMedium], knowing others: [String] = [], relay: RelayOptions = RelayOptions()
  ) async throws -> Nearby.Host {
    var options = HostOptions()
    options.keys = .ephemeral
    options.listen = ["127.0.0.1"]
    options.discovery = .fixed(others)
    options.media = media
    options.relay = relay
    return try await Nearby.Host.start(options)
  }

  /// A host in the folder, one on the loopback, and a relay.
  private func startAll(
    relay: RelayOptions = RelayOptions()
  ) async throws -> (near: Nearby.Host, far: Nearby.Host, relay: Nearby.Host) {
    let (near, far) = (try await Self.start([folder, .relay]), try await Self.start([.lan, .relay]))
    return (near, far, try await Self.start([folder, .lan, .relay], knowing: await far.addresses, relay: relay))
  }

  private static func media(of host: Nearby.Host, to other: Nearby.Host) async -> [String] {
    await host.links.filter { $0.host == other.id && !$0.isStandby }.map(\.medium)
  }

  private static func expect(_ text: String, from: Session, to: Session) async throws {
    try await from.send(Array(text.utf8))
    for await event in to.events {
      guard case .message(let message) = event else { continue }
      #expect(message.bytes == Array(text.utf8))
      break
    }
  }

  private static func write(_ bytes: [UInt8], to writer: StreamWriter) async throws {
    try await writer.write(bytes)
    await writer.close()
  }

  @Test("P-SES-8 two hosts with no common medium find each other and talk through a third that has both, and leave")
  func meeting() async throws {
    let (adas, bobs, relay) = try await startAll()
    let (hers, his) = try await FolderTests.talk(adas, bobs)
    #expect(await Self.media(of: adas, to: bobs) == ["relay"])
    #expect(await Self.media(of: bobs, to: adas) == ["relay"])
    #expect(await adas.links.contains { $0.host == bobs.id && $0.relay == relay.id })
    #expect(await bobs.links.contains { $0.host == adas.id && $0.relay == relay.id })
    for host in [adas, bobs] {
      try await FolderTests.eventually(within: 15) { await FolderTests.isMeasured(host.links) }
    }

    let writer = try await hers.openStream("much", to: try #require(hers.members.first))
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 / 251) }
    // More than a window: it is read while it is written.
    async let written: Void = Self.write(bytes, to: writer)
    for await event in his.events {
      guard case .stream(let reader) = event else { continue }
      var read: [UInt8] = []
      for try await piece in reader { read += piece }
      #expect(read == bytes)
      break
    }
    try await written

    // The leave arrives before the links to the relay close.
    await adas.stop()
    for await event in his.events {
      guard case .member(_, .notConnected(let reason)) = event else { continue }
      #expect(reason == .left)
      break
    }
    await bobs.stop()
    await relay.stop()
  }

  @Test("P-SES-8 another relay takes over from one that goes, and nothing is lost")
  func nextRelay() async throws {
    let (adas, bobs, first) = try await startAll()
    let (hers, his) = try await FolderTests.talk(adas, bobs)
    let second = try await Self.start([folder, .lan, .relay], knowing: await bobs.addresses)
    try await FolderTests.eventually(within: 10) { await !second.links.isEmpty }
    await first.stop()
    try await Self.expect("through the second", from: hers, to: his)
    try await Self.expect("and back", from: his, to: hers)
    #expect(await Self.media(of: adas, to: bobs) == ["relay"])
    for host in [adas, bobs, second] { await host.stop() }
  }

  @Test("P-SES-8 a relay passes on no more than its rate, and all arrives")
  func rate() async throws {
    var options = RelayOptions()
    options.bytesPerSecondMax = 60_000
    let (adas, bobs, relay) = try await startAll(relay: options)
    let (hers, his) = try await FolderTests.talk(adas, bobs)
    let text = String(repeating: "slowly ", count: 30_000)
    let begun = ContinuousClock.now
    try await Self.expect(text, from: hers, to: his)
    // A second's worth may go at once.
    #expect(ContinuousClock.now - begun > .seconds(2))
    let link = try #require(await adas.links.first { $0.host == bobs.id && $0.relay == relay.id })
    // The rate of the last bytes, on a machine that has other work, too.
    #expect(link.bytesPerSecond.map { (2_000...200_000).contains($0) } == true, "\(link)")
    #expect(link.bytesSent > 200_000 && link.loss == 0)
    for host in [adas, bobs, relay] { await host.stop() }
  }

  @Test("P-SES-8 P-SES-9 a direct medium takes over from a relay, through which its address is learnt")
  func direct() async throws {
    let (adas, bobs) = (try await Self.start([folder, .lan, .relay]), try await Self.start([.lan, .relay]))
    let relay = try await Self.start([folder, .lan, .relay], knowing: await bobs.addresses)
    let (hers, his) = try await FolderTests.talk(adas, bobs)
    try await FolderTests.eventually(within: 15) { await Self.media(of: adas, to: bobs) == ["lan"] }
    try await Self.expect("directly", from: hers, to: his)
    for host in [adas, bobs, relay] { await host.stop() }
  }

  @Test("P-SES-8 members with no common medium are connected through one that has both, with no option")
  func members() async throws {
    let (adas, bobs) = (try await Self.start([folder]), try await Self.start([.lan]))
    let cleos = try await Self.start([folder, .lan], knowing: await bobs.addresses)
    var sessions: [Session] = []
    for (host, name) in [(adas, "Ada"), (bobs, "Bob"), (cleos, "Cleo")] {
      let session = try await host.peer(named: name).openSession()
      try await session.startAdhoc("mixed")
      sessions.append(session)
    }
    try await FolderTests.eventually(within: 20) { sessions.allSatisfy { $0.members.count == 2 } }
    #expect(await Self.media(of: adas, to: bobs) == ["relay"])
    #expect(sessions[0].members.first { $0.name == "Bob" }?.medium == "relay")
    #expect(sessions[0].members.first { $0.name == "Cleo" }?.medium == "folder")
    try await Self.expect("through a member", from: sessions[0], to: sessions[1])
    // Both ends may have dialled: one circuit is left.
    try await FolderTests.eventually { try await cleos.loop.run { $0.relayed.circuits == 1 && $0.relayed.bytes > 0 } }
    for host in [adas, bobs, cleos] { await host.stop() }
  }

  /// The bytes of others that wait in a relay; a byte of each is changed on request.
  private static func waiting(in relay: Nearby.Host, changing: Bool) async throws -> [[UInt8]] {
    try await relay.loop.run { driver in
      driver.call { engine, _ in
        engine.links.values.flatMap { $0.circuits?.legs.values ?? [] }.filter { $0.queue.count > 0 }.map { leg in
          var bytes = leg.queue.withBytes { [UInt8]($0) }
          if changing {
            bytes[bytes.count / 2] ^= 1
            leg.queue.removeAll()
            leg.queue.append(bytes.span.bytes)
          }
          return bytes
        }
      }
    }
  }

  @Test("P-SES-8 the bytes in a relay are not those of the ends, and a link of which it changes one ends")
  func secrecy() async throws {
    var options = RelayOptions()
    options.bytesPerSecondMax = 60_000
    let (adas, bobs, relay) = try await startAll(relay: options)
    let (hers, his) = try await FolderTests.talk(adas, bobs)
    func link() async throws -> LinkID? { try await bobs.loop.run { [id = adas.id] in $0.usedLink(to: id)?.id } }
    let before = try await link()
    let secret = "what nobody else may read"
    async let heard: Void = Self.expect(String(repeating: secret, count: 8_000), from: hers, to: his)
    var seen = 0
    try await FolderTests.eventually(within: 10) {
      for bytes in try await Self.waiting(in: relay, changing: seen >= 100_000) {
        #expect(!bytes.contains(Array(secret.utf8)))
        seen += bytes.count
      }
      return try await link() != before
    }
    try await heard
    #expect(seen >= 100_000)
    for host in [adas, bobs, relay] { await host.stop() }
  }
}
