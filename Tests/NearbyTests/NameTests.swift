internal import Nearby
internal import Testing

@Suite("What a peer may be called here", .timeLimit(.minutes(1)))
struct NameTests {
  static let unseen = [
    " ", "\u{A0}\u{3000}", "\u{200B}\u{FEFF}", "\u{2060}", "\u{3164}", "\u{2800}", "\u{301}", "\u{E0041}",
  ]
  static let breaking = [
    ("\n", "U+000A"), ("Ann\u{0}", "U+0000"), ("\u{1B}[2JAnn", "U+001B"), ("Ann\u{7F}", "U+007F"),
    ("\u{9B}Ann", "U+009B"), ("Ann\u{2028}Bob", "U+2028"), ("Ann\u{2029}", "U+2029"), ("Ann\r\nBob", "U+000D"),
  ]

  @Test(
    "P-ID-1 A name in any script is one, with spaces, marks and joined pictures",
    arguments: ["x", "Ünïcødé", "名前", "نام", "👩‍🚀", "e\u{301}", "a b", "-", "\u{E000}", "\u{200F}א", "⠓⠊"])
  func names(_ name: String) throws {
    try Peer.check(name: name)
  }

  @Test("P-ID-1 A name of which nothing can be seen is refused", arguments: unseen)
  func refused(_ name: String) {
    let error = #expect(throws: NearbyError.self) { try Peer.check(name: name) }
    #expect(error?.code == .invalidParameter && error?.description.contains("nothing that can be seen") == true)
  }

  @Test("P-ID-1 A name with a control character is refused, and the character said", arguments: breaking)
  func refused(_ name: String, _ point: String) {
    let error = #expect(throws: NearbyError.self) { try Peer.check(name: name) }
    #expect(error?.code == .invalidParameter && error?.description.contains(point) == true)
  }

  @Test("P-ID-1 Neither a peer of this host nor one that it knows gets a name that cannot be one")
  func host() async throws {
    var options = HostOptions()
    options.keys = .ephemeral
    options.discovery = .fixed([])
    let host = try await Host.start(options)
    let ada = try await host.peer(named: "Ada")
    for name in ["", String(repeating: "x", count: 64), "\u{200B}", "Ada\n"] {
      let carrying = await #expect(throws: NearbyError.self) { _ = try await host.peer(named: name) }
      let knowing = await #expect(throws: NearbyError.self) { try await host.trust(ada.id, as: name) }
      #expect(carrying?.code == .invalidParameter && knowing == carrying)
    }
    #expect(host.knownPeers.isEmpty)
    await host.stop()
  }
}
