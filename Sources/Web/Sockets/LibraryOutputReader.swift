/// Splits the library's output: one response to the request, then frames.
struct LibraryOutputReader {
  private(set) var hasHead = false
  private var rest: [UInt8] = []

  /// Appends the bytes and takes the head and the frames that are complete.
  mutating func take(_ bytes: UnsafeRawBufferPointer) -> (head: [UInt8]?, frames: [[UInt8]]) {
    rest += bytes
    var head: [UInt8]?
    if !hasHead {
      let end = Array("\r\n\r\n".utf8)
      guard let start = rest.indices.first(where: { rest[$0...].starts(with: end) }) else { return (nil, []) }
      hasHead = true
      head = Array(rest[..<(start + 4)])
      rest.removeFirst(start + 4)
    }
    var found: [[UInt8]] = []
    // Only control frames come, whose length is in their second byte.
    while rest.count >= 2, rest.count >= 2 + Int(rest[1] & 0x7f) {
      found.append(Array(rest.prefix(2 + Int(rest[1] & 0x7f))))
      rest.removeFirst(2 + Int(rest[1] & 0x7f))
    }
    // Most sockets have no more output for long: their memory is freed.
    if rest.isEmpty { rest = [] }
    return (head, found)
  }
}
