import Reactor
import Testing

@testable import first_contact

/// A few processes and what lies between them, all watched from one loop, and all gone in the end.
final class TestBed {
  let reactor: Reactor
  private var players: [Player] = []
  private var cables: [Cable] = []

  private init(on reactor: Reactor) {
    self.reactor = reactor
  }

  /// Runs a test with a loop on a thread of its own: the tests' tasks share few threads.
  static func play(_ act: @escaping @Sendable (TestBed) async throws -> Void) async throws {
    let reactor = try Reactor()
    reactor.start()
    await reactor.spawn {
      let scene = TestBed(on: reactor)
      do {
        try await act(scene)
      } catch {
        Issue.record(error)
      }
      for player in scene.players { player.end() }
      for cable in scene.cables { cable.close() }
    }.value
    reactor.stop()
  }

  func player() async throws -> Player {
    let player = try Player(on: reactor)
    players.append(player)
    try await player.start()
    return player
  }

  func cable(to player: Player) throws -> Cable {
    let cable = try Cable(to: player.address, on: reactor)
    cables.append(cable)
    return cable
  }

  /// Two in one session; the first has invited the second, and dials it by this address.
  func pair(over cable: (TestBed, Player) throws -> Cable? = { _, _ in nil }) async throws -> (Player, Player) {
    let (a, b) = (try await player(), try await player())
    let address = try cable(self, b)?.address ?? b.address
    a.say("sight \(b.peer) \(b.host) \(address)")
    _ = try await a.says("found \(b.peer)")
    a.say("invite \(b.peer) 10 ")
    _ = try await b.says("invited \(a.peer)")
    b.say("accept")
    _ = try await a.says("connected \(b.peer)")
    _ = try await b.says("connected \(a.peer)")
    return (a, b)
  }
}

extension Player {
  func send(_ bytes: [UInt8], _ mode: String = "reliable") {
    say("send \(mode) \(Hexadecimal.text(bytes.span.bytes))")
  }

  /// Every message that was printed so far, in order.
  func messages(_ mode: String = "reliable") throws -> [[UInt8]] {
    let start = "message \(mode) "
    return try lines.filter { $0.hasPrefix(start) }.map {
      try #require(Hexadecimal.bytes(String($0.dropFirst(start.count))))
    }
  }
}
