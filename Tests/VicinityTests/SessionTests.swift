import Glibc
import TestKit
import Testing

@testable import vicinity

/// Several of the real program, in sessions with each other over loopback.
@Suite(.ownThread, .serialized) struct SessionTests {
  private static let folder = "/tmp"

  /// A program that others reach at the port in its first event.
  private func start(
    _ arguments: [String], named name: String, _ ways: Program.Ways = .pipes, in folder: String = folder,
    at ports: [Int] = []
  ) throws -> Program {
    let places = ports.flatMap { ["--at", "127.0.0.1:\($0)"] }
    return try Program(
      arguments + places + ["--discovery", "static", "--keys", "ephemeral", "--name", name], ways, in: folder)
  }

  /// The port of its listener, from its first event.
  private func port(of program: Program) throws -> Int {
    let line = try program.line(#""event":"started""#)
    let match = try #require(line.firstMatch(of: #/"addresses":\["[^"]*:(\d+)"/#))
    return try #require(Int(match.output.1))
  }

  private func field(_ name: String, of line: String) -> String {
    guard let start = line.ranges(of: "\"\(name)\":").first else { return "" }
    let rest = line[start.upperBound...]
    return rest.first == "\""
      ? String(rest.dropFirst().prefix { $0 != "\"" }) : String(rest.prefix { $0 != "," && $0 != "}" })
  }

  @Test func `P-ADV-4 P-ADV-6 An invitation is asked about with who and why, and yes connects`() throws {
    let ada = try start(["advertise", "chat", "--json", "--info", "room=7"], named: "Ada")
    let bob = try start(
      ["invite", "chat", "Ada", "--json", "--context", "from the workshop"], named: "Bob", at: [try port(of: ada)])
    let found = try bob.line(#""event":"found""#)
    #expect(found.contains(#""info":{"room":"7"}"#))
    let asked = try ada.line(#""event":"invitation""#)
    #expect(field("context", of: asked) == "from the workshop")
    #expect(field("name", of: asked) == "Bob")
    ada.say("accept \(field("number", of: asked))\n")
    try bob.line(#""event":"connected""#)
    try ada.line(#""event":"connected""#)
    ada.say("say hello\nsay \n")
    #expect(field("text", of: try bob.line(#""event":"message""#)) == "hello")
    #expect(field("size", of: try bob.line(#""event":"message""#)) == "0")
    bob.say("peers\n")
    #expect(try bob.line(#""event":"peers""#).contains(#""name":"Ada""#))
    bob.say("quit\n")
    #expect(field("reason", of: try ada.line(#""event":"notConnected""#)) == "left")
    #expect(try bob.ended() == 0)
    ada.signal(SIGTERM)
    #expect(try ada.ended() == 143)
  }

  @Test func `P-ADV-4 No is told as declined, and is 4`() throws {
    let ada = try start(["advertise", "chat", "--json"], named: "Ada")
    let bob = try start(["invite", "chat", "Ada", "--json"], named: "Bob", at: [try port(of: ada)])
    try ada.line(#""event":"invitation""#)
    ada.say("decline\n")
    #expect(field("reason", of: try bob.line(#""event":"invitationEnded""#)) == "declined")
    #expect(try bob.ended() == 4)
    #expect(bob.err.contains("the other side declined"))
  }

  @Test func `P-SEC-1 Peers that disagree about encryption are refused, and told why`() throws {
    let ada = try start(["advertise", "chat", "--json", "--accept", "--encryption", "none"], named: "Ada")
    let place = try port(of: ada)
    let bob = try start(["invite", "chat", "Ada", "--json", "--encryption", "required"], named: "Bob", at: [place])
    #expect(try bob.ended() == 4)
    #expect(bob.err.contains("--encryption"))
    let eve = try start(["invite", "chat", "Ada", "--json"], named: "Eve", at: [place])
    try eve.line(#""event":"connected""#)
  }

  @Test func `P-HAB-5 A peer that declines one in ad hoc mode is not asked again, and both are notified`() throws {
    let ada = try start(["advertise", "room", "--json"], named: "Ada")
    let bob = try start(["adhoc", "room", "--json"], named: "Bob", at: [try port(of: ada)])
    try ada.line(#""event":"invitation""#)
    ada.say("decline\n")
    let told = try bob.line(#""event":"notConnected""#)
    #expect(field("name", of: told) == "Ada" && field("reason", of: told) == "declined")
    #expect(field("askedAgain", of: told) == "false")
    bob.say("invite Ada\n")
    try ada.line(#""event":"invitation""#)
    ada.say("accept\n")
    try bob.line(#""event":"connected""#)
    for one in [ada, bob] { one.say("/quit\n") }
  }

  @Test func `P-HAB-1 One who advertises until connected is not found any more then`() throws {
    let ada = try start(["advertise", "room", "--json", "--accept", "--until", "connected"], named: "Ada")
    let place = try port(of: ada)
    let bob = try start(["invite", "room", "Ada", "--json"], named: "Bob", at: [place])
    try bob.line(#""event":"connected""#)
    #expect(field("until", of: try ada.line(#""event":"searchEnded""#)) == "connected")
    // Her host may say this before it says that she has joined.
    try bob.text(#""event":"lost""#)
  }

  @Test func `P-SES-7 P-APP-1 Those who chat meet by themselves, talk, and share files with progress`() throws {
    let folder = TemporaryFolder()
    let picture = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }
    let path = try folder.write(picture, to: "picture to Bob.jpg")
    let ada = try start(["chat", "room", "--json"], named: "Ada")
    let place = try port(of: ada)
    let bob = try start(["chat", "room", "--json", "--to-folder", folder.path + "/in"], named: "Bob", at: [place])
    let eve = try start(["chat", "room", "--json"], named: "Eve", at: [place, try port(of: bob)])
    for (one, others) in [(ada, ["Bob", "Eve"]), (bob, ["Ada", "Eve"]), (eve, ["Ada", "Bob"])] {
      var left = Set(others)
      while !left.isEmpty { left.remove(field("name", of: try one.line(#""event":"connected""#))) }
    }
    ada.say("say hello\n")
    for other in [bob, eve] { #expect(field("text", of: try other.line(#""event":"message""#)) == "hello") }
    ada.say("send \(path)\n")
    let offered = try eve.line(#""event":"resource""#)
    #expect(offered.contains(#""accepted":false"#))
    #expect(field("size", of: offered) == "\(picture.count)")
    #expect(field("type", of: offered) == "image/jpeg")
    eve.say("decline \(field("number", of: offered))\n")
    let here = try bob.line(#""event":"resourceEnded""#, within: 60)
    #expect(here.contains(#""reason":"none""#))
    let isWhole = folder.bytes(of: "in/picture to Bob.jpg") == picture
    #expect(isWhole)
    let ends = [try ada.line(#""event":"resourceEnded""#), try ada.line(#""event":"resourceEnded""#)]
    #expect(Set(ends.map { field("reason", of: $0) }) == ["none", "declined"])
    let showsProgress = ada.out.contains(#""event":"progress""#)
    #expect(showsProgress)
    for one in [ada, bob, eve] { one.say("/quit\n") }
    for one in [ada, bob, eve] { #expect(try one.ended() == 0) }
  }

  @Test func `Messages, files and a stream reach one who receives, byte for byte`() throws {
    let folder = TemporaryFolder()
    let file = try folder.write((0..<300_000).map { UInt8(truncatingIfNeeded: $0 >> 3) }, to: "data.bin")
    let empty = try folder.write([], to: "empty")
    let ada = try start(
      ["receive", "post", "--accept", "--once", "--to-folder", folder.path + "/in"], named: "Ada", .noInput)
    let told = try ada.line("this is Ada", on: 1)
    let place = try #require(told.split(separator: ":").last.flatMap { Int($0) })
    let stream = String(repeating: "0123456789\u{0}\n", count: 100_000)
    let input = try folder.write(Array(stream.utf8), to: "stream")
    let bob = try start(
      ["send", "post", "Ada", "--message", "soup\u{1B}[31m", "--file", file, empty, "--stream", "numbers"],
      named: "Bob",
      .input(input), at: [place])
    // Its output is read, or nothing would move.
    #expect(try ada.ended(within: 60) == 0, "\(ada.err)")
    #expect(try bob.ended(within: 60) == 0, "\(bob.err)")
    let (hasStream, hasFile) = (
      ada.bytes == Array(stream.utf8), folder.bytes(of: "in/data.bin") == folder.bytes(of: "data.bin")
    )
    #expect(hasStream)
    #expect(hasFile)
    #expect(folder.has("in/empty") && folder.bytes(of: "in/empty").isEmpty)
    #expect(ada.err.contains("Bob: soup\\u{1b}[31m"))
    #expect(bob.out.isEmpty)
  }

  @Test(arguments: [["--output", "/dev/full"], []])
  func `A stream for which there is no room is told on both sides, and is no success`(_ place: [String]) throws {
    let ada = try Program(
      ["receive", "backup", "--accept", "--once", "--discovery", "static", "--keys", "ephemeral", "--name", "Ada"]
        + place,
      .noInput, in: Self.folder, through: place.isEmpty ? ["sh", "-c", "exec \"$@\" > /dev/full", "sh"] : [])
    let started = try ada.line("this is Ada", on: 1)
    let port = try #require(started.firstMatch(of: #/127\.0\.0\.1:(\d+)|:(\d+)/#)).output
    let number = try #require((port.1 ?? port.2).flatMap { Int($0) })
    let folder = TemporaryFolder()
    let much = try folder.write([UInt8](repeating: 7, count: 4 << 20), to: "docs.tar")
    let bob = try start(
      ["send", "backup", "Ada", "--stream", "docs.tar", "--json"], named: "Bob", .input(much), at: [number])
    // The receiver, whose output is full, leaves, perhaps before it reports why.
    let code = try bob.ended()
    #expect(code == ExitCode.failed.rawValue || code == ExitCode.lost.rawValue, "\(code): \(bob.err)")
    #expect(try ada.ended() == 1)
    #expect(ada.err.contains("No space left on device"), "\(ada.err)")
  }

  @Test func `A stream is told in events, text as text and the rest in base64`() throws {
    let ada = try start(["receive", "post", "--accept", "--json"], named: "Ada")
    let place = try port(of: ada)
    let bob = try start(["invite", "post", "Ada"], named: "Bob", at: [place])
    try ada.line(#""event":"connected""#)
    try bob.line("connected with Ada")
    bob.say("/stream log\nfirst ü\n/quit\n/end\nafter\n")
    #expect(field("stream", of: try ada.line(#""event":"stream""#)) == "log")
    var text = ""
    while !text.hasSuffix("/quit\\n") { text += field("text", of: try ada.line(#""event":"streamBytes""#)) }
    #expect(text == "first ü\\n/quit\\n")
    #expect(field("reason", of: try ada.line(#""event":"streamEnded""#)) == "none")
    bob.endInput()
    #expect(try bob.ended() == 0)
    try ada.line(#""event":"notConnected""#)
    // Messages wait for no stream.
    #expect(ada.out.contains(#""text":"after""#))
  }

  @Test func `P-BRO-7 Peers of all types are listed, and who finds nobody hears which types are in use`() throws {
    let ada = try start(["advertise", "music", "--json", "--accept"], named: "Ada")
    let ben = try start(["advertise", "books", "--json", "--accept"], named: "Ben")
    let places = [try port(of: ada), try port(of: ben)]
    let nobody = try start(["peers", "musik", "--timeout", "1"], named: "Bob", at: places)
    #expect(try nobody.ended() == 3)
    #expect(nobody.err.contains("others nearby use 'books', 'music': 'vicinity peers books'"), "\(nobody.err)")
    let all = try start(["peers", "--timeout", "2"], named: "Bob", at: places)
    #expect(try all.ended() == 0, "\(all.err)")
    let rows = all.out.split(separator: "\n").map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
    #expect(rows == ["TYPE NAME", "books Ben", "music Ada"], "\(all.out)")
    let told = try start(["peers", "--json", "--timeout", "2"], named: "Bob", at: places)
    #expect(try told.ended() == 0)
    #expect(told.out.contains(#""name":"Ada","type":"music""#), "\(told.out)")
  }

  @Test func `A name that several have is asked for by ID, and all of them are listed`() throws {
    let first = try start(["advertise", "chat", "--json", "--accept"], named: "Ada")
    let second = try start(["advertise", "chat", "--json", "--accept"], named: "Ada")
    let places = [try port(of: first), try port(of: second)]
    let list = try start(["peers", "chat", "--timeout", "2"], named: "Bob", at: places)
    #expect(try list.ended() == 0)
    let rows = list.out.split(separator: "\n").dropFirst()
    #expect(rows.count == 2)
    let ids = rows.map { String($0.split(separator: " ")[1]) }
    let doubtful = try start(["send", "chat", "Ada", "--message", "x"], named: "Bob", at: places)
    #expect(try doubtful.ended() == 1)
    for id in ids { #expect(doubtful.err.contains(id)) }
    let sure = try start(["send", "chat", String(ids[1].prefix(8)), "--message", "x"], named: "Bob", at: places)
    #expect(try sure.ended() == 0, "\(sure.err)")
  }

  @Test func `The list of those who are connected says by which medium, and how long a round trip takes`() throws {
    let ada = try start(["advertise", "post", "--accept", "--json"], named: "Ada")
    let bob = try start(["invite", "post", "Ada", "--json"], named: "Bob", at: [try port(of: ada)])
    try bob.line(#""event":"connected""#)
    bob.say("/peers\n")
    let list = try bob.line(#""event":"peers""#)
    #expect(list.contains(#""medium":"lan","roundTripMilliseconds":"#), "\(list)")
    bob.say("/quit\n")
    #expect(try bob.ended() == 0)
  }

  @Test func `A program that dies is told as lost, and a sender to it ends with 5`() throws {
    let ada = try start(["receive", "post", "--accept", "--json"], named: "Ada")
    let bob = try start(
      ["send", "post", "Ada", "--stream", "endless", "--json"], named: "Bob", at: [try port(of: ada)])
    try bob.line(#""event":"stream""#)
    ada.signal(SIGKILL)
    try bob.line(#""event":"notConnected""#)
    // Its input goes on, and there is nobody for it.
    #expect(try bob.ended() == 5)
  }

  @Test func `A failed command is reported, and the session continues`() throws {
    let ada = try start(["advertise", "chat", "--json"], named: "Ada")
    _ = try port(of: ada)
    for (line, sentence) in [
      ("say hello", "Nobody is connected"), ("dance", "There is no '/dance'"), ("accept", "nothing to accept"),
      ("decline 7", "There is no question 7"), ("send /nowhere to Bob", "Nobody called 'Bob'"),
      ("cancel", "Nothing is under way"),
    ] {
      ada.say(line + "\n")
      #expect(try ada.line(#""event":"error""#).contains(sentence))
    }
    ada.say("quit\n")
    #expect(try ada.ended() == 0)
  }

  @Test func `A long line and bytes that are no text do it no harm`() throws {
    let ada = try start(["advertise", "chat", "--json"], named: "Ada")
    _ = try port(of: ada)
    ada.say(String(repeating: "x", count: 3 << 20) + "\n\u{0}\u{1B}[2J\r\nquit\n")
    #expect(try ada.ended() == 0)
    let isClean = !ada.out.contains("\u{1B}")
    #expect(isClean)
  }

  @Test func `Compared codes are the same on both sides, and a yes from both confirms`() throws {
    let ada = try start(["advertise", "chat", "--json", "--accept"], named: "Ada")
    let bob = try start(["identity", "compare", "chat", "Ada", "--json"], named: "Bob", at: [try port(of: ada)])
    let (shown, asked) = (try ada.line(#""event":"comparison""#), try bob.line(#""event":"comparison""#))
    #expect(field("code", of: shown) == field("code", of: asked))
    #expect(field("code", of: shown).count >= 6)
    // Each says so for itself.
    ada.say("accept \(field("number", of: shown))\n")
    #expect(field("reason", of: try ada.line(#""event":"comparisonEnded""#)) == "none")
    bob.say("accept \(field("number", of: asked))\n")
    #expect(try bob.ended() == 0)
  }

  @Test func `P-SEC-3 A joining peer is asked about with its certificates, and no refuses it`() throws {
    let ada = try start(["advertise", "chat", "--json", "--accept", "--trust", "ask"], named: "Ada")
    let place = try port(of: ada)
    let bob = try start(["invite", "chat", "Ada", "--json"], named: "Bob", at: [place])
    let asked = try ada.line(#""event":"decision""#)
    #expect(asked.contains("No certificate was shown."))
    ada.say("decline \(field("number", of: asked))\n")
    #expect(try bob.ended() == 4)
    let eve = try start(["invite", "chat", "Ada", "--json"], named: "Eve", at: [place])
    ada.say("accept \(field("number", of: try ada.line(#""event":"decision""#)))\n")
    try eve.line(#""event":"connected""#)
  }

  @Test func `P-SEC-2 P-SEC-4 A peer with certificates that lead to an anchor is let in, and nobody else`() throws {
    let folder = TemporaryFolder()
    let made = system(
      """
      cd '\(folder.path)' && exec >/dev/null 2>&1 &&
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=Bob -days 30 \
        -keyout key.pem -out leaf.pem &&
      openssl pkcs12 -export -inkey key.pem -in leaf.pem -out bob.p12 -passout pass:secret && echo secret >password
      """)
    #expect(made == 0)
    let (ours, theirs) = (["--keys", folder.path + "/ada"], ["--keys", folder.path + "/bob"])
    let anchor = try Program(["identity", "anchor", "leaf.pem"] + ours, in: folder.path)
    #expect(try anchor.ended() == 0, "\(anchor.err)")
    let wrong = try Program(
      ["identity", "import", "bob.p12"] + theirs, .input(folder.path + "/leaf.pem"), in: folder.path)
    #expect(try wrong.ended() == 1)
    #expect(wrong.err.contains("password"))
    let imported = try Program(
      ["identity", "import", "bob.p12", "--password-file", "password"] + theirs, in: folder.path)
    #expect(try imported.ended() == 0, "\(imported.err)")
    let ada = try Program(
      ["advertise", "chat", "--json", "--accept", "--trust", "anchors", "--discovery", "static", "--name", "Ada"] + ours
    )
    let at = ["--at", "127.0.0.1:\(try port(of: ada))", "--name", "Bob"]
    let stranger = try Program(["invite", "chat", "Ada", "--keys", "ephemeral"] + at)
    #expect(try stranger.ended() == 4)
    let bob = try Program(["invite", "chat", "Ada", "--identity", "Bob", "--json"] + at + theirs)
    try bob.line(#""event":"connected""#)
    try ada.line(#""certificates":["CN = Bob"]"#)
    let unknown = try Program(["invite", "chat", "Ada", "--identity", "Eve"] + at + ["--keys", folder.path + "/eve"])
    #expect(try unknown.ended() == 1)
    #expect(unknown.err.contains("No security identity has 'Eve'"))
  }

  @Test func `P-SEC-5 A peer that is known is let in where only known ones are, and shown as known`() throws {
    let folder = TemporaryFolder()
    let (ours, theirs) = (["--keys", folder.path + "/ada"], ["--keys", folder.path + "/bob", "--name", "Bob"])
    let shown = try Program(["identity", "--json"] + theirs)
    #expect(try shown.ended() == 0)
    let trusted = try Program(["identity", "trust", field("peer", of: shown.out), "Robert"] + ours)
    #expect(try trusted.ended() == 0, "\(trusted.err)")
    let ada = try Program(
      ["advertise", "chat", "--json", "--accept", "--trust", "known", "--discovery", "static", "--name", "Ada"] + ours)
    let at = ["--at", "127.0.0.1:\(try port(of: ada))"]
    let stranger = try Program(["invite", "chat", "Ada", "--keys", "ephemeral", "--name", "Robert"] + at)
    #expect(try stranger.ended() == 4)
    let bob = try Program(["invite", "chat", "Ada"] + theirs + at)
    #expect(try ada.line(#""event":"connected""#).contains(#""known":"hand""#))
    bob.signal(SIGTERM)
    #expect(try bob.ended() == 143)
  }

  @Test func `P-RES-1 The URL of a file is the file, on the command line and in a session`() throws {
    let (folder, theirs) = (TemporaryFolder(), TemporaryFolder())
    let path = try theirs.write(Array("soup".utf8), to: "my soup.txt").replacing(" ", with: "%20")
    let ada = try start(["receive", "post", "--accept", "--json", "--to-folder", folder.path], named: "Ada")
    let port = try port(of: ada)
    let bob = try start(["send", "post", "Ada", "--url", "file://\(path)"], named: "Bob", at: [port])
    #expect(try bob.ended() == 0, "\(bob.err)")
    try ada.line(#""event":"resourceEnded""#)
    #expect(folder.bytes(of: "my soup.txt") == Array("soup".utf8))
    let eve = try start(["invite", "post", "Ada", "--json"], named: "Eve", at: [port])
    try eve.line(#""event":"connected""#)
    eve.say("send file://example.org/x\n")
    try eve.line("files of this machine alone")
    eve.say("send file://localhost\(path)\n")
    try eve.line(#""event":"resourceEnded""#)
    #expect(folder.bytes(of: "my soup (2).txt") == Array("soup".utf8), "\(ada.out)")
  }

  @Test func `P-RES-1 Content of a web address is sent`() throws {
    let folder = TemporaryFolder()
    let server = Program.Server()
    let ada = try start(["receive", "post", "--accept", "--json", "--to-folder", folder.path], named: "Ada")
    let bob = try start(
      ["send", "post", "Ada", "--url", "http://127.0.0.1:\(server.port)/picture.png"], named: "Bob",
      at: [try port(of: ada)])
    server.answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: image/png\r\n\r\nhello")
    #expect(try bob.ended() == 0, "\(bob.err)")
    #expect(try ada.line(#""event":"resource""#).contains(#""type":"image/png""#))
    try ada.line(#""event":"resourceEnded""#)
    #expect(folder.bytes(of: "picture.png") == Array("hello".utf8))
  }
}
