internal import Wire

extension FixedBytes {
  /// Lets a C call write all of the value's bytes.
  init(filledBy fill: (UnsafeMutablePointer<UInt8>) -> Void) {
    self = withUnsafeTemporaryAllocation(byteCount: Self.byteCount, alignment: 8) { memory in
      memory.withMemoryRebound(to: UInt8.self) { fill($0.baseAddress.unsafelyUnwrapped) }
      // All of the memory is written by now, and the span does not leave this call. It throws over another count alone,
      // and this is the right one.
      return try! Self(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(memory)))
    }
  }
}
