import BuiltProgram
import FoundationEssentials
import Testing

@testable import lab_rig

extension LabTests {
  /// The commands of the README, as they stand there.
  @Suite @Laboratory
  struct ReadmeTests {
    @Test func `P-SES-9 P-RES-5 The commands of the README show a file that goes on while its medium changes`()
      async throws
    {
      let commands = try Self.commands(holding: "folder:meet")
      #expect(commands.count == 3)
      try await Rig.lend(1) { rig in
        let host = rig.hosts[0]
        let sum = try await host.file("film.mp4", bytes: 600_000_000)
        @Laboratory func terminal(_ command: String) throws -> Program {
          let path = try BuiltProgram.vicinity().split(separator: "/", omittingEmptySubsequences: false).dropLast()
          return try host.start(
            "sh", "-c", "cd \(LabHost.home)/trial; PATH='\(path.joined(separator: "/"))':$PATH; \(command)")
        }
        try await host.run("mkdir", "\(LabHost.home)/trial")
        let ada = try terminal(commands[0])
        try await Laboratory.wait(until: "the folder is there", within: .seconds(5)) {
          (try? await host.run("ls", "-d", "\(LabHost.home)/trial/meet")) != nil
        }
        let ben = try terminal(commands[1])
        for (one, name) in [(ada, "Ben"), (ben, "Ada")] {
          _ = try await one.line("that \(name) is there", within: .seconds(20)) {
            $0.contains("connected") && $0.contains(name)
          }
        }
        // The network is on standby by then.
        await Laboratory.pass(.seconds(4))
        try ada.say("/send \(LabHost.home)/film.mp4")
        _ = try await ben.line("that the file comes") { $0.contains("film.mp4") }
        _ = try await terminal(commands[2]).ended()
        _ = try await ben.line("the other medium") { $0.contains("Ada") && $0.contains("reached by lan") }
        let end = "film.mp4 from Ada is here"
        #expect(!ben.output.contains(end))
        _ = try await ben.line("the end of the file", within: .seconds(60)) { $0.contains(end) }
        #expect(try await host.sum("trial/film.mp4") == sum)
      }
    }

    /// Each command of the block that has this text, in one line.
    private static func commands(holding text: String) throws -> [String] {
      let readme = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../README.md")
      let blocks = try String(contentsOf: readme, encoding: .utf8).split(separator: "```\n")
      let block = try #require(blocks.first { $0.contains(text) && $0.contains("vicinity adhoc") })
      return block.replacing("\\\n", with: "").split(separator: "\n").map(String.init)
    }
  }
}
