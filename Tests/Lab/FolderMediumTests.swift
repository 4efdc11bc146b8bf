import Testing

@testable import lab_rig

extension LabTests {
  /// Hosts that meet in a shared folder, without a network.
  @Suite @Laboratory
  struct FolderMediumTests {
    private static let folder = "\(LabHost.shared)/meet"
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
    func `P-BRO-1 P-MSG-1 P-RES-3 Without a network hosts meet in a folder, talk and send a file, and see one die`()
      async throws
    {
      try await Rig.lend(2) { rig in
        try await Self.makeFolder(on: rig.hosts[0])
        for host in rig.hosts { try await host.cable.cut() }
        let (a, b) = try await Self.pair(rig, "lab-folder", ["--medium", "folder:\(Self.folder)"])
        try a.say("there")
        try await b.hears("there")
        try b.say("and back")
        try await a.hears("and back")
        let sum = try await a.host.file("picture.bin", bytes: 3_000_000)
        try a.program.say("send \(LabHost.home)/picture.bin")
        try await b.program.event("resourceEnded", within: .seconds(20)) { $0["reason"] == "none" }
        #expect(try await b.host.sum("in/picture.bin") == sum)
        try await b.host.kill()
        try await a.program.event("lost", within: .seconds(5)) { $0["peer"] == b.peer }
        #expect(try await a.host.run("ls", Self.folder).split(separator: "\n").count == 2)
      }
    }
  }
}
