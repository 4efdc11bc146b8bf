/// A queue of bytes in pieces that can be shared with their makers; nothing is copied until it is written.
package struct Pieces: Sendable {
  /// Written pieces become empty, so that their memory is freed.
  private var pieces: [[UInt8]]
  private var first = 0
  /// The number of bytes of the first piece that are written.
  private var written = 0
  /// The number of bytes that are left.
  package private(set) var count: Int
  /// The reservation of their memory, held while bytes are left.
  private var reservation: (any AnyObject & Sendable)?

  package init(_ pieces: [[UInt8]] = []) {
    self.pieces = pieces
    count = pieces.reduce(0) { $0 + $1.count }
  }

  package var isEmpty: Bool { count == 0 }

  /// All bytes as one array.
  package var joined: [UInt8] {
    var rest = self
    return [UInt8](unsafeUninitializedCapacity: count) { room, count in
      count = rest.take(into: UnsafeMutableRawBufferPointer(room))
    }
  }

  package mutating func append(_ piece: [UInt8]) {
    if piece.isEmpty { return }
    pieces.append(piece)
    count += piece.count
  }

  package mutating func append(_ more: Pieces) {
    for index in more.first..<more.pieces.count {
      append(index == more.first && more.written > 0 ? Array(more.pieces[index][more.written...]) : more.pieces[index])
    }
    if let reservation = more.reservation { keep(reservation) }
  }

  /// The same behind another piece.
  func behind(_ head: [UInt8]) -> Pieces {
    var all = Pieces([head])
    all.append(self)
    return all
  }

  /// Keeps the object until all bytes are written, or dropped.
  package mutating func keep(_ reservation: any AnyObject & Sendable) { self.reservation = reservation }

  /// Moves the next bytes into the room and returns their number.
  package mutating func take(into room: UnsafeMutableRawBufferPointer) -> Int {
    let count = copy(into: room)
    drop(count)
    return count
  }

  /// Passes the next bytes to `write`: of a long piece `bytesMax` at most, else as much as the room holds. The bytes that
  /// `write` reports as written are dropped.
  mutating func write(
    _ room: UnsafeMutableRawBufferPointer, atMost bytesMax: Int = .max, _ write: (UnsafeRawBufferPointer) -> Int?
  ) -> Int? {
    let count: Int?
    if pieces[first].count - written >= room.count {
      count = pieces[first].withUnsafeBytes {
        write(UnsafeRawBufferPointer(rebasing: $0[written...].prefix(bytesMax)))
      }
    } else {
      count = write(UnsafeRawBufferPointer(rebasing: room[..<copy(into: room)]))
    }
    if let count { drop(count) }
    return count
  }

  private func copy(into room: UnsafeMutableRawBufferPointer) -> Int {
    var (copied, index, start) = (0, first, written)
    while copied < room.count, index < pieces.count {
      let count = min(pieces[index].count - start, room.count - copied)
      pieces[index].withUnsafeBytes {
        UnsafeMutableRawBufferPointer(rebasing: room[copied...]).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: $0[start..<start + count]))
      }
      copied += count
      (index, start) = (index + 1, 0)
    }
    return copied
  }

  private mutating func drop(_ dropped: Int) {
    count -= dropped
    if count == 0 { return self = Pieces() }
    written += dropped
    while written >= pieces[first].count {
      written -= pieces[first].count
      pieces[first] = []
      first += 1
    }
  }
}

/// A response body that is complete in memory, in pieces.
package final class PiecesSource: BodySource {
  private var pieces: Pieces

  package init(_ pieces: Pieces) {
    self.pieces = pieces
  }

  package func pull(_ room: UnsafeMutableRawBufferPointer) -> Pulled {
    pieces.isEmpty ? .end : .wrote(pieces.take(into: room))
  }
}
