import Glibc
import Testing

@testable import lab_rig

extension LabTests {
  /// Each fault does what it says, and no more.
  @Suite @Laboratory
  struct FaultTests {
    @Test func `A cut cable carries nothing, and a mended one carries on`() async throws {
      try await Rig.lend(3) { rig in
        let (a, b, c) = (rig.hosts[0], rig.hosts[1], rig.hosts[2])
        #expect(try await a.reaches(b))
        try await b.cable.cut()
        #expect(try await !a.reaches(b))
        #expect(try await a.reaches(c))
        try await b.cable.mend()
        #expect(try await a.reaches(b))
        #expect(try await a.reaches("fe80::2%eth0"))
      }
    }

    @Test(arguments: [0.05, 0.3])
    func `As many packets are lost as was asked for`(_ share: Double) async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        let count = 600
        // The hosts first learn each other's hardware addresses: a lost neighbour request would delay all by a second.
        #expect(try await a.reaches(b))
        try await b.cable.set(.loss(share))
        // The loss applies both there and back, over the one faulty cable.
        let kept = (1 - share) * (1 - share)
        let answers = Double(try await a.pings(to: b, count: count).answers) / Double(count)
        // Five standard deviations: one run in a million is further away.
        #expect(abs(answers - kept) < 5 * (kept * (1 - kept) / Double(count)).squareRoot())
        try await b.cable.mend()
        #expect(try await a.pings(to: b, count: 100).answers == 100)
      }
    }

    @Test func `Packets can be lost one way only`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        try await a.cable.set(Faults(lossIn: 1))
        let heard = try b.browse("fault-one-way")
        let silent = try a.browse("fault-one-way")
        _ = try await a.publish("Ann", "fault-one-way")
        _ = try await b.publish("Bob", "fault-one-way")
        try await heard.tells("=", "Ann")
        try await silent.tells("+", "Ann")
        #expect(!silent.output.contains("Bob"))
        try await a.cable.mend()
        try await silent.tells("=", "Bob", within: .seconds(10))
      }
    }

    @Test func `A slow cable carries what its rate allows`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        let bytes = 1_458  // 1,500 with their headers
        #expect(try await a.pings(to: b, count: 200, bytes: bytes).answers > 190)
        try await b.cable.set(Faults(bytesPerSecondMax: 75_000))
        let slow = try await a.pings(to: b, count: 500, bytes: bytes)
        // 50 packets a second, and those that lie in the bucket and the queue.
        let seconds = slow.time / .seconds(1)
        #expect(Double(slow.answers) > 45 * seconds - 20)
        #expect(Double(slow.answers) < 50 * seconds + 40)
      }
    }

    @Test func `A blocked port is blocked, and no other`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        try await a.cable.set(Faults(blocked: [.udp(5353)]))
        let browser = try b.browse("fault-port")
        _ = try await a.publish("Ann", "fault-port")
        #expect(try await b.reaches(a))
        #expect(!browser.output.contains("Ann"))
        try await a.cable.set(Faults(blocked: [.tcp(9_999)]))
        try await browser.tells("=", "Ann", within: .seconds(10))
        #expect(try await !a.isAnswered(at: 9_999, of: b))
        #expect(try await a.isAnswered(at: 9_998, of: b))
      }
    }

    @Test func `Isolated hosts do not reach each other, and do reach the others`() async throws {
      try await Rig.lend(3) { rig in
        let (a, b, c) = (rig.hosts[0], rig.hosts[1], rig.hosts[2])
        for host in [a, b] { try await host.cable.set(Faults(isIsolated: true)) }
        #expect(try await !a.reaches(b))
        #expect(try await a.reaches(c))
        #expect(try await b.reaches(c))
        try await a.cable.mend()
        #expect(try await a.reaches(b))
      }
    }

    @Test func `An address changes, and Avahi says so`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        try await a.cable.change("10.77.0.1/24", to: "10.77.0.99/24")
        #expect(try await b.reaches("10.77.0.99"))
        #expect(try await !b.reaches("10.77.0.1"))
        _ = try await a.publish("Ann", "fault-address")
        try await b.browse("fault-address").tells("=", "Ann", "10.77.0.99")
      }
    }

    @Test func `A second network comes, carries, and goes`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        let second = try await rig.addNetwork()
        let cable = try await a.plug(into: second)
        try await b.plug(into: second)
        try await a.cable.cut()
        #expect(try await b.reaches("10.78.0.1"))
        _ = try await a.publish("Ann", "fault-second")
        try await b.browse("fault-second").tells("=", "Ann", "10.78.0.1")
        try await a.unplug(cable)
        #expect(try await !b.reaches("10.78.0.1"))
      }
    }

    @Test func `Daemons stop, die and start again`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = (rig.hosts[0], rig.hosts[1])
        let browser = try b.browse("fault-daemon")
        for signal in [SIGTERM, SIGKILL] {
          let service = try await a.publish("Ann", "fault-daemon")
          try await browser.tells("=", "Ann", ";IPv4;")
          try await a.stopAvahi(by: signal)
          try await service.ended()
          if signal == SIGTERM { try await browser.tells("-", "Ann") }
          try await a.startAvahi()
        }
        try await a.stopBus()
        let lost = try a.start("avahi-browse", "--parsable", "_fault-daemon._tcp")
        #expect(try await lost.ended() == .exited(1))
        try await a.startBus()
      }
    }
  }
}
