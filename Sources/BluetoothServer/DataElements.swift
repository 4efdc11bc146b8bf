/// A data element of the service discovery protocol (SDP; Bluetooth's core specification, volume 3, part B, 3), as far as the record
/// of a host has them.
enum DataElement: Hashable {
  case number(UInt64)
  /// A short one in its long form.
  case uuid(UInt128)
  case text([UInt8])
  case sequence(DataElements)
  case other
}

/// Data elements one after another, which anybody may have written.
///
/// An element ends within the bytes that are there. Those of a sequence are read when they are asked for, so depth costs nothing.
struct DataElements: Hashable, Sequence, IteratorProtocol {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  /// Nil at the end, and from one on that is cut.
  mutating func next() -> DataElement? {
    guard let head = rest.popFirst(), let count = byteCount(head), count <= rest.count else {
      rest = []
      return nil
    }
    let bytes = rest.prefix(count)
    rest.removeFirst(count)
    switch (head >> 3, count) {
    case (1, ...8): return .number(bytes.reduce(0) { $0 << 8 | UInt64($1) })
    case (3, 2), (3, 4): return .uuid(bytes.reduce(0) { $0 << 8 | UInt128($1) } << 96 | Self.baseUUID)
    case (3, 16): return .uuid(bytes.reduce(0) { $0 << 8 | UInt128($1) })
    case (4, _): return .text(Array(bytes))
    case (6, _): return .sequence(DataElements(bytes))
    default: return .other
    }
  }

  private mutating func byteCount(_ head: UInt8) -> Int? {
    switch head & 7 {
    case 0: return head == 0 ? 0 : 1
    case let power where power < 5: return 1 << Int(power)
    case let kind:
      let digits = 1 << Int(kind - 5)
      guard rest.count >= digits else { return nil }
      defer { rest.removeFirst(digits) }
      return rest.prefix(digits).reduce(0) { $0 << 8 | Int($1) }
    }
  }

  /// 00000000-0000-1000-8000-00805F9B34FB, into which a short one goes from the left.
  private static let baseUUID: UInt128 = 0x1000_8000_0080_5F9B_34FB
}
