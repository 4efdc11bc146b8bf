/// Bytes that came and were not yet taken, in one piece. It grows to hold what makes no whole yet, up to its limit,
/// and is small again once all is taken. A link that never opens costs none.
struct ReceiveBuffer: ~Copyable {
  private static let usualCapacity = 32 << 10

  let bytesMax: Int
  private var storage = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var taken = 0
  private var filled = 0

  init(bytesMax: Int) {
    self.bytesMax = bytesMax
  }

  deinit {
    storage.deallocate()
  }

  var isFull: Bool { filled == storage.count }

  /// Reads bytes in behind those that wait.
  mutating func fill(_ read: (UnsafeMutableRawBufferPointer) -> TLSStream.Step) -> TLSStream.Step {
    if storage.isEmpty { move(to: min(Self.usualCapacity, bytesMax)) }
    let step = read(UnsafeMutableRawBufferPointer(rebasing: storage[filled...]))
    if case .moved(let count) = step { filled += count }
    return step
  }

  /// What waits to be taken.
  var waiting: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      let bytes = UnsafeRawBufferPointer(rebasing: storage[taken..<filled])
      return _overrideLifetime(bytes.bytes, borrowing: self)
    }
  }

  /// Forgets what was taken and makes room behind the rest; false where the limit leaves none.
  mutating func drop(_ count: Int) -> Bool {
    precondition(count >= 0 && count <= filled - taken, "\(count) bytes were taken of \(filled - taken)")
    taken += count
    let waiting = filled - taken
    if waiting == 0 {
      (taken, filled) = (0, 0)
      if storage.count > Self.usualCapacity { move(to: Self.usualCapacity) }
    } else if taken > 0, isFull {
      storage.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[taken..<filled]))
      (taken, filled) = (0, waiting)
    } else if isFull {
      if storage.count == bytesMax { return false }
      move(to: min(2 * storage.count, bytesMax))
    }
    return true
  }

  private mutating func move(to capacity: Int) {
    let new = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)
    new.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[taken..<filled]))
    (taken, filled) = (0, filled - taken)
    storage.deallocate()
    storage = new
  }
}
