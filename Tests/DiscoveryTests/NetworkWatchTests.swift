import Reactor
import Testing

@Suite(.serialized) struct NetworkWatchTests {
  @Test func `P-NET-1 interfaces that come, go and change their addresses are told, each change once`() async {
    await Lab.play { lab in
      let (between, box) = (try lab.bareBox("between"), try lab.bareBox("box"))
      try between.run("ip link add br0 type bridge && ip link set br0 up")
      let network = try lab.networkWatcher(in: box)
      // Nothing but the loopback is there.
      #expect(try await network.next() == ["127.0.0.1", "::1"])
      try lab.plug(box, "eth0", into: between, address: "10.77.0.1/24")
      let both = try await network.next { $0.count == 2 }
      #expect(both[0] == "10.77.0.1" && both[1].hasPrefix("fe80::") && both[1].contains("%"))
      try box.run(
        "ip addr add 10.78.0.9/24 dev eth0 && ip addr del 10.77.0.1/24 dev eth0 && ip addr add fd00::1/64 dev eth0 nodad"
      )
      #expect(try await network.next { $0.contains("fd00::1") } == ["10.78.0.9", "fd00::1", both[1]])
      // What changes nothing about the addresses is not told.
      try box.run("ip link set eth0 mtu 1400 && ip link set eth0 alias x")
      try between.run("ip link set box-eth0 down")
      #expect(try await network.next() == ["127.0.0.1", "::1"])
      try between.run("ip link set box-eth0 up")
      #expect(try await network.next { $0.count == 3 }.first == "10.78.0.9")
    }
  }
}
