import Glibc
import Testing

@testable import lab_rig

extension LabTests {
  /// Outages of links, daemons and hosts under a session.
  @Suite @Laboratory
  struct OutageTests {
    @Test func `P-SES-1 P-BRO-5 A host whose power goes is not connected in six seconds, lost in ten, and found again`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let party = try await rig.party("lab-power")
        let (a, b) = (party[0], party[1])
        try await b.host.kill()
        let start = ContinuousClock.now
        let end = try await a.program.event("notConnected", within: .seconds(8)) { $0["peer"] == b.peer }
        let told = ContinuousClock.now - start
        #expect(end["reason"] == "lost")
        try await a.program.event("lost", within: .seconds(10)) { $0["peer"] == b.peer }
        let lost = ContinuousClock.now - start
        print("a host whose power went was not connected after \(told), and lost after \(lost)")
        #expect(told < .milliseconds(5_500))
        #expect(lost < .seconds(10))
        try await b.host.boot()
        let again = try await b.host.visit("adhoc", "lab-power")
        #expect(again.peer == b.peer)
        try await a.program.event("found", within: .seconds(10)) { $0["peer"] == b.peer }
        try await a.meets(again, within: .seconds(15))
        try await again.meets(a, within: .seconds(15))
      }
    }

    @Test func `P-SES-1 P-BRO-1 A process that is killed is not connected in six seconds, and lost in five`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let party = try await rig.party("lab-kill")
        let (a, b) = (party[0], party[1])
        try await b.program.end()
        try await a.program.event("lost", within: .seconds(5)) { $0["peer"] == b.peer }
        let end = try await a.program.event("notConnected", within: .milliseconds(5_500)) { $0["peer"] == b.peer }
        #expect(end["reason"] == "lost")
      }
    }

    @Test func `P-MSG-3 P-SES-1 A cable that is cut for two seconds suspends, and nothing is lost or doubled`()
      async throws
    {
      try await Rig.lend(2) { rig in
        let party = try await rig.party("lab-two")
        let (a, b) = (party[0], party[1])
        try await b.host.cable.cut()
        let numbers = (0..<100).map { "message \($0)" }
        for number in numbers { try a.say(number) }
        await Laboratory.pass(.seconds(2))
        #expect(b.messages.isEmpty)
        try await b.host.cable.mend()
        try await b.hears("message 99", within: .seconds(10))
        #expect(b.messages == numbers)
        for visitor in party { #expect(visitor.told("notConnected").isEmpty) }
      }
    }

    @Test func `P-ADV-5 Avahi starts anew: the session stays, and who comes then is found`() async throws {
      try await Rig.lend(3) { rig in
        let (a, b) = try await (
          rig.hosts[0].visit("adhoc", "lab-avahi"), rig.hosts[1].visit("adhoc", "lab-avahi")
        )
        try await a.meets(b)
        try await b.meets(a)
        try await a.host.stopAvahi()
        try await a.program.event("warning")
        try a.say("without")
        try await b.hears("without")
        try await a.host.startAvahi()
        let c = try await rig.hosts[2].visit("adhoc", "lab-avahi")
        for visitor in [a, b] {
          try await visitor.meets(c, within: .seconds(15))
          try await c.meets(visitor, within: .seconds(15))
          #expect(visitor.told("notConnected").isEmpty)
        }
      }
    }

    @Test(arguments: [6, 4])
    func `P-NET-1 With one family of addresses alone, an address changes under a session, which stays`(
      _ version: Int
    ) async throws {
      try await Rig.lend(3) { rig in
        for host in rig.hosts { try await host.cable.remove(host.cable.addresses[version == 4 ? 1 : 0]) }
        let (a, b) = try await (
          rig.hosts[0].visit("adhoc", "lab-address\(version)"), rig.hosts[1].visit("adhoc", "lab-address\(version)")
        )
        try await a.meets(b, within: .seconds(10))
        try await b.meets(a, within: .seconds(10))
        let other = version == 4 ? "10.77.0.99/24" : "fe80::99/64"
        try await a.host.cable.change(a.host.cable.addresses[0], to: other)
        try a.say("moved")
        try await b.hears("moved", within: .seconds(20))
        for visitor in [a, b] { #expect(visitor.told("notConnected").isEmpty) }
        let c = try await rig.hosts[2].visit("adhoc", "lab-address\(version)")
        try await a.meets(c, within: .seconds(15))
        try await c.meets(a, within: .seconds(15))
      }
    }

    @Test func `P-NET-1 P-BRO-1 On two networks each is found once, and the session outlives one of them`() async throws
    {
      try await Rig.lend(2) { rig in
        let second = try await rig.addNetwork()
        for host in rig.hosts { try await host.plug(into: second) }
        let party = try await rig.party("lab-networks")
        for index in [0, 1] {
          try await party[0].host.cables[index].cut()
          try party[0].say("over the other, without \(index)")
          try await party[1].hears("over the other, without \(index)", within: .seconds(20))
          try await party[0].host.cables[index].mend()
        }
        for visitor in party {
          #expect(visitor.told("found").count == 1)
          #expect(visitor.told("notConnected").isEmpty)
        }
      }
    }

    @Test func `P-HAB-2 Garbage, silence and a flood from a third host leave a session alone`() async throws {
      try await Rig.lend(3) { rig in
        let (a, b) = try await (
          rig.hosts[0].visit("adhoc", "lab-hostile", "--port", "7000"), rig.hosts[1].visit("adhoc", "lab-hostile")
        )
        try await a.meets(b)
        try await b.meets(a)
        let place = "/dev/tcp/\(a.host.cable.address)/7000"
        let silent = try rig.hosts[2].start(
          "bash", "-c", "for n in {10..59}; do eval \"exec $n<>\(place)\"; done; echo open; cat")
        _ = try await silent.line("that all are open") { $0 == "open" }
        let loud = try rig.hosts[2].start(
          "bash", "-c", "for n in {1..200}; do head -c 20000 /dev/urandom 2>&- >\(place); done; echo done")
        let numbers = (0..<50).map { "message \($0)" }
        for number in numbers {
          try a.say(number)
          try await b.hears(number)
        }
        _ = try await loud.line("that it is done", within: .seconds(20)) { $0 == "done" }
        #expect(b.messages == numbers)
        for visitor in [a, b] { for name in ["suspended", "notConnected"] { #expect(visitor.told(name).isEmpty) } }
      }
    }

    @Test func `P-HAB-2 A thousand connections that say nothing hold up nobody and keep nobody out, in little memory`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let party = try await rig.puppets("lab-silent", of: rig.hosts.dropLast(), at: 7000)
        let (a, b) = (party[0], party[1])
        let before = try await a.memory()
        let silent = try rig.hosts[2].start("python3", "-c", Self.silence, a.host.cable.address)
        _ = try await silent.line("that all are open", within: .seconds(20)) { $0 == "open" }
        for number in 0..<20 {
          try await a.does("send s reliable all message-\(number)")
          try await b.hears("message-\(number)", within: .seconds(1))
        }
        // The newcomer has the same address as the silent connections.
        let c = try await rig.hosts[2].puppet()
        try c.program.say("advertise x a lab-silent s")
        try await a.invites(c, "lab-silent")
        try await b.meets(c)
        let grown = try await a.memory() - before
        print("a thousand connections that say nothing took \(grown) bytes of memory")
        #expect(grown < 32 << 20)
        for puppet in [a, b] { for name in ["suspended", "notConnected"] { #expect(puppet.told(name).isEmpty) } }
      }
    }

    private static let silence = """
      import resource, socket, sys, time
      resource.setrlimit(resource.RLIMIT_NOFILE, (2000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
      connections = [socket.create_connection((sys.argv[1], 7000)) for _ in range(1000)]
      print('open', flush=True)
      time.sleep(60)
      """
  }
}
