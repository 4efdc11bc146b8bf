internal import Wire

extension FixedBytes {
  /// Lets a C call write all of the value's bytes.
  init(filledBy fill: (UnsafeMutablePointer<UInt8>) -> Void) {
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    bytes.withUnsafeMutableBufferPointer { fill($0.baseAddress.unsafelyUnwrapped) }
    // It throws over another count alone, and this is the right one.
    try! self.init(bytes: bytes)
  }
}
