import Glibc
import Testing

@testable import vicinity

/// The list of who is nearby, on a terminal and without one.
@Suite(.ownThread, .serialized) struct GatherTests {
  private func advertise(_ name: String, _ arguments: String...) throws -> (program: Program, place: [String]) {
    let program = try Program(
      ["advertise", "game", "--json", "--discovery", "static", "--keys", "ephemeral", "--name", name] + arguments)
    let started = try program.line(#""event":"started""#)
    let port = try #require(started.firstMatch(of: #/"addresses":\["[^"]*:(\d+)"/#)).output.1
    return (program, ["--at", "127.0.0.1:\(port)"])
  }

  private func gather(
    _ arguments: [String], _ ways: Program.Ways, environment: [String: String] = [:]
  ) throws -> Program {
    try Program(
      ["gather", "game", "--discovery", "static", "--keys", "ephemeral", "--name", "Eve"] + arguments, ways,
      environment: environment)
  }

  @Test(arguments: [true, false])
  func `P-BRO-6 On a terminal the list stays below what is told, and shows where each stands`(hasColour: Bool) throws {
    let (ada, ben) = (try advertise("Ada", "--info", "level=3"), try advertise("Ben"))
    let eve = try gather(
      ada.place + ben.place, .terminal(columns: 80, kind: "xterm"), environment: hasColour ? [:] : ["NO_COLOR": "1"])
    try eve.text("looking for peers; 1 of 2 to 8 peers are in: /invite NAME or /cancel")
    try eve.text(hasColour ? "\u{1B}[2mnearby\u{1B}[0m  level=3" : "Ada  nearby  level=3")
    eve.say("/done\r")
    try eve.text("Only 1 of 2 to 8 peers are in: /invite NAME asks one more, /cancel gives up.")
    eve.say("/inv\u{9}")
    try eve.text("> /invite ")
    eve.say("Be\u{9}")
    try eve.text("> /invite Ben ")
    eve.say("\r")
    try eve.text(hasColour ? "\u{1B}[33minvited" : "Ben  invited")
    try ben.program.line(#""event":"invitation""#)
    ben.program.say("decline\n")
    try eve.text(hasColour ? "\u{1B}[31mdeclined" : "Ben  declined")
    eve.say("/invite Ada\r")
    try ada.program.line(#""event":"invitation""#)
    ada.program.say("accept\n")
    try eve.text(hasColour ? "\u{1B}[32mconnected\u{1B}[0m  level=3" : "Ada  connected  level=3")
    try eve.text("2 of 2 to 8 peers are in: /invite NAME, /done or /cancel")
    eve.say("/done\r")
    try eve.text("; each line that you type goes to all")
    eve.say("hello\r")
    try ada.program.line(#""text":"hello""#)
    #expect(hasColour || !eve.out.contains(#/\x{1B}\[\d+m/#))
    eve.say("/quit\r")
    #expect(try eve.ended() == 0)
  }

  @Test func `P-BRO-6 Without a terminal the list is what /nearby says, and /cancel gives up with 1`() throws {
    let ada = try advertise("Ada")
    let eve = try gather(ada.place, .pipes)
    try eve.line("looking for peers of 'game'")
    try eve.line("found Ada")
    eve.say("/nearby\n")
    try eve.line("  Ada  nearby")
    eve.say("/nearby Ben\n")
    try eve.line("nobody is nearby yet")
    eve.say("/invite Ada\n/invite Ada\n")
    try ada.program.line(#""event":"invitation""#)
    try eve.line("Ada is asked already", on: 1)
    ada.program.say("accept\n")
    try eve.line("2 of 2 to 8 peers are in: /done")
    eve.say("/invite Ada\n")
    try eve.line("Ada is connected already.", on: 1)
    eve.say("/cancel\n")
    try eve.line("given up")
    #expect(try eve.ended() == 1)
    try ada.program.line(#""reason":"left""#)
  }

  @Test func `P-BRO-6 A gather command whose input ends gives up`() throws {
    let eve = try gather([], .pipes)
    eve.endInput()
    #expect(try eve.ended() == 1)
    #expect(eve.err.contains("The input has ended before /done"))
  }

  @Test func `P-BRO-6 A list wants somebody to choose, and no more at least than at most`() throws {
    let blind = try gather([], .noInput)
    #expect(try blind.ended() == 2)
    #expect(blind.err.contains("'vicinity invite game NAME'"))
    let wrong = try gather(["--peers-min", "5", "--peers-max", "3"], .pipes)
    #expect(try wrong.ended() == 2)
    #expect(wrong.err.contains("--peers-min 5 is more than --peers-max 3."))
    let odd = try Program(["chat", "game", "--discovery", "static", "--keys", "ephemeral"])
    odd.say("/done\n")
    try odd.line("'vicinity gather TYPE' begins with a list", on: 1)
  }

  @Test(
    arguments: [
      ("gather", [], true, true), ("gather", ["--no-advertise"], true, false), ("invite", [], true, true),
      ("invite", ["--no-advertise"], true, false), ("invite", ["--accept"], false, true), ("invite", [], false, false),
    ] as [(String, [String], Bool, Bool)])
  func `P-HAB-1 A searching peer is found meanwhile, if it wants to be and somebody can answer`(
    _ command: String, _ options: [String], _ hasInput: Bool, _ isFound: Bool
  ) throws {
    let words = [command, "game"] + (command == "invite" ? ["Nobody"] : []) + options
    let alone = ["--json", "--discovery", "static", "--keys", "ephemeral"]
    let eve = try Program(words + alone + ["--name", "Eve"], hasInput ? .pipes : .noInput)
    let started = try eve.line(#""event":"started""#)
    let port = try #require(started.firstMatch(of: #/"addresses":\["[^"]*:(\d+)"/#)).output.1
    let list = try Program(["peers", "game", "--timeout", "1", "--at", "127.0.0.1:\(port)"] + alone)
    #expect(try list.ended() == (isFound ? 0 : 3), "\(list.err)")
    #expect(list.out.contains(#""name":"Eve""#) == isFound)
    eve.signal(SIGTERM)
    _ = try eve.ended()
  }

  @Test(arguments: [
    (["ad"], true), (["AD"], true), (["level=3"], true), (["LEVEL=3"], true), (["ad", "level=3"], true), ([], true),
    (["level=4"], false), (["level="], false), (["ad", "level=4"], false), (["ben"], false),
  ])
  func `P-BRO-6 A filter shows those of whom all its words are true`(_ words: [String], _ isShown: Bool) {
    #expect(NearbyFilter(words: words).shows(name: "Ada", info: ["level": "3"]) == isShown)
  }
}
