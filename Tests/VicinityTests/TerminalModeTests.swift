import BuiltProgram
import Glibc
import TestKit
import Testing

@testable import vicinity

/// Every command leaves the terminal's settings as it found them, however it ends.
@Suite(.ownThread, .serialized) struct TerminalModeTests {
  private enum Way: CaseIterable {
    /// By itself, or by the line that ends it.
    case ordinary
    case interrupt
    case terminate
  }

  /// A command, what it shows once it runs, and the line that ends it; one without such a line ends by itself.
  private struct Case {
    let arguments: [String]
    var shown: String?
    var line: String?

    init(_ arguments: String, shown: String? = nil, line: String? = nil) {
      self.arguments = arguments.split(separator: " ").map(String.init)
      (self.shown, self.line) = (shown, line)
    }
  }

  /// The prompt as it is drawn for an empty line.
  private static let prompt = "> \r\u{1B}[2C"

  private static let alone = " --discovery static --keys ephemeral --name Ada"

  private static let cases = [
    Case("help"), Case("help chat"), Case("version"), Case("completion bash"), Case("identity"), Case("pair"),
    Case("admin reset"), Case("backup copy"), Case("chat"), Case("unknown"), Case("doctor --discovery static"),
    Case("radio list"),
    Case("peers room --timeout 1" + alone),
    Case("send room nobody --message hi --timeout 1" + alone, shown: "this is "),
    Case("browse room" + alone, shown: prompt, line: "/quit"),
    Case("advertise room" + alone, shown: prompt, line: "/quit"),
    Case("invite room nobody" + alone, shown: prompt, line: "/quit"),
    Case("gather room" + alone, shown: prompt, line: "/cancel"),
    Case("adhoc" + alone, shown: prompt, line: "/quit"),
    Case("chat room" + alone, shown: prompt, line: "/quit"),
    Case("receive room" + alone, shown: prompt, line: "/quit"),
    Case("serve --port 0 --discovery static --keys ephemeral --folder gateway", shown: "pairing code"),
  ]

  @Test("No command is left out")
  func everyCommand() {
    let tried = Set(Self.cases.map { $0.arguments[0] })
    #expect(Syntax.vicinity.commands.filter { !tried.contains($0.name) }.map(\.name) == [])
  }

  @Test("The terminal's settings are the same after each command, be it ended by itself, by Ctrl-C or by SIGTERM")
  func afterEach() throws {
    let folder = TemporaryFolder()
    for one in Self.cases {
      for way in one.shown == nil ? [.ordinary] : Way.allCases where way != .ordinary || one.line != nil {
        let program = try Program(one.arguments, .terminal(columns: 80, kind: "xterm"), in: folder.path)
        if let shown = one.shown { try program.text(shown) }
        switch way {
        case .ordinary: if let line = one.line { program.say(line + "\r") }
        case .interrupt: program.say("\u{3}")
        case .terminate: program.signal(SIGTERM)
        }
        let code = try program.ended()
        #expect(program.settings() == program.settingsAtStart, "\(one.arguments), \(way)")
        switch way {
        case .ordinary: break
        case .interrupt: #expect(code == 130, "\(one.arguments)")
        // A gateway has drained by then, which is what was asked of it.
        case .terminate: #expect(code == (one.arguments[0] == "serve" ? 0 : 143), "\(one.arguments)")
        }
      }
    }
  }

  @Test("Settings that somebody else changes meanwhile stay as they were made")
  func restoresItsOwn() throws {
    let program = try Program(
      Case("chat room" + Self.alone).arguments, .terminal(columns: 80, kind: "xterm"))
    try program.text(Self.prompt)
    #expect(program.settings() != program.settingsAtStart)
    program.changeSettings { $0.c_lflag &= ~tcflag_t(ECHOK) }
    program.say("/quit\r")
    #expect(try program.ended() == 0)
    let (start, end) = (try #require(program.settingsAtStart), try #require(program.settings()))
    #expect(end.local == start.local & ~tcflag_t(ECHOK) && end.input == start.input)
  }

  @Test("A shell goes on after ten commands, Ctrl-Z and fg, and Ctrl-Z and a death in the background")
  func inOneShell() throws {
    let folder = TemporaryFolder()
    let shell = try Shell("/bin/dash", in: folder)
    let start = try shell.settings()
    for one in Self.cases.filter({ $0.shown == nil }).prefix(10) {
      shell.say("vicinity " + one.arguments.joined(separator: " "))
      #expect(try shell.settings() == start, "\(one.arguments)")
    }
    shell.say("vicinity chat room" + Self.alone)
    try shell.program.text(Self.prompt)
    shell.program.say("\u{1A}")
    try shell.program.text("Stopped (signal)           vicinity chat")
    #expect(try shell.settings() == start)
    shell.say("fg; echo left-$?")
    try shell.program.text("left-$?\r\nvicinity chat room")
    shell.program.say("/peers\r")
    try shell.program.text("nobody is connected")
    shell.program.say("/quit\r")
    try shell.program.text("left-0")
    #expect(try shell.settings() == start)
    shell.say("vicinity adhoc" + Self.alone)
    try shell.program.text("for adhoc")
    shell.program.say("\u{1A}")
    try shell.program.text("Stopped (signal)           vicinity adhoc")
    shell.say("kill %1; bg; wait %1")
    #expect(try shell.settings() == start)
  }

  /// A killed process restores nothing; its shell does so for it.
  @Test("bash has its terminal back after a kill -9")
  func afterKill() throws {
    let folder = TemporaryFolder()
    let shell = try Shell("/bin/bash", in: folder)
    let start = try shell.settings()
    shell.say("sh -c 'echo process-$$-; exec vicinity chat room \(Self.alone)'")
    try shell.program.text(Self.prompt)
    let number = try #require(shell.program.out.firstMatch(of: #/process-(\d+)-/#)).output.1
    kill(try #require(pid_t(number)), SIGKILL)
    try shell.program.text("Killed")
    #expect(try shell.settings() == start)
  }

  /// An interactive shell with the program in its path.
  private final class Shell {
    let program: Program
    private var asked = 0

    init(_ path: String, in folder: TemporaryFolder) throws {
      let place = String(try BuiltProgram.vicinity().dropLast("/vicinity".count))
      program = try Program(
        path.hasSuffix("bash") ? ["--norc", "-i"] : ["-i"], .terminal(columns: 200, kind: "xterm"), in: folder.path,
        environment: ["PATH": "\(place):/usr/bin:/bin", "PS1": "$ "], running: path)
    }

    func say(_ line: String) { program.say(line + "\r") }

    /// The output of `stty -g`, once the shell is in the foreground. The shell is there again afterwards: the next line
    /// is echoed behind its prompt.
    func settings() throws -> String {
      asked += 1
      // The echo of the line differs from its output.
      say("printf 'settings-%s-%s-end-%s-\\n' \(asked) \"$(stty -g)\" \(asked)")
      try program.text("$ ", after: "-end-\(asked)-")
      let pattern = try Regex("settings-\(asked)-([0-9a-f:]+)-end", as: (Substring, Substring).self)
      return String(try #require(program.out.firstMatch(of: pattern)).output.1)
    }
  }
}
