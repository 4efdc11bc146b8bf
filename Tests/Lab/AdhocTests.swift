import Glibc
import Testing

@testable import lab_rig

extension LabTests {
  @Suite @Laboratory
  struct AdhocTests {
    @Test func `P-SES-7 P-SES-3 Eight hosts start within a second: 28 pairs, each connected once within five seconds`()
      async throws
    {
      for meeting in 0..<meetings(of: 8, unlessTold: 5) {
        try await Rig.lend(8) {
          try await Self.meet(
            on: $0, $0.hosts, "lab-eight-\(meeting)", within: .seconds(5), startingWithin: .seconds(1))
        }
      }
    }

    @Test
    func
      `P-SES-7 P-SES-3 Thirty-two peers start together, four on each of eight hosts: 496 pairs, each connected once`()
      async throws
    {
      for meeting in 0..<meetings(of: 32, unlessTold: 1) {
        try await Rig.lend(8) { rig in
          let hosts = (0..<32).map { rig.hosts[$0 % rig.hosts.count] }
          // Peers that share a host have keys of their own.
          let own = ["--keys", "ephemeral"]
          try await Self.meet(on: rig, hosts, "lab-many-\(meeting)", own, within: Self.crowdTimeMax)
        }
      }
    }

    /// The daemons of so many hosts take more time than their peers do, and wait for their turns on two cores: the test
    /// runs only on request.
    @Test(.enabled(if: meetings(of: 32, unlessTold: 0, as: "HOSTS") > 0))
    func `P-SES-7 P-SES-3 Thirty-two hosts start together: 496 pairs, each connected once`() async throws {
      for meeting in 0..<meetings(of: 32, unlessTold: 0, as: "HOSTS") {
        try await Rig.lend(32) {
          try await Self.meet(
            on: $0, $0.hosts, "lab-crowd-\(meeting)", within: Self.crowdTimeMax, waitsForDaemons: true)
        }
      }
      // So many idle daemons would disturb tests that measure time.
      try await Rig.closeIdle()
    }

    /// Thirty-two programs take 28 s of a processor in a debug build, and an Avahi daemon for each 40 s: on two cores, half
    /// a minute where nothing else runs, and twice that where something does.
    private static let crowdTimeMax: Duration = .seconds(60)

    private static func meet(
      on rig: Rig, _ hosts: [LabHost], _ type: String, _ arguments: [String] = [], within time: Duration,
      startingWithin spreadMax: Duration? = nil, waitsForDaemons: Bool = false
    ) async throws {
      let start = ContinuousClock.now
      let visitors = try await rig.visit(hosts, type, arguments)
      for visitor in visitors {
        for other in visitors where other.peer != visitor.peer {
          try await visitor.meets(other, within: crowdTimeMax)
          try await visitor.finds(other, within: crowdTimeMax)
        }
      }
      let starts = visitors.compactMap { $0.told("started").first?.time }
      let last = visitors.flatMap { $0.told("connected") }.map(\.time).max() ?? .max
      let spread = Duration.nanoseconds((starts.max() ?? .max) - (starts.min() ?? 0))
      let taken = Duration.nanoseconds(last - (starts.max() ?? 0))
      print(
        "\(type): all started in \(spread), connected \(taken) after the last had started, and \(ContinuousClock.now - start) in all"
      )
      if let spreadMax { #expect(spread < spreadMax) }
      #expect(taken < time)
      // Late events would come within the timeout of a lost link.
      await Laboratory.pass(.seconds(6))
      let peers = Set(visitors.map(\.peer))
      for visitor in visitors {
        #expect(visitor.told("connected").count == peers.count - 1)
        #expect(visitor.connected == peers.subtracting([visitor.peer]))
        for name in ["notConnected", "suspended", "error"] { #expect(visitor.told(name).isEmpty) }
        #expect(visitor.standing == peers.subtracting([visitor.peer]))
        // A daemon that has to wait for its turn for seconds is taken for one that has gone, and its records with it.
        if waitsForDaemons { continue }
        #expect(visitor.told("lost").isEmpty)
        #expect(visitor.told("found").count == peers.count - 1)
      }
    }

    @Test func `P-SES-7 P-SES-4 A later peer is admitted by all, and a leave is reported to all at once`()
      async throws
    {
      try await Rig.lend(4) { rig in
        let here = try await rig.visit(Array(rig.hosts.prefix(3)), "lab-late")
        for visitor in here { for other in here where other.peer != visitor.peer { try await visitor.meets(other) } }
        let late = try await rig.hosts[3].visit("adhoc", "lab-late")
        for visitor in here {
          try await visitor.meets(late)
          try await visitor.finds(late)
          try await late.meets(visitor)
        }
        try late.say("hello")
        for visitor in here { try await visitor.hears("hello") }
        try await late.leave()
        for visitor in here {
          let end = try await visitor.program.event("notConnected", within: .seconds(1)) { $0["peer"] == late.peer }
          #expect(end["reason"] == "left")
          try await visitor.program.event("lost", within: .seconds(3)) { $0["peer"] == late.peer }
        }
      }
    }

    @Test func `P-SES-7 Everybody connects over cables that lose a tenth of all packets`() async throws {
      try await Rig.lend(4) { rig in
        for host in rig.hosts { try await host.cable.set(.loss(0.1)) }
        let visitors = try await rig.party("lab-lossy", within: .seconds(30))
        let numbers = (0..<100).map { "message \($0)" }
        for visitor in visitors { for number in numbers { try visitor.say(number) } }
        for visitor in visitors {
          for _ in visitors.dropFirst() { try await visitor.hears("message 99", within: .seconds(60)) }
          for other in visitors where other.peer != visitor.peer {
            let heard = visitor.told("message").filter { $0["peer"] == other.peer }.compactMap { $0["text"] }
            #expect(heard == numbers)
          }
        }
      }
    }
  }
}

/// The number of repetitions from `LAB_MEETINGS_OF_8_PEERS` and its like, to measure how rarely a test fails.
private func meetings(of count: Int, unlessTold times: Int, as kind: String = "PEERS") -> Int {
  getenv("LAB_MEETINGS_OF_\(count)_\(kind)").flatMap { Int(String(cString: $0)) } ?? times
}
