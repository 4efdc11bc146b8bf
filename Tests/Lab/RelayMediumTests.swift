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
  }
}
