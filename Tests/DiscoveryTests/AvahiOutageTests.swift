import Glibc
import Media
import Reactor
import Testing
import Wire

@testable import lab_rig

/// A directory whose daemon misbehaves.
@Suite(.serialized) struct AvahiOutageTests {
  private typealias Tests = AvahiDirectoryTests

  @Test func `P-ADV-5 without D-Bus it says what to install, and goes on by itself once all is there`() async {
    await Lab.play { lab in
      let host = lab.hosts[0]
      try await host.stopAvahi()
      try await host.stopBus()
      let watcher = try lab.watcher(on: host)
      let record = Tests.record("patient", ["x"])
      await watcher.act {
        $0.browse(for: Tests.type)
        $0.publish(record)
      }
      let noBus = try await watcher.waitUntilUnavailable()
      #expect(noBus.cause.contains("no D-Bus") && noBus.cure.contains("apt install"))
      try await host.startBus()
      let noDaemon = try await watcher.waitUntilUnavailable()
      #expect(noDaemon.cause.contains("does not run") && noDaemon.cure.contains("systemctl start"))
      try await host.startAvahi("allow-interfaces=lo")
      try await watcher.waitUntilAvailable()
      try await watcher.publishes(record.key)
      _ = try await watcher.sees("patient")
    }
  }

  @Test func `P-ADV-5 a daemon that is killed and started again finds everything as it was`() async {
    await Lab.play { lab in
      let host = try await lab.loner()
      let (viewer, stayer, leaver) = (try lab.watcher(on: host), try lab.watcher(on: host), try lab.watcher(on: host))
      await stayer.act { $0.publish(Tests.record("stays", ["x"])) }
      await leaver.act { $0.publish(Tests.record("leaves", ["x"])) }
      await viewer.act { $0.browse(for: Tests.type) }
      try await stayer.publishes(.init(type: Tests.type, name: "stays"))
      let seen = try await viewer.sees(all: ["stays", "leaves"])
      let before = await viewer.all().count
      try await host.stopAvahi(by: SIGKILL)
      _ = try await viewer.waitUntilUnavailable()
      await leaver.act { $0.close() }
      try await host.startAvahi("allow-interfaces=lo")
      try await viewer.waitUntilAvailable()
      try await stayer.publishes(.init(type: Tests.type, name: "stays"))
      try await viewer.losesSight(of: try #require(seen["leaves"]))
      let after = await viewer.all().dropFirst(before)
      #expect(after.count { if case .gone = $0 { true } else { false } } == 1)
      #expect(!after.contains { if case .appeared = $0 { true } else { false } })
    }
  }

  @Test func `a bus that ends and comes back is no end`() async {
    await Lab.play { lab in
      let host = try await lab.loner()
      let watcher = try lab.watcher(on: host)
      await watcher.act {
        $0.browse(for: Tests.type)
        $0.publish(Tests.record("stays", ["x"]))
      }
      _ = try await watcher.sees("stays")
      try await host.stopBus(by: SIGKILL)
      _ = try await watcher.waitUntilUnavailable()
      try await host.stopAvahi(by: SIGKILL)
      try await host.startBus()
      try await host.startAvahi("allow-interfaces=lo")
      try await watcher.waitUntilAvailable(within: .seconds(15))
      try await watcher.publishes(.init(type: Tests.type, name: "stays"))
      await watcher.act { $0.withdraw(.init(type: Tests.type, name: "stays")) }
      _ = try await watcher.hears("gone") { if case .gone = $0 { true } else { nil } }
    }
  }

  @Test func `a daemon that does not answer holds up nobody but itself`() async {
    await Lab.play { lab in
      let host = try await lab.loner()
      let watcher = try lab.watcher(on: host)
      try await watcher.waitUntilAvailable()
      try await host.avahi?.signal(SIGSTOP)
      let start = Reactor.now
      for number in 0..<10 { await watcher.act { $0.publish(Tests.record("\(number)", ["x"])) } }
      await watcher.act { $0.browse(for: Tests.type) }
      #expect(Reactor.now - start < 1_000_000_000)
      try await host.avahi?.signal(SIGCONT)
      _ = try await watcher.sees(all: Set((0..<10).map { "\($0)" }))
    }
  }

  @Test func `whoever closes while the daemon does not answer does not wait either`() async {
    await Lab.play { lab in
      let host = try await lab.loner()
      let watcher = try lab.watcher(on: host)
      try await watcher.waitUntilAvailable()
      try await host.avahi?.signal(SIGSTOP)
      await watcher.act { $0.publish(Tests.record("late", ["x"])) }
      let start = Reactor.now
      await watcher.act { $0.close() }
      #expect(Reactor.now - start < 1_000_000_000)
      try await host.avahi?.signal(SIGCONT)
    }
  }
}
