import Wire

/// Bytes of an output, in place: they last until the next call that changes the engine.
public struct Payload {
  let queue: ByteQueue
  let range: Range<Int>

  public var count: Int { range.count }

  public func withBytes<R>(_ body: (RawSpan) -> R) -> R { queue.withBytes { body($0.extracting(range)) } }

  /// A copy, which lasts.
  public var bytes: [UInt8] { withBytes { [UInt8]($0) } }
}
