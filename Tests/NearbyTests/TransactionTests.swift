import Media
import Reactor
import Store
import Synchronization
import TestKit
import Testing
import Wire

@testable internal import Nearby

@Suite("What is made to happen together", .timeLimit(.minutes(1)))
struct TransactionTests {
  @Test("All that is sent together is stored with every note of it, as one")
  func notes() async throws {
    let (bob, folder, scribe) = (DurableHost("Bob"), TemporaryFolder(), RecordingObserver())
    try await bob.start()
    let (host, _) = try await keeper(in: folder, scribe, at: [bob.place])
    let peer = try await host.peer(named: "Ada")
    let session = try await peer.openSession()
    try await meet(peer, session, bob)
    let row = Array(host.id.text.utf8)
    let payloads = (0..<3).map { Array("one of those that go together: \($0)".utf8) }
    try await host.loop.run { driver in
      try driver.inTransaction {
        for payload in payloads {
          _ = try session.dispatch(payload, .reliable, wantsDeliveryStatus: true)
          scribe.notes.append(
            PendingWrite { database in
              let values = try database.facts(of: row).map(\.value)
              scribe.found(payloads.count { payload in values.contains { $0.contains(payload) } })
            })
        }
      }
    }
    for payload in payloads {
      let got = try await bob.next { if case .message(let message) = $0 { message.bytes } else { nil } }
      #expect(got == payload)
    }
    #expect(scribe.counts == [3, 3, 3])
    await host.stop()
    await bob.stop()
  }

  @Test("A message between two peers of a host, and its status, are recorded in the turn in which it is sent")
  func local() async throws {
    let (folder, scribe) = (TemporaryFolder(), RecordingObserver())
    let (host, _) = try await keeper(in: folder, scribe)
    let (ada, bob) = (try await host.peer(named: "Ada"), try await host.peer(named: "Bob"))
    let (session, his) = (try await ada.openSession(), try await bob.openSession())
    let advertiser = try await bob.advertise("talk")
    async let invited: Void = session.invite(bob.id, as: "talk")
    for await invitation in advertiser.invitations {
      try await invitation.accept(with: his)
      break
    }
    try await invited
    let isTold = try await host.loop.run { driver in
      var noted: [String] = []
      try driver.inTransaction {
        _ = try session.dispatch(Array("all at once".utf8), .reliable, wantsDeliveryStatus: true)
        noted = scribe.told
      }
      return noted == ["heard", "delivered"]
    }
    #expect(isTold)
    // Its delivery is reported to the program once it is stored, and it is.
    let member = try #require(session.members.first)
    try await session.deliver(Array("and then".utf8), to: member)
    await host.stop()
  }

  @Test("Sessions that are observed have what they have in common reported once, and nothing in their own queues")
  func observed() async throws {
    let (folder, scribe) = (TemporaryFolder(), RecordingObserver())
    let (host, _) = try await keeper(in: folder, scribe)
    var sessions: [Session] = []
    for name in ["Ada", "Bob", "Cid"] {
      let peer = try await host.peer(named: name)
      sessions.append(try await peer.openSession())
    }
    let earlier = try await host.loop.run { [sessions] _ in sessions.map { $0.observe()?.count } }
    #expect(earlier == [0, 0, 0])
    for session in sessions { try await session.startAdhoc("talk") }
    for session in sessions {
      while session.members.count < 2 { try await host.loop.run { _ in } }
    }
    let (heard, lists) = try await host.loop.run { [first = sessions[0]] _ in
      scribe.events = []
      _ = try first.dispatch(Array("to all".utf8), .reliable, wantsDeliveryStatus: false)
      return (scribe.told.count { $0 == "heard" }, scribe.events.map { Set($0.sessions) })
    }
    #expect(heard == 1 && lists == [Set(sessions.dropFirst().map(\.id))])
    await host.stop()
    for session in sessions {
      for await event in session.events { Issue.record("\(event) is in the queue of a session") }
    }
  }

  @Test("A loop that is behind stores together what is noted within a moment, and one that is not waits for nothing")
  func behind() async throws {
    let (folder, scribe) = (TemporaryFolder(), RecordingObserver())
    let (host, writer) = try await keeper(in: folder, scribe)
    #expect(try await keep(20, host, scribe) <= 5)
    try await host.loop.run { scribe.keepsBusy($0.reactor) }
    let (start, before) = (ContinuousClock.now, writer.meter.commits)
    let waits = try await withThrowingTaskGroup { tasks in
      for _ in 0..<8 { tasks.addTask { try await keep(20, host, scribe) } }
      return try await tasks.reduce(0, +)
    }
    #expect(waits == 160)
    let commits = writer.meter.commits - before
    #expect(commits > 0 && Double(commits) <= (ContinuousClock.now - start) / HostDriver.commitDelay + 2)
    await host.stop()
  }

  @Test("A write that waits for more when its host ends is stored first")
  func ending() async throws {
    let (folder, scribe) = (TemporaryFolder(), RecordingObserver())
    let (host, _) = try await keeper(in: folder, scribe)
    let isStored = Mutex<Bool?>(nil)
    let waiting = AsyncStream<Bool>.makeStream()
    try await host.loop.run { driver in
      scribe.keepsBusy(driver.reactor)
      scribe.notes.append(
        PendingWrite({ _ in }) { _ in
          scribe.notes.append(PendingWrite({ _ in }) { stored in isStored.withLock { $0 = stored } })
          driver.inTransaction {}
          waiting.continuation.yield(driver.writes.isDelaying && driver.writes.current == nil)
          driver.suspend()
        })
      driver.inTransaction {}
    }
    // The host waits until the first one is stored: a host that ends before that has no more delays.
    let waited = await waiting.stream.first { _ in true }
    await host.suspend()
    #expect(waited == true && isStored.withLock { $0 } == true)
  }

  private func keeper(
    in folder: TemporaryFolder, _ scribe: RecordingObserver, at places: [String] = []
  ) async throws -> (Nearby.Host, Writer) {
    var options = HostOptions()
    options.keys = .folder("\(folder.path)/keys")
    options.discovery = .fixed(places)
    let writer = try Writer("\(folder.path)/host.db", schema: .host)
    return (try await Nearby.Host.start(options, carrying: HostExtension(writer, peers: [], scribe)), writer)
  }

  /// Stores so many writes, one after the other; returns after how many of them the host delays a commit.
  private func keep(_ count: Int, _ host: Nearby.Host, _ scribe: RecordingObserver) async throws -> Int {
    var waits = 0
    for _ in 0..<count {
      let waiting = AsyncStream<Bool>.makeStream()
      try await host.loop.run { driver in
        scribe.notes.append(PendingWrite({ _ in }) { _ in waiting.continuation.yield(driver.writes.isDelaying) })
        driver.inTransaction {}
      }
      for await isWaiting in waiting.stream {
        waits += isWaiting ? 1 : 0
        break
      }
    }
    return waits
  }

  private func meet(_ peer: Peer, _ session: Session, _ bob: DurableHost) async throws {
    let advertiser = try await bob.peer.advertise("talk")
    let browser = try await peer.browse("talk")
    for await event in browser.events { if case .found = event { break } }
    let his = try bob.session
    async let invited: Void = session.invite(his.peer, as: "talk")
    for await invitation in advertiser.invitations {
      try await invitation.accept(with: his)
      break
    }
    try await invited
  }
}

/// Records its calls, and how many messages each write has found stored with it.
private final class RecordingObserver: TransactionObserver {
  /// Unsafe for the compiler: it is touched on the loop alone.
  nonisolated(unsafe) var notes: [PendingWrite] = []
  /// Unsafe for the compiler, in the same way.
  nonisolated(unsafe) var told: [String] = []
  /// Unsafe for the compiler, in the same way.
  nonisolated(unsafe) var events: [(event: SessionEvent, sessions: [EndpointID])] = []
  private let found = Mutex<[Int]>([])

  var counts: [Int] { found.withLock { $0 } }

  /// Makes something due in each turn from now on.
  func keepsBusy(_ reactor: Reactor) {
    reactor.schedule(after: .zero) { [weak self, unowned reactor] in self?.keepsBusy(reactor) }
  }

  func found(_ count: Int) { found.withLock { $0.append(count) } }

  func heard(_ message: Message, in sessions: [EndpointID]) { told.append("heard") }
  func handle(_ event: SessionEvent, in sessions: [EndpointID]) { events.append((event, sessions)) }
  func changed(_ members: [Member], _ state: MemberState, in sessions: [EndpointID]) {
    for member in members { events.append((.member(member, state), sessions)) }
  }
  func adhocChanged(_ state: DiscoveryState, in session: EndpointID) {}
  func closed(_ session: EndpointID) {}
  func settled(_ message: UInt64, for recipients: [EndpointID], _ status: DeliveryStatus, in session: EndpointID) {
    told.append("\(status)")
  }
  func ended(_ resource: UInt64, _ reason: Reason, at path: String?) {}

  func takePendingWrites() -> [PendingWrite] {
    defer { notes = [] }
    return notes
  }
}

extension PendingWrite {
  init(
    _ change: @escaping @Sendable (Database) throws -> Void, settle: @escaping (_ isStored: Bool) -> Void = { _ in }
  ) {
    self.init(DatabaseChange(change), settle: settle)
  }
}
