/// At most one TLS record's worth of bytes on their way out, filled anew once all of them are sent.
struct SendBuffer: ~Copyable {
  /// The most that one record holds.
  static let capacity = 16 << 10

  /// Empty until there is something to send: a link that never opens costs little.
  private var storage = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var sent = 0
  private var filled = 0

  deinit {
    storage.deallocate()
  }

  var isEmpty: Bool { sent == filled }

  mutating func refill(_ fill: (inout OutputRawSpan) -> Void) {
    precondition(isEmpty, "bytes that were not sent would be lost")
    if storage.isEmpty { storage = .allocate(byteCount: Self.capacity, alignment: 16) }
    var output = OutputRawSpan(buffer: storage, initializedCount: 0)
    fill(&output)
    filled = output.finalize(for: storage)
    sent = 0
  }

  /// Offers the unsent bytes and keeps what is not moved.
  mutating func send(_ write: (UnsafeRawBufferPointer) -> TLSStream.Step) -> TLSStream.Step {
    let step = write(UnsafeRawBufferPointer(rebasing: storage[sent..<filled]))
    if case .moved(let count) = step { sent += count }
    return step
  }
}
