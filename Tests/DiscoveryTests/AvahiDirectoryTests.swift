import Media
import Reactor
import Testing
import Wire

@testable import lab_rig

/// Real daemons, each in a machine of its own.
@Suite(.serialized) struct AvahiDirectoryTests {
  static let type = try! ServiceType("vic-test")  // A legal one.

  static func record(_ name: String, _ txt: [String], port: UInt16 = 7777) -> ServiceRecord {
    ServiceRecord(key: .init(type: type, name: name), port: port, txt: txt.map { Array($0.utf8) })
  }

  @Test func `a record is published and seen with its strings in order, changes in place, and goes`() async throws {
    await Lab.play { lab in
      let watcher = try await lab.watcher(on: lab.loner())
      try await watcher.waitUntilAvailable()
      let record = Self.record("first", ["z=1", "a=2", "=", "m"])
      await watcher.act {
        $0.browse(for: Self.type)
        $0.publish(record)
      }
      #expect(try await watcher.publishes(record.key) == "first")
      let seen = try await watcher.sees("first")
      #expect(seen.record.txt == record.txt)
      #expect(seen.record.port == 7777)
      #expect(seen.record.hostName == "h1.local")
      await watcher.act { $0.publish(Self.record("first", ["changed"])) }
      try await watcher.seesChange(of: seen.id) { $0.txt == [Array("changed".utf8)] }
      await watcher.act { $0.withdraw(record.key) }
      try await watcher.losesSight(of: seen.id)
    }
  }

  @Test func `P-NET-1 two hosts on a network see each other with all their addresses, the best first`() async {
    await Lab.play(2) { lab in
      let (left, right) = try lab.pair()
      let record = Self.record("there", ["hello"])
      await left.act { $0.browse(for: Self.type) }
      await right.act { $0.publish(record) }
      let seen = try await left.sees("there")
      let whole = try await left.seesChange(of: seen.id) { $0.addresses.count == 2 }
      #expect(whole.hostName == "h2.local")
      let (v4, v6) = (whole.addresses[0], whole.addresses[1])
      #expect(v4.description == "10.77.0.2:7777")
      #expect(v6.isLinkLocal && v6.port == 7777)
      if case .v6(_, let scope) = v6.host { #expect(scope != 0) }
      await right.act { $0.close() }
      try await left.losesSight(of: seen.id, within: .seconds(3))
    }
  }

  @Test func `P-NET-1 a record is one, however many networks and protocols show it`() async {
    await Lab.play(2) { lab in
      let second = try await lab.rig.addNetwork()
      for host in lab.hosts { try await host.plug(into: second) }
      let (left, right) = try lab.pair()
      await right.act { $0.publish(Self.record("there", ["hello"])) }
      await left.act { $0.browse(for: Self.type) }
      let seen = try await left.sees("there")
      let whole = try await left.seesChange(of: seen.id) { $0.addresses.count == 4 }
      #expect(Set(whole.addresses.prefix(2).map(\.description)) == ["10.77.0.2:7777", "10.78.0.2:7777"])
      try await lab.hosts[0].configure(["link set eth0 down"])
      try await left.seesChange(of: seen.id) {
        $0.addresses.count == 2 && $0.addresses.first?.description == "10.78.0.2:7777"
      }
      let appearances = await left.all().count { if case .appeared = $0 { true } else { false } }
      #expect(appearances == 1)
    }
  }

  @Test func `P-NET-1 an interface that goes takes its records along, and brings them back`() async {
    await Lab.play(2) { lab in
      let (left, right) = try lab.pair()
      await right.act { $0.publish(Self.record("there", ["hello"])) }
      await left.act { $0.browse(for: Self.type) }
      let seen = try await left.sees("there")
      try await lab.hosts[0].configure(["link set eth0 down"])
      try await left.losesSight(of: seen.id)
      try await lab.hosts[0].configure(["link set eth0 up"])
      let again = try await left.sees("there")
      #expect(again.id != seen.id)
    }
  }

  @Test func `P-NET-1 a host whose address changes is seen at its new one`() async {
    await Lab.play(2) { lab in
      let (left, right) = try lab.pair()
      await right.act { $0.publish(Self.record("there", ["hello"])) }
      await left.act { $0.browse(for: Self.type) }
      let seen = try await left.sees("there")
      try await left.seesChange(of: seen.id) { $0.addresses.count == 2 }
      try await lab.hosts[1].run(
        "sh", "-c",
        """
        echo 1 >/proc/sys/net/ipv4/conf/eth0/promote_secondaries
        ip addr add 10.77.0.9/24 dev eth0 && ip addr del 10.77.0.2/24 dev eth0
        """)
      try await left.seesChange(of: seen.id, within: .seconds(20)) {
        $0.addresses.first?.description == "10.77.0.9:7777"
      }
      let goings = await left.all().count { if case .gone = $0 { true } else { false } }
      #expect(goings == 0)
    }
  }

  @Test func `a name that another program of this machine has gives way to another one`() async {
    await Lab.play { lab in
      let host = try await lab.loner()
      let (first, second) = (try lab.watcher(on: host), try lab.watcher(on: host))
      let record = Self.record("same", ["first"])
      await first.act { $0.publish(record) }
      #expect(try await first.publishes(record.key) == "same")
      await second.act {
        $0.browse(for: Self.type)
        $0.publish(Self.record("same", ["second"]))
      }
      let name = try await second.publishes(record.key)
      #expect(name.hasPrefix("same-"))
      #expect(try await second.sees(name).record.txt == [Array("second".utf8)])
    }
  }

  @Test func `a name that another host has gives way to another one`() async {
    await Lab.play(2) { lab in
      let (left, right) = try lab.pair()
      // The name has the maximum length, so that the other one is cut.
      let name = "ééé" + String(repeating: "x", count: 57)
      let record = Self.record(name, ["left"])
      await left.act {
        $0.browse(for: Self.type)
        $0.publish(record)
      }
      #expect(try await left.publishes(record.key) == name)
      await right.act { $0.publish(Self.record(name, ["right"])) }
      let other = try await right.publishes(record.key)
      #expect(other != name && other.hasPrefix("ééé") && other.utf8.count <= 63)
      #expect(try await left.sees(other).record.txt == [Array("right".utf8)])
      // The record goes on under its new name.
      await right.act { $0.publish(Self.record(name, ["changed"])) }
      _ = try await left.hears("the change") {
        if case .changed(_, let record) = $0, record.txt == [Array("changed".utf8)] { true } else { nil }
      }
    }
  }

  @Test func `a record whose port changes is found at its new one`() async {
    await Lab.play { lab in
      let watcher = try await lab.watcher(on: lab.loner())
      await watcher.act {
        $0.browse(for: Self.type)
        $0.publish(Self.record("moves", ["x"]))
      }
      _ = try await watcher.sees("moves")
      await watcher.act { $0.publish(Self.record("moves", ["x"], port: 7778)) }
      _ = try await watcher.hears("the new port") {
        switch $0 {
        case .appeared(_, let record), .changed(_, let record): record.port == 7778 ? true : nil
        default: nil
        }
      }
    }
  }

  @Test func `P-BRO-2 of many changes at once the last one arrives, and few before it`() async {
    await Lab.play { lab in
      let watcher = try await lab.watcher(on: lab.loner())
      await watcher.act {
        $0.browse(for: Self.type)
        $0.publish(Self.record("busy", ["0"]))
      }
      let seen = try await watcher.sees("busy")
      for number in 1...100 { await watcher.act { $0.publish(Self.record("busy", ["\(number)"])) } }
      try await watcher.seesChange(of: seen.id) { $0.txt == [Array("100".utf8)] }
      let changes = await watcher.all().count { if case .changed = $0 { true } else { false } }
      #expect(changes <= 4)
    }
  }

  @Test func `what is looked for no more is gone, and nothing of it is told again`() async {
    await Lab.play { lab in
      let watcher = try await lab.watcher(on: lab.loner())
      await watcher.act {
        $0.browse(for: Self.type)
        $0.publish(Self.record("first", ["x"]))
      }
      let seen = try await watcher.sees("first")
      await watcher.act { $0.stopBrowsing(for: Self.type) }
      try await watcher.losesSight(of: seen.id)
      await watcher.act { $0.publish(Self.record("second", ["x"])) }
      try await watcher.publishes(.init(type: Self.type, name: "second"))
      await watcher.act { $0.browse(for: Self.type) }
      _ = try await watcher.sees("second")
      let appearances = await watcher.all().count { if case .appeared = $0 { true } else { false } }
      #expect(appearances <= 3)
    }
  }
}
