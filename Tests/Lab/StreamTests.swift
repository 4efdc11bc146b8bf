import BuiltProgram
import Testing

@testable import lab_rig

extension LabTests {
  @Suite @Laboratory
  struct StreamTests {
    @Test func `P-STR-1 A stream from standard input to a file has the same hash at its end`() async throws {
      try await Rig.lend(2) { rig in
        let sum = try await rig.hosts[0].file("tape.bin", bytes: 5_000_000)
        let b = try await rig.hosts[1].visit(
          "receive", "str-tape", "--accept", "--once", "--output", "\(LabHost.home)/tape.bin")
        let command = "'\(try BuiltProgram.vicinity())' send str-tape \(b.peer) --stream tape <\(LabHost.home)/tape.bin"
        try await rig.hosts[0].run("sh", "-c", command, within: .seconds(20))
        #expect(try await b.program.ended(within: .seconds(10)) == .exited(0))
        #expect(try await b.host.sum("tape.bin") == sum)
      }
    }

    @Test func `P-STR-1 Whichever end closes a stream, the other end is told`() async throws {
      try await Rig.lend(2) { rig in
        let party = try await rig.puppets("str-ends")
        let (a, b) = (party[0], party[1])
        for name in ["closed", "cancelled", "dropped"] {
          try await a.opens(name, to: b)
          try await a.does("write \(name) 100000")
        }
        for name in ["closed", "cancelled"] { try b.program.say("read \(name)") }
        try await a.does("close closed")
        try await a.does("cancel cancelled")
        try await b.does("drop dropped")
        let closed = try await b.program.event("streamEnded") { $0["stream"] == "closed" }
        #expect([closed["reason"], closed["bytes"], closed["fault"]] == ["none", "100000", "-1"])
        #expect(try await b.program.event("streamEnded") { $0["stream"] == "cancelled" }["reason"] == "cancelled")
        for (name, reason) in [("closed", "none"), ("cancelled", "cancelled"), ("dropped", "cancelled")] {
          #expect(try await a.program.event("streamEnded") { $0["stream"] == name }["reason"] == reason)
          #expect(try await a.fails("write \(name) 1")["code"] == "unavailable")
        }
      }
    }

    @Test func `P-STR-2 A reader that stands still holds up its own writer, in little memory, and nobody else`()
      async throws
    {
      try await Rig.lend(3) { rig in
        let party = try await rig.puppets("str-still")
        let (a, b, c) = (party[0], party[1], party[2])
        let size = 4_000_000
        try await a.opens("still", to: b)
        try a.program.say("write still \(size)")
        let before = [try await a.memory(), try await b.memory()]
        for (name, other) in [("moving", b), ("elsewhere", c)] {
          try await a.opens(name, to: other)
          try other.program.say("read \(name)")
          try a.program.say("write \(name) 1000000")
        }
        for (name, other) in [("moving", b), ("elsewhere", c)] {
          // The write ends once all of its bytes were taken.
          try await a.expectDone("write", within: .seconds(20))
          try await a.does("send s reliable all beside-\(name)")
          try await other.hears("beside-\(name)", within: .seconds(2))
        }
        for (name, other) in [("moving", b), ("elsewhere", c)] {
          try await a.does("close \(name)")
          let end = try await other.program.event("streamEnded", within: .seconds(10)) { $0["stream"] == name }
          #expect([end["reason"], end["bytes"], end["fault"]] == ["none", "1000000", "-1"])
        }
        let taken = try await a.written("still")
        let grown = [try await a.memory() - before[0], try await b.memory() - before[1]]
        print("of a stream that nobody reads \(taken) bytes were taken; the two programs grew by \(grown) bytes")
        #expect(taken < size / 4)
        for bytes in grown { #expect(bytes < 8 << 20) }
        // The rest arrives once the stream is read.
        try b.program.say("read still")
        try await a.expectDone("write", within: .seconds(30))
        try await a.does("close still")
        let end = try await b.program.event("streamEnded", within: .seconds(20)) { $0["stream"] == "still" }
        #expect([end["reason"], end["bytes"], end["fault"]] == ["none", "\(size)", "-1"])
      }
    }
  }
}

extension ScriptedPeer {
  /// Returns once the other side has the stream.
  fileprivate func opens(_ stream: String, to other: ScriptedPeer) async throws {
    try program.say("open \(stream) s \(other.peer)")
    try await other.program.event("stream") { $0["stream"] == stream }
  }

  fileprivate func written(_ stream: String) async throws -> Int {
    try program.say("written \(stream)")
    return try await Self.number(program.event("written")["bytes"])
  }
}
