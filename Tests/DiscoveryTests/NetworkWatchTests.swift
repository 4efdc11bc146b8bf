import Reactor
import Testing

@testable import lab_rig

@Suite(.serialized) struct NetworkWatchTests {
  @Test func `P-NET-1 interfaces that come, go and change their addresses are told, each change once`() async {
    await Lab.play { lab in
      let host = lab.hosts[0]
      try await host.unplug(host.cable)
      let network = try lab.networkWatcher(on: host)
      // Nothing but the loopback is there.
      #expect(try await network.next() == ["127.0.0.1", "::1"])
      let cable = try await host.plug(into: lab.rig.networks[0])
      let both = try await network.next { $0.count == 2 }
      #expect(both[0] == "10.77.0.1" && both[1].hasPrefix("fe80::") && both[1].contains("%"))
      try await host.configure([
        "addr add 10.78.0.9/24 dev eth0", "addr del 10.77.0.1/24 dev eth0", "addr add fd00::1/64 dev eth0 nodad",
      ])
      #expect(try await network.next { $0.contains("fd00::1") } == ["10.78.0.9", "fd00::1", both[1]])
      // Changes that do not affect addresses are not reported.
      try await host.configure(["link set eth0 mtu 1400", "link set eth0 alias x"])
      try await cable.cut()
      #expect(try await network.next() == ["127.0.0.1", "::1"])
      try await cable.mend()
      #expect(try await network.next { $0.count == 3 }.first == "10.78.0.9")
    }
  }

  @Test func `P-NET-1 an address whose interface is turned off is told as lost, and one without a carrier is not`()
    async
  {
    await Lab.play { lab in
      let host = lab.hosts[0]
      let network = try lab.networkWatcher(on: host)
      _ = try await network.next { $0.count == 2 }
      try await host.cable.cut()
      #expect(try await network.next() == ["127.0.0.1", "::1"])
      try await host.cable.mend()
      _ = try await network.next { $0.first == "10.77.0.1" }
      try await host.cable.turnOff()
      #expect(try await network.next { $0 != ["lost"] } == ["lost", "10.77.0.1"])
      #expect(try await network.next { $0.first != "lost" } == ["127.0.0.1", "::1"])
      try await host.cable.turnOn()
      _ = try await network.next { $0.first == "10.77.0.1" }
    }
  }

  @Test func `who waits for a loop on a host goes on at the laboratory, and on no thread of the host's`() async {
    await Lab.play { lab in
      let network = try lab.networkWatcher(on: lab.hosts[0])
      #expect(try await Self.isAtLaboratory(after: network))
    }
  }

  private nonisolated static func isAtLaboratory(after network: NetworkWatcher) async throws -> Bool {
    _ = try await network.next()
    return Laboratory.reactor.isIsolatingCurrentContext() == true
  }
}
