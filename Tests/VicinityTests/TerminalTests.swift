import Glibc
import TestKit
import Testing

@testable import vicinity

/// The program on a pseudo-terminal.
@Suite(.ownThread, .serialized) struct TerminalTests {
  private let alone = ["--discovery", "static"]

  @Test func `P-APP-5 The first start asks for a name and keeps it, and shows events with their times`() throws {
    let folder = TemporaryFolder()
    let keys = ["--keys", folder.path + "/keys"]
    let first = try Program(["adhoc"] + keys + alone, .terminal(columns: 80, kind: "xterm"), in: folder.path)
    try first.text("What are you called? [")
    first.say("Adb\u{7F}a\r")
    try first.text("this is ")
    #expect(first.out.contains(#/\d\d:\d\d:\d\d/#))
    first.say("\u{4}")
    #expect(try first.ended() == 0)
    #expect(folder.bytes(of: "keys/name") == Array("Ada\n".utf8))
    let again = try Program(["adhoc"] + keys + alone, .terminal(columns: 80, kind: "xterm"), in: folder.path)
    try again.text("this is ")
    try again.text("Ada")
    #expect(!again.out.contains("What are you called?"))
    again.say("/quit\r")
    #expect(try again.ended() == 0)
  }

  @Test func `Ctrl-C at the question for a name ends the program, which keeps none`() throws {
    let folder = TemporaryFolder()
    let program = try Program(
      ["adhoc", "--keys", folder.path + "/keys"] + alone, .terminal(columns: 80, kind: "xterm"), in: folder.path)
    try program.text("What are you called? [")
    program.say("half\u{3}")
    #expect(try program.ended() == 130)
    let isKept = access(folder.path + "/keys/name", F_OK) == 0
    #expect(!isKept)
  }

  @Test func `Ctrl-C says goodbye and leaves the terminal as it was`() throws {
    let program = try Program(
      ["chat", "room", "--name", "Ada", "--keys", "ephemeral"] + alone, .terminal(columns: 80, kind: "xterm"))
    try program.text("> ")
    program.say("unfinished\u{3}")
    #expect(try program.ended() == 130)
    #expect(program.out.hasSuffix("\u{1B}[J"))
  }

  @Test func `Output stands above the line that is being typed`() throws {
    let program = try Program(
      ["chat", "room", "--name", "Ada", "--keys", "ephemeral"] + alone, .terminal(columns: 60, kind: "xterm"))
    try program.text("> ")
    program.say("/peers\rhal")
    try program.text("nobody is connected\r\n")
    try program.text("> hal")
    program.say("\u{15}/q\u{9}")
    try program.text("> /quit ")
    program.say("\r")
    #expect(try program.ended() == 0)
  }

  @Test(arguments: ["dumb", ""])
  func `A terminal that obeys nothing is sent nothing to obey`(_ kind: String) throws {
    let program = try Program(
      ["chat", "room", "--name", "Ada", "--keys", "ephemeral"] + alone, .terminal(columns: 80, kind: kind))
    try program.text("this is Ada")
    program.say("/peers\n")
    try program.text("nobody is connected")
    program.say("/quit\n")
    #expect(try program.ended() == 0)
    #expect(!program.out.contains("\u{1B}"))
  }

  @Test func `Colours are for terminals, and can be switched off`() throws {
    let coloured = try Program(["help"], .terminal(columns: 80, kind: "xterm"))
    #expect(try coloured.ended() == 0)
    #expect(coloured.out.contains("\u{1B}[1m"))
    for (arguments, environment) in [(["help", "browse"], ["NO_COLOR": "1"]), (["--no-color", "help"], [:])] {
      let plain = try Program(arguments, .terminal(columns: 80, kind: "xterm"), environment: environment)
      _ = try plain.ended()
      #expect(!plain.out.contains("\u{1B}"))
    }
  }

  @Test func `Help is as wide as the window`() throws {
    for columns in [40, 72, 100] as [UInt16] {
      let program = try Program(["help"], .terminal(columns: columns, kind: "xterm"), environment: ["NO_COLOR": "1"])
      #expect(try program.ended() == 0)
      let widest = program.out.split(separator: "\r\n").map { DisplayWidth.of($0) }.max() ?? 0
      #expect(widest <= Int(columns))
      #expect(widest > Int(columns) * 2 / 3)
    }
  }
}
