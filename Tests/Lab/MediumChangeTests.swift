import BuiltProgram
import Testing

@testable import lab_rig

extension LabTests {
  /// Hosts that meet on the network and in a shared folder, of which one goes and comes back.
  @Suite @Laboratory
  struct MediumChangeTests {
    /// How the medium of a link goes.
    enum Loss: String, CaseIterable, CustomTestStringConvertible {
      case folder = "the folder is moved away"
      case interface = "an interface is turned off"
      case addresses = "an interface loses its addresses"
      case packets = "all packets are dropped"
      case carrier = "the cable is pulled"

      var testDescription: String { rawValue }
      /// Whether one of the hosts notices by itself.
      var isNoticed: Bool { self != .packets && self != .carrier }
      /// The round trip takes under a millisecond on either medium.
      var pauseMax: Duration { isNoticed ? .milliseconds(50) : .milliseconds(3_500) }

      @Laboratory func begin(on cable: Cable) async throws {
        switch self {
        case .folder: break
        case .interface: try await cable.turnOff()
        case .addresses: for address in cable.addresses { try await cable.remove(address) }
        case .packets: try await cable.set(.loss(1))
        case .carrier: try await cable.cut()
        }
      }

      @Laboratory func end(on cable: Cable, _ addresses: [String]) async throws {
        switch self {
        case .folder: break
        case .interface: try await cable.turnOn()
        case .addresses: for address in addresses { try await cable.add(address) }
        case .packets, .carrier: try await cable.mend()
        }
      }
    }

    @Test(arguments: Loss.allCases)
    func
      `P-SES-9 P-MSG-3 A medium goes: messages pause for 50 ms where a host notices, else for 3.5 s, and all arrive once`(
        _ loss: Loss
      ) async throws
    {
      try await Rig.lend(2) { rig in
        let (a, b) = try await rig.meetByTwoMedia("lab-media")
        let (cable, addresses) = (b.host.cable, b.host.cable.addresses)
        let talk = Conversation(a, b)
        // The machine has other work, too.
        let usual = try await talk.delay(in: .seconds(1))
        let pause: Duration
        if loss == .folder {
          pause = try await talk.delay(in: .seconds(1)) { try await rig.setMeetingFolder(false) }
        } else {
          try await talk.delay(in: .milliseconds(500)) { try await rig.setMeetingFolder(false) }
          // The folder is back: it is dialled soon, and waits as an upgrade until five seconds after it went.
          try await rig.setMeetingFolder(true)
          if loss.isNoticed { await Laboratory.pass(.seconds(3)) }
          pause = try await talk.delay(in: .seconds(1)) { try await loss.begin(on: cable) }
          try await loss.end(on: cable, addresses)
        }
        print("lab-media: \(loss.rawValue): messages paused for \(pause), and usually for \(usual)")
        #expect(pause <= loss.pauseMax + usual)
        try await talk.delay(in: .seconds(1))
        #expect(talk.isComplete && talk.isUnbroken)
      }
    }

    @Test func `P-SES-9 A better medium comes back and is used: each message arrives, unreliable ones too`()
      async throws
    {
      try await Rig.lend(2) { rig in
        try await rig.makeMeetingFolder()
        let party = try await rig.puppets(
          "lab-upgrade", of: rig.hosts[...], ["medium=lan", "medium=\(Rig.folderMedium)"])
        var numbers = 0
        @Laboratory func talk(for time: Duration) async throws -> ClosedRange<Int> {
          let first = numbers
          let end = ContinuousClock.now + time
          while ContinuousClock.now < end {
            for one in party {
              for mode in ["unreliable", "reliable"] { try one.program.say("send s \(mode) all \(mode)-\(numbers)") }
            }
            numbers += 1
            await Laboratory.pass(.milliseconds(10))
          }
          for one in party { try await one.hears("reliable-\(numbers - 1)") }
          return first...numbers - 1
        }
        // The other link is dialled by then.
        await Laboratory.pass(.seconds(4))
        try await rig.setMeetingFolder(false)
        await Laboratory.pass(.seconds(1))
        try await rig.setMeetingFolder(true)
        // The upgrade is five seconds after the loss.
        let upgrade = try await talk(for: .seconds(8))
        for one in party {
          for mode in ["reliable", "unreliable"] {
            let told = one.told("message").filter { $0["mode"] == mode }.compactMap { $0["text"] }
            #expect(Set(told) == Set(upgrade.map { "\(mode)-\($0)" }) && told.count == upgrade.count)
            if mode == "reliable" { #expect(told == upgrade.map { "\(mode)-\($0)" }) }
          }
          for name in ["suspended", "notConnected"] { #expect(one.told(name).isEmpty) }
        }
      }
    }

    @Test func `P-SES-9 P-MSG-3 A better medium comes back: no message waits for the change`() async throws {
      try await Rig.lend(2) { rig in
        let (a, b) = try await rig.meetByTwoMedia("lab-media-back")
        let talk = Conversation(a, b)
        let usual = try await talk.delay(in: .seconds(4))
        try await rig.setMeetingFolder(false)
        await Laboratory.pass(.seconds(1))
        try await rig.setMeetingFolder(true)
        // The upgrade is five seconds after the loss.
        let upgrade = try await talk.delay(in: .seconds(6))
        print("lab-media-back: messages took \(upgrade) at most, and usually \(usual)")
        #expect(upgrade <= usual + .milliseconds(20))
        // All goes over the folder: nobody notices that the network has gone.
        try await b.host.cable.cut()
        #expect(try await talk.delay(in: .seconds(2)) <= usual + .milliseconds(20))
        #expect(talk.isComplete && talk.isUnbroken)
      }
    }

    @Test
    func `P-SES-9 P-RES-5 A file goes on while its medium goes, comes back and goes again, and its hash is right`()
      async throws
    {
      try await Rig.lend(2) { rig in
        for host in rig.hosts { try await host.cable.set(Faults(bytesPerSecondMax: 5_000_000)) }
        let (a, b) = try await rig.meetByTwoMedia("lab-media-file")
        try await rig.setMeetingFolder(false)
        let size = 100_000_000
        let sum = try await a.host.file("long.bin", bytes: size)
        try a.program.say("send \(LabHost.home)/long.bin")
        // Over the network, which is slow.
        try await b.program.event("progress", within: .seconds(20)) { ($0.number("bytes") ?? 0) > Double(size / 20) }
        try await rig.setMeetingFolder(true)
        try await b.host.cable.cut()
        // Over the folder, which is quick, and goes in the middle.
        try await b.program.event("progress", within: .seconds(20)) { ($0.number("bytes") ?? 0) > Double(size / 5) }
        try await rig.setMeetingFolder(false)
        for host in rig.hosts { try await host.cable.mend() }
        for visitor in [a, b] {
          let end = try await visitor.program.event("resourceEnded", within: .seconds(60))
          #expect(end["reason"] == "none")
          #expect(visitor.told("resourceEnded").count == 1)
        }
        #expect(try await b.host.sum("in/long.bin") == sum)
        let progress = b.told("progress").compactMap { $0.number("bytes") }
        #expect(progress == progress.sorted())
      }
    }

    @Test
    func `P-SES-9 P-STR-1 A stream goes on while its medium goes and comes back, and has the same hash at its end`()
      async throws
    {
      try await Rig.lend(2) { rig in
        try await rig.makeMeetingFolder()
        let sum = try await rig.hosts[0].file("tape.bin", bytes: 8_000_000)
        let b = try await rig.hosts[1].visit(
          "receive", "str-media", ["--accept", "--once", "--output", "\(LabHost.home)/tape.bin"] + Rig.twoMedia)
        // A quarter each half second.
        let feed =
          "for n in 0 1 2 3; do dd if=\(LabHost.home)/tape.bin bs=2000000 skip=$n count=1 status=none; sleep 0.5; done"
        let program =
          "'\(try BuiltProgram.vicinity())' send str-media \(b.peer) --stream tape \(Rig.twoMedia.joined(separator: " "))"
        let sending = try rig.hosts[0].start("sh", "-c", "{ \(feed); } | \(program)")
        try await b.program.event("connected", within: .seconds(10))
        await Laboratory.pass(.milliseconds(600))
        try await rig.setMeetingFolder(false)
        await Laboratory.pass(.milliseconds(600))
        try await rig.setMeetingFolder(true)
        #expect(try await sending.ended(within: .seconds(20)) == .exited(0), "\(sending.log())")
        #expect(try await b.program.ended(within: .seconds(10)) == .exited(0))
        #expect(try await b.host.sum("tape.bin") == sum)
      }
    }
  }
}
