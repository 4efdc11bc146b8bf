import Wire

/// Bytes of a flow by offset, in the pieces in which they were given: stored without a copy, and copied once, to their
/// destination.
///
/// Invariant: the pieces follow each other from `start` to `end`, and none is empty.
struct ByteRope {
  private var pieces = Deque<[UInt8]>()
  private(set) var start: UInt64
  private(set) var end: UInt64
  /// Cursor: the piece that was read last, and its offset, so that sequential reads need no search.
  private var cursor: (piece: Int, offset: UInt64)

  init(at start: UInt64 = 0) {
    self.start = start
    end = start
    cursor = (0, start)
  }

  mutating func append(_ bytes: [UInt8]) {
    if bytes.isEmpty { return }
    end += UInt64(bytes.count)
    // A piece for every few bytes would cost more than they do.
    if !pieces.isEmpty, pieces[pieces.count - 1].count + bytes.count <= Self.joinedMax {
      pieces[pieces.count - 1] += bytes
    } else {
      pieces.append(bytes)
    }
  }

  private static let joinedMax = 4_096

  /// Drops whole pieces before `offset`; `spent` may keep the memory of each.
  mutating func drop(before offset: UInt64, spent: (consuming [UInt8]) -> Void = { _ in }) {
    while let first = pieces.first, start + UInt64(first.count) <= offset {
      start += UInt64(first.count)
      // The deque keeps removed elements for a while, and these bytes are many.
      pieces[0] = []
      pieces.removeFirst()
      cursor.piece -= 1
      spent(first)
    }
    if cursor.piece < 0 { cursor = (0, start) }
  }

  /// Appends the bytes of a range that is held here to `out`, which has room for them.
  mutating func copy(_ range: Range<UInt64>, into out: inout OutputRawSpan) {
    precondition(range.lowerBound >= start && range.upperBound <= end, "bytes that are not here")
    if range.lowerBound < cursor.offset { cursor = (0, start) }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let piece = pieces[cursor.piece]
      let pieceEnd = cursor.offset + UInt64(piece.count)
      if offset >= pieceEnd {
        cursor = (cursor.piece + 1, pieceEnd)
        continue
      }
      let last = min(range.upperBound, pieceEnd)
      let part = Int(offset - cursor.offset)..<Int(last - cursor.offset)
      out.put(raw: unsafe piece.span.bytes.extracting(part))  // a UInt8 has no padding to show
      offset = last
    }
  }
}
