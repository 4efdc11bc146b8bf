import Testing

@testable import lab_rig

extension LabTests {
  /// Hosts with no medium in common, one in a shared folder and one on the LAN, and relays between them that have both.
  @Suite @Laboratory
  struct RelayMediumTests {
    private static let folder = "folder:\(LabHost.shared)/meet"

    private static func media(_ media: String...) -> [String] { (media + ["relay"]).flatMap { ["--medium", $0] } }

    @Test
    func
      `P-SES-8 P-MSG-1 P-RES-3 Hosts meet through a relay, send a file, and go on through another one when it is killed`()
      async throws
    {
      try await Rig.lend(4) { rig in
        try await rig.hosts[0].run("mkdir", "-m", "700", "\(LabHost.shared)/meet")
        let first = try await rig.hosts[2].visit("adhoc", "lab-relays", Self.media(Self.folder, "lan"))
        let a = try await rig.hosts[0].visit("adhoc", "lab-relayed", Self.media(Self.folder))
        try await rig.hosts[1].run("mkdir", "\(LabHost.home)/in")
        let b = try await rig.hosts[1].visit(
          "adhoc", "lab-relayed", Self.media("lan") + ["--to-folder", "\(LabHost.home)/in"])
        try await a.meets(b, within: .seconds(20))
        try await b.meets(a, within: .seconds(20))
        try a.say("there")
        try await b.hears("there")
        try b.say("and back")
        try await a.hears("and back")
        let sum = try await a.host.file("picture.bin", bytes: 3_000_000)
        try a.program.say("send \(LabHost.home)/picture.bin")
        try await b.program.event("resourceEnded", within: .seconds(20)) { $0["reason"] == "none" }
        #expect(try await b.host.sum("in/picture.bin") == sum)

        let second = try await rig.hosts[3].visit("adhoc", "lab-relays", Self.media(Self.folder, "lan"))
        try await second.meets(first, within: .seconds(10))
        try await first.host.kill()
        try a.say("through another")
        try await b.hears("through another", within: .seconds(10))
        #expect(a.told("notConnected").isEmpty && b.told("notConnected").isEmpty)
        #expect(first.messages.isEmpty && second.messages.isEmpty)
      }
    }

    @Test
    func `P-SES-8 P-SES-9 A direct way takes over from a relay, and nobody notices when the relay goes`()
      async throws
    {
      try await Rig.lend(3) { rig in
        try await rig.hosts[0].run("mkdir", "-m", "700", "\(LabHost.shared)/meet")
        try await rig.hosts[0].cable.cut()
        let relay = try await rig.hosts[2].visit("adhoc", "lab-relays", Self.media(Self.folder, "lan"))
        let a = try await rig.hosts[0].visit("adhoc", "lab-direct", Self.media(Self.folder, "lan"))
        let b = try await rig.hosts[1].visit("adhoc", "lab-direct", Self.media("lan"))
        try await a.meets(b, within: .seconds(20))
        try await b.meets(a, within: .seconds(20))
        #expect(try await Self.medium(of: b, at: a) == "relay")
        try await rig.hosts[0].cable.mend()
        try await Laboratory.wait(until: "a direct link is used", within: .seconds(30)) {
          try await Self.medium(of: b, at: a) == "lan"
        }
        try await relay.host.kill()
        try a.say("without it")
        try await b.hears("without it")
        for one in [a, b] { for name in ["suspended", "notConnected"] { #expect(one.told(name).isEmpty) } }
      }
    }

    @Test func `P-SES-8 With no option, members are connected through one that has media of both, until it leaves`()
      async throws
    {
      try await Rig.lend(3) { rig in
        try await rig.makeMeetingFolder()
        let a = try await rig.hosts[0].visit("adhoc", "lab-members", "--medium", Rig.folderMedium)
        let b = try await rig.hosts[1].visit("adhoc", "lab-members")
        let between = try await rig.hosts[2].visit("adhoc", "lab-members", Rig.twoMedia)
        for (one, other) in [(a, between), (b, between), (a, b), (b, a)] {
          try await one.meets(other, within: .seconds(20))
        }
        #expect(try await Self.medium(of: b, at: a) == "relay")
        try a.say("through a member")
        try await b.hears("through a member")
        try await between.leave()
        for (one, other) in [(a, b), (b, a)] {
          try await one.program.event("notConnected", within: .seconds(20)) { $0["peer"] == other.peer }
        }
      }
    }

    @Test func `P-SES-8 Both members learn what to do where the only host between them does not relay`() async throws {
      try await Rig.lend(3) { rig in
        try await rig.hosts[0].run("mkdir", "-m", "700", "\(LabHost.shared)/meet")
        let direct = ["--medium", Self.folder, "--medium", "lan", "--relay-for", "nobody"]
        let between = try await rig.hosts[2].visit("adhoc", "lab-between", direct)
        let a = try await rig.hosts[0].visit("adhoc", "lab-between", Self.media(Self.folder))
        let b = try await rig.hosts[1].visit("adhoc", "lab-between", Self.media("lan"))
        try await a.meets(between, within: .seconds(10))
        try await b.meets(between, within: .seconds(10))
        for (one, other) in [(a, b), (b, a)] {
          try await one.program.event("unreached", within: .seconds(25)) { $0["peer"] == other.peer }
        }
        #expect(between.told("unreached").isEmpty)
      }
    }

    /// The medium by which one reaches the other, as it says.
    private static func medium(of other: VicinityPeer, at one: VicinityPeer) async throws -> JSON? {
      try one.program.say("peers")
      let members = try await one.program.event("peers").object["members"]?.list
      return members?.first { $0["peer"] == .text(other.peer) }?["medium"]
    }
  }
}
