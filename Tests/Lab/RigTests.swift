import Glibc
import Testing

@testable import lab_rig

extension LabTests {
  /// The laboratory itself: what it shows would be worth nothing if it did not hold.
  @Suite @Laboratory
  struct RigTests {
    @Test func `Hosts find each other by Avahi, over IPv4 and IPv6`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        let browser = try b.browse("rig-sight")
        let service = try await a.publish("Ann", "rig-sight")
        try await browser.tells("=", "Ann", ";IPv4;Ann;_rig-sight._tcp;local;h1.local;10.77.0.1;7777;")
        try await browser.tells("=", "Ann", ";IPv6;Ann;_rig-sight._tcp;local;h1.local;fe80::1;7777;")
        try await service.signal(SIGKILL)
        try await browser.tells("-", "Ann")
      }
    }

    @Test func `Eight hosts are up in a few seconds, and each reaches each`() async throws {
      let start = ContinuousClock.now
      let rig = try await Rig.start(hosts: 8)
      let time = ContinuousClock.now - start
      print("eight hosts were up after \(time)")
      #expect(time < .seconds(6))
      for host in rig.hosts {
        for other in rig.hosts { #expect(try await host.reaches(other)) }
      }
      try await rig.close()
    }

    @Test func `Two rigs at a time have the same addresses and never meet`() async throws {
      try await Rig.lend(2) { one in
        try await Rig.lend(2) { other in
          let browser = try other.hosts[1].browse("rig-apart")
          let service = try await one.hosts[0].publish("Ann", "rig-apart")
          let own = try await other.hosts[0].publish("Bob", "rig-apart")
          try await browser.tells("=", "Bob")
          #expect(!browser.output.contains("Ann"))
          #expect(one.hosts[0].cable.address == other.hosts[0].cable.address)
          try await service.end()
          try await own.end()
        }
      }
    }

    @Test func `A rig that is closed leaves no process, namespace or mount`() async throws {
      let rig = try await Rig.start(hosts: 3)
      let service = try await rig.hosts[0].publish("Ann", "rig-close")
      let frozen = try rig.hosts[1].start("cat")
      try await frozen.signal(SIGSTOP)
      let places = try Place.all(of: rig)
      #expect(places.count == 4)
      #expect(try Place.inUse().isSuperset(of: places))
      try await rig.close()
      #expect(try Place.inUse().isDisjoint(with: places))
      #expect(service.ending == .killed(by: SIGKILL))
      #expect(frozen.ending == .killed(by: SIGKILL))
    }

    @Test func `A run that is killed leaves nothing, whatever its programs are at`() async throws {
      let run = try Program("run", [Rig.buildFolder + "lab-rig", "2"])
      _ = try await run.line("its hosts", within: .seconds(20)) { $0.hasPrefix("Say here") }
      let places = try Place.below(run)
      #expect(places.count >= 3)
      try await run.signal(SIGKILL)
      try await run.ended()
      try await Laboratory.wait(until: "its namespaces are gone", within: .seconds(5)) {
        try Place.inUse().isDisjoint(with: places)
      }
    }

    @Test(.enabled("user 65534 may run what was built here, and make user namespaces") { try await isForAnybody() })
    func `A rig needs no root`() async throws {
      let run = try Program("run", Self.asNobody + [Rig.buildFolder + "lab-rig", "2"])
      _ = try await run.line("its hosts", within: .seconds(20)) { $0.hasPrefix("Say here") }
      try run.say("loss h1 10")
      try run.say("rate h2 100000")
      try run.say("cut h1")
      try run.say("quit")
      #expect(try await run.ended(within: .seconds(10)) == .exited(0))
      #expect(!run.output.contains("refused"))
    }

    private static let asNobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"]

    @Sendable
    private static func isForAnybody() async throws -> Bool {
      let command = ["unshare", "--user", "--map-root-user", "test", "-x", Rig.buildFolder + "lab-rig"]
      return try await Program("nobody", asNobody + command).ended() == .exited(0)
    }

    @Test func `Programs die with their host, its disk stays, and no goodbye is heard`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        try await a.run("sh", "-c", "echo here >\(LabHost.home)/note")
        let browser = try b.browse("rig-power")
        let service = try await a.publish("Ann", "rig-power")
        try await browser.tells("=", "Ann")
        try await a.kill()
        #expect(service.ending == .killed(by: SIGKILL))
        #expect(try await !b.reaches("10.77.0.1"))
        #expect(!browser.output.contains("\n-;"))
        try await a.boot()
        #expect(try await b.reaches(a))
        #expect(try await a.run("cat", "\(LabHost.home)/note") == "here")
      }
    }

    @Test func `A rig that was used is as good as new`() async throws {
      try await Rig.lend(1) { rig in
        try await rig.hosts[0].run("touch", "\(LabHost.home)/file")
        try await rig.hosts[0].cable.set(Faults(isCut: true, lossIn: 1, bytesPerSecondMax: 1_000, isIsolated: true))
        try await rig.hosts[0].cable.change("10.77.0.1/24", to: "10.77.0.99/24")
        try await rig.hosts[0].plug(into: rig.addNetwork())
        try await rig.hosts[0].stopBus(by: SIGKILL)
      }
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        #expect(try await a.run("ls", "-A", LabHost.home) == "")
        #expect(try await b.reaches(a))
        #expect(try await a.run("ls", "/sys/class/net").split(separator: "\n").count <= 2)
        let browser = try b.browse("rig-again")
        _ = try await a.publish("Ann", "rig-again")
        try await browser.tells("=", "Ann", "10.77.0.1")
      }
    }

    @Test func `A wait in vain says what was awaited, and what was said instead`() async throws {
      try await Rig.lend(1) { rig in
        let script = #"read word; echo '{"event":"heard","word":"'$word'","count":2}'; exit 3"#
        let program = try rig.hosts[0].start("sh", "-c", script)
        try program.say("hello")
        let event = try await program.event("heard") { $0["word"] == "hello" }
        #expect(event["count"] == "2")
        #expect(try await program.ended() == .exited(3))
        let error = await #expect(throws: LabError.self) { try await program.event("heard") }
        #expect(error?.description.contains("the event 'heard' before it ended") == true)
        #expect(error?.description.contains(#""word":"hello""#) == true)
        let silent = try rig.hosts[0].start("cat")
        await #expect(throws: LabError.self) { try await silent.event("heard", within: .milliseconds(50)) }
      }
    }
  }
}
