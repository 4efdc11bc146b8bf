import BuiltProgram
import Testing

@testable import lab_rig

extension LabTests {
  /// Hosts that meet on the network and in a shared folder, of which one goes and comes back.
  @Suite @Laboratory
  struct MediumChangeTests {
    private static let folder = "\(LabHost.shared)/meet"
    private static let both = ["--medium", "lan", "--medium", "folder:\(folder)"]

    /// Puts the folder where hosts look for it, or takes it away.
    private static func setFolder(_ isThere: Bool, on host: LabHost) async throws {
      let places = [folder, "\(LabHost.shared)/away"]
      try await host.run(["mv"] + (isThere ? places.reversed() : places))
    }

    private static func makeFolder(on host: LabHost) async throws { try await host.run("mkdir", "-m", "700", folder) }

    private static func pair(_ rig: Rig, _ type: String, _ media: [String]) async throws -> (VicinityPeer, VicinityPeer)
    {
      let a = try await rig.hosts[0].visit("adhoc", type, media)
      try await rig.hosts[1].run("mkdir", "\(LabHost.home)/in")
      let b = try await rig.hosts[1].visit("adhoc", type, media + ["--to-folder", "\(LabHost.home)/in"])
      try await a.meets(b, within: .seconds(10))
      try await b.meets(a, within: .seconds(10))
      return (a, b)
    }

    @Test
    func `P-SES-9 P-RES-5 A file goes on while its medium goes, comes back and goes again, and its hash is right`()
      async throws
    {
      try await Rig.lend(2) { rig in
        try await Self.makeFolder(on: rig.hosts[0])
        for host in rig.hosts { try await host.cable.set(Faults(bytesPerSecondMax: 5_000_000)) }
        let (a, b) = try await Self.pair(rig, "lab-media", Self.both)
        try await Self.setFolder(false, on: a.host)
        let size = 30_000_000
        let sum = try await a.host.file("long.bin", bytes: size)
        try a.program.say("send \(LabHost.home)/long.bin")
        // Over the network, which is slow.
        try await b.program.event("progress", within: .seconds(20)) { ($0.number("bytes") ?? 0) > Double(size / 6) }
        try await b.host.cable.cut()
        try await Self.setFolder(true, on: a.host)
        try await b.program.event("progress", within: .seconds(20)) { ($0.number("bytes") ?? 0) > Double(size / 3) }
        try await b.host.cable.set(Faults(bytesPerSecondMax: 5_000_000))
        try await Self.setFolder(false, on: a.host)
        for visitor in [a, b] {
          let end = try await visitor.program.event("resourceEnded", within: .seconds(60))
          #expect(end["reason"] == "none")
          #expect(visitor.told("resourceEnded").count == 1 && visitor.told("notConnected").isEmpty)
        }
        #expect(try await b.host.sum("in/long.bin") == sum)
        let progress = b.told("progress").compactMap { $0.number("bytes") }
        #expect(progress == progress.sorted())
      }
    }

    @Test(arguments: ["folder", "cable", "loss", "interface"])
    func
      `P-SES-9 P-MSG-3 One of two media goes in the middle of messages: each arrives once, in order, nobody is suspended`(
        _ lost: String
      ) async throws
    {
      try await Rig.lend(2) { rig in
        try await Self.makeFolder(on: rig.hosts[0])
        let (a, b) = try await Self.pair(rig, "lab-media-\(lost)", Self.both)
        var numbers: [String] = []
        @Laboratory func say(_ count: Int) async throws {
          for _ in 0..<count {
            numbers.append("message \(numbers.count)")
            try a.say(numbers[numbers.count - 1])
            try b.say(numbers[numbers.count - 1])
            await Laboratory.pass(.milliseconds(20))
          }
        }
        try await say(50)
        for isLost in [true, false] {
          switch lost {
          case "folder": try await Self.setFolder(!isLost, on: a.host)
          case "cable": try await b.host.cable.set(isLost ? .cut : .none)
          case "interface": try await isLost ? b.host.cable.turnOff() : b.host.cable.turnOn()
          default: try await b.host.cable.set(isLost ? .loss(1) : .none)
          }
          try await say(100)
        }
        for visitor in [a, b] {
          try await visitor.hears(numbers[numbers.count - 1], within: .seconds(10))
          #expect(visitor.messages == numbers)
          for name in ["suspended", "notConnected"] { #expect(visitor.told(name).isEmpty) }
        }
      }
    }

    @Test func `P-SES-9 An interface is turned off under a link: the other medium carries messages at once`()
      async throws
    {
      try await Rig.lend(2) { rig in
        try await Self.makeFolder(on: rig.hosts[0])
        let (a, b) = try await Self.pair(rig, "lab-interface", Self.both)
        // Over the network, though the folder is back, which waits as an upgrade.
        try await Self.setFolder(false, on: a.host)
        try a.say("over the network")
        try await b.hears("over the network")
        try await Self.setFolder(true, on: a.host)
        await Laboratory.pass(.seconds(1))
        let start = ContinuousClock.now
        try await b.host.cable.turnOff()
        try b.say("over the folder")
        try await a.hears("over the folder", within: .seconds(1))
        print("after an interface was turned off a message took \(ContinuousClock.now - start)")
        try a.say("and back")
        try await b.hears("and back", within: .seconds(1))
        for visitor in [a, b] { #expect(visitor.told("notConnected").isEmpty) }
      }
    }

    @Test
    func `P-SES-9 P-STR-1 A stream goes on while its medium goes and comes back, and has the same hash at its end`()
      async throws
    {
      try await Rig.lend(2) { rig in
        try await Self.makeFolder(on: rig.hosts[0])
        let sum = try await rig.hosts[0].file("tape.bin", bytes: 8_000_000)
        let b = try await rig.hosts[1].visit(
          "receive", "str-media", ["--accept", "--once", "--output", "\(LabHost.home)/tape.bin"] + Self.both)
        // A quarter each half second.
        let feed =
          "for n in 0 1 2 3; do dd if=\(LabHost.home)/tape.bin bs=2000000 skip=$n count=1 status=none; sleep 0.5; done"
        let program =
          "'\(try BuiltProgram.vicinity())' send str-media \(b.peer) --stream tape \(Self.both.joined(separator: " "))"
        let sending = try rig.hosts[0].start("sh", "-c", "{ \(feed); } | \(program)")
        try await b.program.event("connected", within: .seconds(10))
        await Laboratory.pass(.milliseconds(600))
        try await Self.setFolder(false, on: b.host)
        await Laboratory.pass(.milliseconds(600))
        try await Self.setFolder(true, on: b.host)
        #expect(try await sending.ended(within: .seconds(20)) == .exited(0), "\(sending.log())")
        #expect(try await b.program.ended(within: .seconds(10)) == .exited(0))
        #expect(try await b.host.sum("tape.bin") == sum)
      }
    }

    @Test func `P-SES-9 Clients of two gateways go on talking while one medium after the other goes and comes back`()
      async throws
    {
      try await Rig.lend(2) { rig in
        try await Self.makeFolder(on: rig.hosts[0])
        var peers: [ClientPeer] = []
        for host in rig.hosts { peers.append(try await host.gate(Self.both).peer(host.name)) }
        let (anna, bert) = (peers[0], peers[1])
        try await anna.advertise("gate-media", ["invitations": "accept", "session": .text(anna.sessionID)])
        try await bert.join(anna, "gate-media")
        var texts: [String] = []
        @Laboratory func talk() async throws {
          for _ in 0..<10 {
            texts.append("message-\(texts.count)")
            try await anna.send(texts[texts.count - 1])
          }
          try await bert.hears(texts[texts.count - 1])
        }
        try await talk()
        try await Self.setFolder(false, on: anna.gate.host)
        try await talk()
        try await Self.setFolder(true, on: anna.gate.host)
        try await talk()
        try await bert.gate.host.cable.cut()
        try await talk()
        try await bert.gate.host.cable.mend()
        #expect(try await bert.messages(from: anna.peer) == texts)
        for one in [anna, bert] {
          #expect(try await one.connected() == [one.peer == anna.peer ? bert.peer : anna.peer])
        }
      }
    }
  }
}
