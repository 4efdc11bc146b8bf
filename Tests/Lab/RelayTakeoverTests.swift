import Glibc
import Testing

@testable import lab_rig

extension LabTests {
  /// A relay ends in the middle of what it passes on, and another one is there.
  @Suite @Laboratory
  struct RelayTakeoverTests {
    /// How the relay ends.
    enum Loss: String, CaseIterable, CustomTestStringConvertible {
      case killed = "its power is cut"
      case frozen = "it hangs"

      var testDescription: String { rawValue }
      /// One of its two ends notices at once that its sockets close, or both after their silence of 3 s.
      var pauseMax: Duration { self == .killed ? .seconds(1) : .milliseconds(4_500) }
    }

    private static let bytes = 12_000_000
    private static let rate = 3_000_000

    @Test(arguments: Loss.allCases)
    func
      `P-SES-8 P-STR-1 P-RES-5 A stream and a file go on through another member, where the one between them dies`(
        _ loss: Loss
      ) async throws
    {
      try await Rig.lend(4) { rig in
        try await rig.makeMeetingFolder()
        let (lan, folder) = (["medium=lan"], ["medium=\(Rig.folderMedium)"])
        // No option says that members relay.
        let members = try await rig.puppets(
          "lab-takeover", of: rig.hosts[...], each: [lan + folder, lan + folder, folder, lan])
        let (a, b) = (members[2], members[3])
        try await b.host.cable.set(Faults(bytesPerSecondMax: Self.rate))
        let sum = try await a.host.file("long.bin", bytes: Self.bytes)

        try a.program.say("open tape s \(b.peer)")
        try await b.program.event("stream") { $0["stream"] == "tape" }
        try b.program.say("read tape")
        try a.program.say("write tape \(Self.bytes)")
        try a.program.say("offer s \(b.peer) \(LabHost.home)/long.bin")
        try await b.program.event("resource") { $0["resource"] == "long.bin" }
        try b.program.say("keep long.bin")
        // The stream goes first, and is over long before the file.
        for (flow, part) in [("streamed", 6), ("stored", 100)] {
          try await b.program.event(flow, within: .seconds(20)) { Self.count($0) > Self.bytes / part }
        }

        let used = try await a.relay(to: b)
        let relay = try #require(members.first { $0.hostID == used })
        let start = Laboratory.now
        switch loss {
        case .killed: try await relay.host.kill()
        case .frozen: try await relay.program.signal(SIGSTOP)
        }
        for flow in ["streamed", "stored"] {
          let next = try await b.program.event(flow, within: .seconds(20)) { $0.time > start + 200_000_000 }
          #expect(Self.count(next) < Self.bytes)
        }
        let other = try await a.relay(to: b)
        #expect(members[..<2].contains { $0.hostID == other } && other != used)
        for flow in ["streamed", "stored"] {
          let pause = Self.longestPause(of: b.told(flow), from: start)
          print("lab-takeover: \(loss.rawValue): \(flow) paused for \(pause)")
          #expect(pause <= loss.pauseMax)
        }

        try await a.expectDone("write", within: .seconds(30))
        try await a.does("close tape")
        let stream = try await b.program.event("streamEnded", within: .seconds(30)) { $0["stream"] == "tape" }
        #expect([stream["reason"], stream["bytes"], stream["fault"]] == ["none", "\(Self.bytes)", "-1"])
        let file = try await b.program.event("resourceEnded", within: .seconds(30)) { $0["resource"] == "long.bin" }
        #expect(file["reason"] == "none")
        #expect(try await b.host.run("sha256sum", try #require(file["path"])).hasPrefix(sum))
        for one in [a, b] {
          #expect(one.told("notConnected").allSatisfy { $0["peer"] == relay.peer })
        }
      }
    }

    private static func count(_ event: Event) -> Int { event["bytes"].flatMap { Int($0) } ?? 0 }

    /// The longest time without progress, from a moment on.
    private static func longestPause(of progress: [Event], from start: UInt64) -> Duration {
      let times = [start] + progress.map(\.time).filter { $0 > start }
      return .nanoseconds(Int64(zip(times, times.dropFirst()).map { $1 - $0 }.max() ?? 0))
    }
  }
}
