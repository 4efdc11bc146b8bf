import Glibc
import Media
import Nearby
import Testing

@testable import vicinity

/// The program on a terminal, and a host whose words are made to do harm there.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(2))) struct StrangerTests {
  /// It clears the screen in two ways, rings, sets the title, begins a line and turns it.
  private static let harm = "\u{1B}[2J\u{9B}2J\u{7}\u{1B}]0;title\u{9C}\r\n\u{2028}\u{202E}"

  @Test("P-HAB-2 No word of a stranger moves a cursor, and what it was is seen", arguments: ["xterm", "dumb"])
  func words(_ kind: String) async throws {
    var options = HostOptions()
    options.keys = .ephemeral
    options.discovery = .fixed([])
    let host = try await Host.start(options)
    let eve = try await host.carry(SigningKey(), named: "Eve" + Self.harm)
    let session = try await eve.openSession()
    try await session.startAdhoc("room", info: ["key": "info" + Self.harm])
    let port = try #require(await host.addresses.first?.split(separator: ":").last)
    let words = ["adhoc", "room", "--name", "Ada", "--keys", "ephemeral", "--at", "127.0.0.1:\(port)"]
    let program = try Program(words, .terminal(columns: 200, kind: kind))
    var member: Member?
    for await event in session.events {
      if case .member(let ada, .connected) = event { member = ada }
      if member != nil { break }
    }
    let ada = try #require(member)
    try await session.send(Array(("message" + Self.harm).utf8))
    let stream = try await session.openStream("stream" + Self.harm, to: ada)
    try await stream.write(Array(("line" + Self.harm + "\n").utf8))
    let resource = try await session.send(.bytes([1]), name: "resource" + Self.harm, to: ada)
    for word in ["Eve", "message", "stream", "line", "resource"] {
      try program.text(word + "\\u{1b}[2J\\u{9b}2J\\u{7}")
    }
    await resource.cancel()
    for part in ["\u{1B}[2J", "\u{9B}", "\u{7}", "\u{1B}]", "\u{2028}", "\u{202E}"] {
      #expect(!program.out.contains(part), "\(part.debugDescription) is shown:\n\(program.out.debugDescription)")
    }
    if kind == "dumb" { #expect(!program.out.contains("\u{1B}")) }
    await host.stop()
    program.signal(SIGTERM)
    #expect(try program.ended() == 143)
  }
}
