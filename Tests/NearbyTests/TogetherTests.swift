import Media
import Store
import Synchronization
import Testing
import Wire

@testable internal import Nearby

@Suite("What is made to happen together", .timeLimit(.minutes(1)))
struct TogetherTests {
  @Test("All that is sent together is stored with every note of it, as one")
  func notes() async throws {
    let (bob, folder, scribe) = (Home("Bob"), TemporaryFolder(), Scribe())
    try await bob.start()
    var options = HostOptions()
    options.keys = .folder("\(folder.path)/keys")
    options.discovery = .fixed([bob.place])
    let writer = try Writer("\(folder.path)/host.db")
    let host = try await Nearby.Host.start(options, carrying: Cargo(writer, peers: [], scribe))
    let peer = try await host.peer(named: "Ada")
    let session = try await peer.openSession()
    try await meet(peer, session, bob)
    let row = Array(host.id.text.utf8)
    let payloads = (0..<3).map { Array("one of those that go together: \($0)".utf8) }
    try await host.loop.run { core in
      try core.together {
        for payload in payloads {
          _ = try session.dispatch(payload, .reliable, wantsFate: true)
          scribe.notes.append(
            Note { database in
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

  @Test("What one peer of a host has for another, and what becomes of it, is noted in the turn in which it is sent")
  func local() async throws {
    let (folder, scribe) = (TemporaryFolder(), Scribe())
    var options = HostOptions()
    options.keys = .folder("\(folder.path)/keys")
    options.discovery = .fixed([])
    let writer = try Writer("\(folder.path)/host.db")
    let host = try await Nearby.Host.start(options, carrying: Cargo(writer, peers: [], scribe))
    let (ada, bob) = (try await host.peer(named: "Ada"), try await host.peer(named: "Bob"))
    let (session, his) = (try await ada.openSession(), try await bob.openSession())
    let advertiser = try await bob.advertise("talk")
    async let invited: Void = session.invite(bob.id, as: "talk")
    for await invitation in advertiser.invitations {
      try await invitation.accept(with: his)
      break
    }
    try await invited
    let isTold = try await host.loop.run { core in
      var noted: [String] = []
      try core.together {
        _ = try session.dispatch(Array("all at once".utf8), .reliable, wantsFate: true)
        noted = scribe.told
      }
      return noted == ["heard", "delivered"]
    }
    #expect(isTold)
    // Its fate is told to the program once it is stored, and it is.
    let member = try #require(session.members.first)
    try await session.deliver(Array("and then".utf8), to: member)
    await host.stop()
  }

  private func meet(_ peer: Peer, _ session: Session, _ bob: Home) async throws {
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

/// Notes what it is given, and how many messages each note has found stored along with it.
private final class Scribe: Witness {
  /// Unsafe for the compiler: it is touched on the loop alone.
  nonisolated(unsafe) var notes: [Note] = []
  /// Unsafe for the compiler, in the same way.
  nonisolated(unsafe) var told: [String] = []
  private let found = Mutex<[Int]>([])

  var counts: [Int] { found.withLock { $0 } }

  func found(_ count: Int) { found.withLock { $0.append(count) } }

  func heard(_ message: Message, in session: EndpointID) { told.append("heard") }
  func settled(_ message: UInt64, for recipients: [EndpointID], _ fate: Fate, in session: EndpointID) {
    told.append("\(fate)")
  }
  func ended(_ resource: UInt64, _ reason: Reason, at path: String?) {}

  func takeNotes() -> [Note] {
    defer { notes = [] }
    return notes
  }
}
