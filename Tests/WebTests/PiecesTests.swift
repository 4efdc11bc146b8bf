import Testing

@testable import Web

@Suite struct PiecesTests {
  private final class Kept: Sendable {}

  private static let pieces: [[UInt8]] = [[1], [], [2, 3, 4, 5, 6, 7, 8, 9], [10, 11], [12]]
  private static let all = (1...12).map(UInt8.init)

  @Test(arguments: 1...13) func `whatever the room, all comes in order`(_ size: Int) {
    var (pieces, taken, room) = (Pieces(Self.pieces), [UInt8](), [UInt8](repeating: 0, count: size))
    #expect(pieces.count == 12 && pieces.joined == Self.all)
    while !pieces.isEmpty {
      let count = room.withUnsafeMutableBytes { pieces.take(into: $0) }
      taken += room[..<count]
      #expect(pieces.count == 12 - taken.count && pieces.joined == Array(Self.all[taken.count...]))
    }
    #expect(taken == Self.all)
  }

  @Test(arguments: 1...13, 0...3) func `what is not written is shown again`(_ size: Int, _ step: Int) throws {
    var (pieces, taken, room, turn) = (Pieces(Self.pieces), [UInt8](), [UInt8](repeating: 0, count: size), 0)
    while !pieces.isEmpty {
      turn += 1
      let count = room.withUnsafeMutableBytes { room in
        pieces.write(room) { shown in
          let count = min(shown.count, turn % 2 == 0 ? step : 1)
          taken += shown[..<count]
          return count
        }
      }
      #expect(count != nil)
    }
    #expect(taken == Self.all)
    var broken = Pieces(Self.pieces)
    #expect(room.withUnsafeMutableBytes { broken.write($0) { _ in nil } } == nil)
    #expect(broken.count == 12)
  }

  @Test func `what is kept goes with the last byte, and goes along where pieces are appended`() {
    weak var kept: Kept?
    var pieces = Pieces([[1, 2]])
    do {
      let reservation = Kept()
      kept = reservation
      var more = Pieces([[3, 4, 5]])
      more.keep(reservation)
      var first: [UInt8] = [0]
      _ = first.withUnsafeMutableBytes { more.take(into: $0) }
      pieces.append(more)
    }
    #expect(pieces.joined == [1, 2, 4, 5] && kept != nil)
    var room = [UInt8](repeating: 0, count: 3)
    _ = room.withUnsafeMutableBytes { pieces.take(into: $0) }
    #expect(kept != nil)
    _ = room.withUnsafeMutableBytes { pieces.take(into: $0) }
    #expect(kept == nil && pieces.isEmpty)
  }
}
