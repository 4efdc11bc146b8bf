import Glibc
import TestKit
import Testing

@testable import vicinity

/// The program as it is run: what it says where, and how it ends.
@Suite(.ownThread, .serialized) struct ProcessTests {
  @Test func `Help is told on standard output, and is success`() throws {
    for arguments in [[], ["help"], ["--help"]] {
      let program = try Program(arguments)
      #expect(try program.ended() == 0)
      #expect(program.out.contains("First steps:"))
      #expect(program.err.isEmpty)
      for command in Syntax.vicinity.commands { #expect(program.out.contains("  \(command.name) ")) }
      for code in ExitCode.allCases { #expect(program.out.contains("  \(code.rawValue) ")) }
    }
  }

  @Test(arguments: [["help"], ["version", "--json"], ["completion", "bash"]])
  func `Output that cannot be written is a failure`(_ words: [String]) throws {
    let program = try Program(words, through: ["sh", "-c", "exec \"$@\" > /dev/full", "sh"])
    #expect(try program.ended() == 1)
    #expect(program.err == "vicinity: Standard output cannot be written: No space left on device.\n")
  }

  @Test func `Every command has a help of its own with its options and examples`() throws {
    for command in Syntax.vicinity.commands {
      let told = try Program.run("help", command.name)
      #expect(told.code == 0)
      #expect(told.out == (try Program.run(command.name, "--help")).out)
      for option in command.options { #expect(told.out.contains("  \(option.usage)")) }
      for example in command.examples { #expect(told.out.contains(example.line)) }
      #expect(!told.out.contains("\u{1B}"))
    }
  }

  @Test(
    arguments: [
      (["brows"], "Did you mean 'browse'?"), (["browse"], "<type> is missing"), (["browse", "Chat"], "holds “C”"),
      (["browse", "chat", "--nope"], "has no option --nope"), (["send", "chat", "Ada"], "nothing to send"),
      (["help", "sned"], "Did you mean 'send'?"),
      (["identity", "compare", "chat"], "Say it as: vicinity identity compare"),
      (["peers", "chat", "--at", "127.0.0.1:1", "--discovery", "avahi"], "--at goes with --discovery static"),
      (["receive", "chat"], "nobody to ask"),
    ] as [([String], String)])
  func `A mistake is told on standard error, and ends with 2`(_ arguments: [String], _ sentence: String) throws {
    let program = try Program(
      arguments
        + (arguments.count > 1 && arguments[0] != "help" ? Self.alone.suffix(arguments.contains("--at") ? 2 : 4) : []),
      .noInput)
    #expect(try program.ended() == 2)
    #expect(program.err.contains("vicinity: "))
    #expect(program.err.contains(sentence), "\(program.err)")
    #expect(program.out.isEmpty)
  }

  @Test func `With --json a mistake is an object as well`() throws {
    let told = try Program.run("browse", "--json")
    #expect(told.code == 2)
    #expect(told.out.hasPrefix(#"{"event":"error","at":""#))
    #expect(told.out.contains(#""code":2}"#))
    #expect(!told.err.isEmpty)
  }

  @Test func `Nobody found in time is 3, and says what to do`() throws {
    for arguments in [
      ["peers", "nobody-here", "--timeout", "200ms"], ["invite", "nobody-here", "Ada", "--timeout", "200ms"],
    ] {
      let program = try Program(arguments + Self.alone)
      #expect(try program.ended() == 3)
      #expect(program.err.contains("vicinity doctor"))
    }
  }

  @Test func `Faults that can be seen before anybody is disturbed are reported at once`() throws {
    let missing = try Program(["send", "chat", "Ada", "--file", "/nowhere/x"] + Self.alone)
    #expect(try missing.ended() == 1)
    #expect(missing.err.contains("There is no file /nowhere/x: look whether"))
    let folder = try Program(["send", "chat", "Ada", "--file", "/tmp"] + Self.alone)
    #expect(try folder.ended() == 1)
    #expect(folder.err.contains("no plain file"))
    let busy = try Program(["receive", "chat", "--accept", "--to-folder", "/proc/nothing"] + Self.alone)
    #expect(try busy.ended() == 1)
    #expect(busy.err.contains("choose another one with --to-folder"))
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 143)] as [(CInt, CInt)])
  func `A signal ends it in good order`(_ signal: CInt, _ code: CInt) throws {
    let program = try Program(["browse", "chat", "--json"] + Self.alone, .noInput)
    try program.line(#""event":"started""#)
    program.signal(signal)
    #expect(try program.ended() == code)
  }

  @Test func `A reader that does not read does not keep it from ending`() throws {
    let program = try Program(["adhoc", "chat", "--json"] + Self.alone)
    try program.line(#""event":"started""#)
    program.say(String(repeating: "peers\n", count: 3_000))
    try program.fillsOutput()
    program.signal(SIGTERM)
    #expect(try program.endedUnread() == 143)
  }

  @Test func `The end of its input ends it, and nothing to read does not`() throws {
    let program = try Program(["browse", "chat", "--json"] + Self.alone)
    try program.line(#""event":"started""#)
    program.endInput()
    #expect(try program.ended() == 0)
    let silent = try Program(["browse", "chat", "--json", "--timeout", "500ms"] + Self.alone, .noInput)
    let start = ContinuousClock.now
    #expect(try silent.ended() == 0)
    #expect(ContinuousClock.now - start > .milliseconds(400))
  }

  @Test func `Version and identity are told in both forms`() throws {
    #expect(try Program.run("version").out == "vicinity \(Vicinity.version)\n")
    #expect(try Program.run("--version").out == "vicinity \(Vicinity.version)\n")
    #expect(try Program.run("version", "--json").out.contains(#""version":"\#(Vicinity.version)"}"#))
    let folder = TemporaryFolder()
    let words = ["identity", "--keys", folder.path + "/keys", "--name", "Ada", "--json"]
    let first = try Program(words)
    #expect(try first.ended() == 0)
    let again = try Program(words)
    #expect(try again.ended() == 0)
    let ids = [first, again].map { $0.out.split(separator: ",").dropFirst(2) }
    #expect(ids[0] == ids[1])
    #expect(ids[0].joined().contains(#""name":"Ada""#))
  }

  @Test func `P-ID-4 Keys are kept, and a second program is a guest that says so`() throws {
    let folder = TemporaryFolder()
    let words = ["browse", "chat", "--json", "--discovery", "static"]
    let first = try Program(words, in: folder.path)
    let line = try first.line(#""event":"started""#)
    let second = try Program(words, in: folder.path)
    #expect(try second.line(#""event":"warning""#).contains("a guest that nobody knows"))
    try second.line(#""event":"started""#)
    let explicit = try Program(words + ["--keys", folder.path + "/.local/share/vicinity"], in: folder.path)
    #expect(try explicit.ended() == 1)
    #expect(explicit.err.contains("give this host another folder"))
    first.endInput()
    #expect(try first.ended() == 0)
    let again = try Program(words, in: folder.path)
    let ids = [line, try again.line(#""event":"started""#)].map { $0.split(separator: ",")[2...3] }
    #expect(ids[0] == ids[1])
  }

  /// The options of a host on this machine only, at a free port, with ephemeral keys.
  static let alone = ["--discovery", "static", "--keys", "ephemeral"]
}
