internal import Notation
internal import Web

/// The items of a snapshot, encoded once for all WebSockets of a client that begin with it.
///
/// It lives while one of them still has bytes of it to send, or is catching up, and holds its client's reservation of
/// memory for as long.
final class SnapshotEncoding: Sendable {
  /// The size of its pieces: each is written at once.
  private static let pieceBytes = 256 << 10

  let position: Position
  let client: ClientView
  /// Items with larger ordinals came after it.
  let lastOrdinal: UInt64
  /// The ordinal of its oldest item.
  let firstOrdinal: UInt64
  let ids: [String]
  /// The list of the items.
  let list: Pieces
  private let reservation: ResponseReservation?

  init(
    _ items: [Item], at position: Position, upTo lastOrdinal: UInt64, for client: ClientView,
    keeping reservation: ResponseReservation? = nil
  ) {
    self.position = position
    self.lastOrdinal = lastOrdinal
    self.client = client
    self.reservation = reservation
    firstOrdinal = items.first?.ordinal ?? .max
    ids = items.map(\.id)
    var list = Pieces()
    var piece = [UInt8(ascii: "[")]
    piece.reserveCapacity(min(Self.pieceBytes, Self.bytes(of: items)))
    for item in items {
      if piece.count + item.bytes.count > Self.pieceBytes {
        list.append(piece)
        piece = []
        piece.reserveCapacity(Self.pieceBytes)
      }
      if item !== items.first { piece += Item.comma }
      piece += item.bytes
    }
    piece.append(UInt8(ascii: "]"))
    list.append(piece)
    self.list = list
    reservation?.resize(to: list.count)
  }

  static func bytes(of items: [Item]) -> Int { items.reduce(2) { $0 + $1.bytes.count + 1 } }

  /// Whether it is of the items that a client sees.
  func isFor(_ other: ClientView) -> Bool { client.id == other.id && client.role == other.role }
}
