import Testing
import Wire

@testable import Engine

/// Members in the same state are stored with one row for that state, however many they are.
@Suite struct CohortRowTests {
  let network = TestNetwork()

  /// Three peers of a durable host and so many of another one, in one session.
  private func crowd(of count: Int) throws -> [TestPeer] {
    var settings = Settings()
    settings.isDurable = true
    let first = try network.silentPeer("a0", SessionSettings(), settings)
    let other = try network.silentPeer("b0", SessionSettings(), settings)
    var peers = [first, other]
    for number in 1..<count {
      if number < 3 { peers.append(try network.silentPeer("a\(number)", on: first.host)) }
      peers.append(try network.silentPeer("b\(number)", on: other.host))
    }
    for peer in peers {
      try peer.startAdhoc()
      network.run(.milliseconds(5))
    }
    network.run(.seconds(10))
    network.expectAllConnected(peers)
    return peers
  }

  private func isCohort(_ key: [UInt8]) -> Bool { if case .cohort? = RowKey(bytes: key) { true } else { false } }

  private func cohortCount(of host: TestNetwork.Host) -> Int { host.facts.keys.count(where: isCohort) }

  @Test(
    "A newcomer costs its host, and others, as many rows in a crowd as among a few", arguments: ["on", "off"])
  func newcomer(place: String) throws {
    var counts: [[Int]] = []
    for size in [8, 48] {
      let test = CohortRowTests()
      let peers = try test.crowd(of: size)
      let hosts = [peers[0].host, peers[1].host]
      for host in hosts { host.rowCount = 0 }
      let newcomer = try test.network.silentPeer("late", on: hosts[place == "on" ? 0 : 1])
      try newcomer.startAdhoc()
      test.network.run(.seconds(1))
      #expect(newcomer.engine.connectedMembers(of: newcomer.endpoint).count == size + 3)
      counts.append(hosts.map(\.rowCount))
    }
    #expect(counts[0] == counts[1])
    #expect(counts[1].allSatisfy { $0 < 40 })
  }

  @Test("Members come back from the rows of their cohorts, and none of an earlier run are left") func comeBack() throws
  {
    let peers = try crowd(of: 8)
    let (host, here) = (peers[0].host, peers.filter { $0.host === peers[0].host })
    #expect(cohortCount(of: host) == 1)
    let again = try network.restart(here)
    network.run(.seconds(1))
    network.expectAllConnected(again + peers.filter { $0.host !== host })
    #expect(cohortCount(of: again[0].host) == 1)
    for peer in again { peer.leave() }
    network.run(.seconds(1))
    #expect(cohortCount(of: again[0].host) == 0)
  }

  @Test("Members come back from rows of an earlier version, which have their state themselves") func earlier() throws {
    let peers = try crowd(of: 8)
    let (host, here) = (peers[0].host, peers.filter { $0.host === peers[0].host })
    let again = try network.restart(here) { facts in
      facts.compactMap { fact in
        if self.isCohort(fact.key) { return nil }
        guard case .member(let group, _)? = RowKey(bytes: fact.key) else { return fact }
        return Fact(key: fact.key, value: fact.value.map { self.earlierRow($0, in: group, of: facts) })
      }
    }
    network.run(.seconds(1))
    network.expectAllConnected(again + peers.filter { $0.host !== host })
  }

  private func earlierRow(_ bytes: [UInt8], in group: Int, of facts: [Fact]) -> [UInt8] {
    var reader = Reader(unsafe bytes.span.bytes)
    guard var row = try? MemberRow(from: &reader) else { return bytes }
    let key = RowKey.cohort(group, row.cohort).bytes
    if let state = facts.first(where: { $0.key == key })?.value {
      var reader = Reader(unsafe state.span.bytes)
      if let state = try? CohortRow(from: &reader) { row.ownState = state }
    }
    row.cohort = 0
    var sink = ArraySink()
    row.encode(into: &sink)
    // It ends before the number of a cohort.
    return Array(sink.bytes.dropLast())
  }
}
