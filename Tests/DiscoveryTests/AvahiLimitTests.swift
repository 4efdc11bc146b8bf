import Media
import Reactor
import Testing
import Wire

@testable import lab_rig

/// Limits on what others put on the network, and on the daemon.
@Suite(.serialized) struct AvahiLimitTests {
  private typealias Tests = AvahiDirectoryTests

  @Test func `P-BRO-4 P-ADV-5 a type that the daemon refuses is told, with what to do`() async {
    await Lab.play { lab in
      let watcher = try await lab.watcher(on: lab.loner())
      // Legal by RFC 6335, and refused all the same.
      let type = try ServiceType("x")
      let record = ServiceRecord(key: .init(type: type, name: "short"), port: 7777, txt: [])
      await watcher.act {
        $0.publish(record)
        $0.browse(for: type)
      }
      var troubles: [Trouble] = []
      while troubles.count < 2 {
        troubles.append(
          try await watcher.hears("refusal \(troubles.count)") {
            switch $0 {
            case .notPublished(record.key, let trouble), .notLooking(type, let trouble): trouble
            default: nil
            }
          })
      }
      #expect(troubles.allSatisfy { $0.cure.contains("two to fifteen") })
    }
  }

  @Test func `P-ADV-5 a record that the daemon has no room for is told, and published once there is some`() async {
    await Lab.play { lab in
      let host = try await lab.loner("objects-per-client-max=3")
      let watcher = try lab.watcher(on: host)
      try await watcher.waitUntilAvailable()
      await watcher.act { for number in 1...4 { $0.publish(Tests.record("\(number)", ["x"])) } }
      let refused = try await watcher.hears("a refusal") {
        if case .notPublished(let key, let trouble) = $0 { (key, trouble) } else { nil }
      }
      #expect(refused.1.cure.contains("objects-per-client-max"))
      let other = refused.0.name == "1" ? "2" : "1"
      await watcher.act { $0.withdraw(.init(type: Tests.type, name: other)) }
      try await watcher.publishes(refused.0)
    }
  }

  @Test func `P-ADV-5 a record that the daemon refuses leaves the others of its type alone`() async {
    await Lab.play { lab in
      let watcher = try await lab.watcher(on: lab.loner())
      // More than a label of DNS holds.
      let long = Tests.record(String(repeating: "x", count: 64), ["x"])
      let good = Tests.record("good", ["x"])
      await watcher.act {
        $0.publish(long)
        $0.publish(good)
      }
      try await watcher.publishes(good.key)
      let trouble = try await watcher.hears("a refusal") {
        if case .notPublished(long.key, let trouble) = $0 { trouble } else { nil }
      }
      #expect(!trouble.cause.isEmpty && !trouble.cure.isEmpty)
    }
  }

  @Test func `P-BRO-4 a search is told once it has begun, and again after the daemon was away`() async {
    await Lab.play { lab in
      let host = try await lab.loner()
      let watcher = try lab.watcher(on: host)
      await watcher.act { $0.browse(for: Tests.type) }
      try await watcher.hears("a search") { if case .looking(Tests.type) = $0 { () } else { nil } }
      try await host.stopAvahi()
      _ = try await watcher.waitUntilUnavailable()
      try await host.startAvahi("allow-interfaces=lo")
      try await watcher.hears("the search again") { if case .looking(Tests.type) = $0 { () } else { nil } }
    }
  }

  @Test func `a record with more text than is kept is not shown, until it says less`() async {
    await Lab.play { lab in
      let watcher = try await lab.watcher(on: lab.loner())
      let much = (0..<17).map { _ in String(repeating: "x", count: 240) }
      await watcher.act {
        $0.browse(for: Tests.type)
        $0.publish(Tests.record("loud", much))
        $0.publish(Tests.record("quiet", ["x"]))
      }
      _ = try await watcher.sees("quiet")
      try await watcher.publishes(.init(type: Tests.type, name: "loud"))
      await watcher.act { $0.publish(Tests.record("loud", Array(much.dropLast()))) }
      let seen = try await watcher.sees("loud")
      #expect(seen.record.txt.count == 16)
      await watcher.act { $0.publish(Tests.record("loud", much)) }
      try await watcher.losesSight(of: seen.id)
    }
  }

  @Test func `strings of any bytes come as they were sent`() async {
    await Lab.play(2) { lab in
      let (left, right) = try lab.pair()
      let strings: [[UInt8]] = [[0], Array(0...254), [255, 254], [61], Array("a=é".utf8), [0xc3]]
      let record = ServiceRecord(key: .init(type: Tests.type, name: "odd \" \\ . name"), port: 1, txt: strings)
      await left.act { $0.browse(for: Tests.type) }
      await right.act { $0.publish(record) }
      #expect(try await left.sees(record.key.name).record.txt == strings)
      let bare = ServiceRecord(key: .init(type: Tests.type, name: "bare"), port: 1, txt: [])
      await right.act { $0.publish(bare) }
      #expect(try await left.sees("bare").record.txt == [])
    }
  }

  @Test func `where the daemon allows few resolvers, all records are seen by turns, and how each changes`() async {
    await Lab.play(2) { lab in
      try await lab.hosts[0].stopAvahi()
      try await lab.hosts[0].startAvahi("objects-per-client-max=4")
      var limits = AvahiDirectory.Limits()
      limits.refresh = .milliseconds(100)
      let (left, right) = (try lab.watcher(on: lab.hosts[0], limits), try lab.watcher(on: lab.hosts[1]))
      // Three are left, and each record would take two.
      let names = (0..<8).map { "\($0)" }
      await right.act { for name in names { $0.publish(Tests.record(name, ["old"])) } }
      await left.act { $0.browse(for: Tests.type) }
      let seen = try await left.sees(all: Set(names))
      await right.act { for name in names { $0.publish(Tests.record(name, ["new"])) } }
      for id in seen.values { try await left.seesChange(of: id) { $0.txt == [Array("new".utf8)] } }
      await right.act { for name in names { $0.withdraw(.init(type: Tests.type, name: name)) } }
      for id in seen.values { try await left.losesSight(of: id) }
    }
  }

  @Test func `records past the limit are not seen, until there is room for them again`() async {
    await Lab.play { lab in
      let host = try await lab.loner()
      var limits = AvahiDirectory.Limits()
      limits.recordsMax = 4
      let (watcher, other) = (try lab.watcher(on: host, limits), try lab.watcher(on: host))
      let names = (0..<7).map { "\($0)" }
      await other.act { for name in names { $0.publish(Tests.record(name, ["x"])) } }
      for name in names { try await other.publishes(.init(type: Tests.type, name: name)) }
      await watcher.act { $0.browse(for: Tests.type) }
      var seen: [String: SeenID] = [:]
      func seesMore() async throws {
        let more = try await watcher.hears("a record") {
          if case .appeared(let id, let record) = $0 { (record.name, id) } else { nil }
        }
        #expect(seen.updateValue(more.1, forKey: more.0) == nil)
      }
      for _ in 0..<4 { try await seesMore() }
      let first = seen
      await other.act { for name in first.keys { $0.withdraw(.init(type: Tests.type, name: name)) } }
      for id in first.values { try await watcher.losesSight(of: id) }
      for _ in 0..<3 { try await seesMore() }
      #expect(Set(seen.keys) == Set(names))
    }
  }

  @Test func `a host that is renamed has its records under its new name, gone for a moment at most`() async {
    await Lab.play(2) { lab in
      let (left, right) = try lab.pair()
      await right.act { $0.publish(Tests.record("there", ["x"])) }
      await left.act { $0.browse(for: Tests.type) }
      _ = try await left.sees("there")
      try await lab.hosts[1].run("avahi-set-host-name", "other")
      // The daemon sends a goodbye for the record of the old name, which lasts another second, and probes for the new
      // name for three quarters of one and more: the new announcement then mostly comes in time.
      try await left.hears("the record under the new name") {
        switch $0 {
        case .changed(_, let record), .appeared(_, let record): record.hostName == "other.local" ? () : nil
        default: nil
        }
      }
      let events = await left.all()
      let appeared = events.count { if case .appeared = $0 { true } else { false } }
      let gone = events.count { if case .gone = $0 { true } else { false } }
      #expect(appeared - gone == 1 && appeared <= 2)
    }
  }

  @Test func `P-ADV-2 sixteen peers with all the discovery info there may be are found across a network`() async {
    await Lab.play(2) { lab in
      let (left, right) = try lab.pair()
      let info = try DiscoveryInfo(
        Dictionary(uniqueKeysWithValues: "abcd".map { ("\($0)", String(repeating: $0, count: 253)) }))
      #expect(info.byteCount == Limits.discoveryInfoBytesMax)
      let host = HostID(ID128(high: 1, low: 2))
      let announcements = try (0..<16).map { number in
        let name = try DisplayName(String(repeating: "é", count: 31) + "\(number % 10)")
        return Announcement.peer(PeerID(ID128(high: 3, low: UInt64(number))), host: host, name: name, info: info)
      }
      await left.act { $0.browse(for: Tests.type) }
      await right.act {
        for (number, announcement) in announcements.enumerated() {
          $0.publish(
            ServiceRecord(key: .init(type: Tests.type, name: "\(number)"), port: 7777, txt: announcement.txt))
        }
      }
      for (number, announcement) in announcements.enumerated() {
        let seen = try await left.sees("\(number)")
        #expect(try Announcement(txt: seen.record.txt) == announcement)
      }
    }
  }
}
