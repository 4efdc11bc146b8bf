import Reactor
import Testing
import Web

/// Large frames of many WebSockets.
@Suite(.serialized) struct WriteTurnsTests {
  /// The bytes that wait for each socket, turn by turn.
  private final class Waiting {
    var turns: [[Int]] = []
  }

  private static let size = 3 << 20
  private static let shareMax = 256 << 10

  @Test func `large frames of many sockets go out a share at a time, and other work comes between`() throws {
    let rig = try WebRig()
    let clients = try (0..<6).map { _ in try SocketClient(rig, "/ws/echo") }
    #expect(try rig.eventually { $0.sockets.count == 6 && $0.sockets.allSatisfy { $0.socket != nil } })
    let message = (0..<Self.size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let waiting = Waiting()
    try rig.onHandler { handler in
      func look() {
        waiting.turns.append(handler.sockets.map { $0.socket?.queuedBytes ?? 0 })
        if waiting.turns.count < 20 { handler.after(.zero, look) }
      }
      for owner in handler.sockets { owner.socket?.send(reserved: [Pieces([message])], .binary) }
      look()
    }
    for client in clients { #expect(try client.receive()?.payload == message) }
    #expect(try rig.eventually { _ in waiting.turns.count == 20 })
    let turns = try rig.onHandler { _ in waiting.turns }
    #expect(turns[0].allSatisfy { $0 >= Self.size })
    for (before, after) in zip(turns, turns.dropFirst()) {
      // A flush ends with the write that fills its share.
      #expect(zip(before, after).allSatisfy { $0 - $1 < 2 * Self.shareMax }, "\(before) → \(after)")
    }
  }
}
