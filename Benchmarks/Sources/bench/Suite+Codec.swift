import Report
import Wire

/// The cost of one frame, alone.
extension Suite {
  mutating func measureCodec() {
    let payload = [UInt8](repeating: 7, count: 100)
    // Read again and again, and too large to be all in the nearest cache.
    let frames = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
    defer { frames.deallocate() }
    var filled = 0

    measure("encode-message", operations: 5_000_000, goalNanoseconds: 20) { times in
      var offset = 0
      for index in 0..<times {
        if offset + 128 > frames.count { offset = 0 }
        let room = UnsafeMutableRawBufferPointer(rebasing: frames[offset...])
        var out = OutputRawSpan(buffer: room, initializedCount: 0)
        MessageView.write(
          record: RecordHead(strand: 3, sequence: UInt64(index) + 1), from: 12, seen: UInt64(index), to: .all,
          payload: payload.span.bytes, into: &out)
        offset += out.finalize(for: room)
        filled = max(filled, offset)
      }
      consume(frames[offset - 1])
    }

    // The frames that lie there whole, from the start.
    var end = 0
    var out = OutputRawSpan(buffer: frames, initializedCount: 0)
    var sequence: UInt64 = 1 << 20
    while out.freeCapacity >= 128 {
      MessageView.write(
        record: RecordHead(strand: 3, sequence: sequence), from: 12, seen: sequence, to: .all,
        payload: payload.span.bytes, into: &out)
      sequence += 1
    }
    end = out.finalize(for: frames)
    let bytes = RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: frames[..<end]))

    measure("decode-message", operations: 5_000_000, goalNanoseconds: 20) { times in
      var offset = 0
      var sum: UInt64 = 0
      for _ in 0..<times {
        if offset == bytes.byteCount { offset = 0 }
        let rest = bytes.extracting(droppingFirst: offset)
        let head = try! FrameHead.next(in: rest)!  // written above
        let view = try! MessageView(decoding: rest.extracting(head.body))  // likewise
        sum &+= view.record.sequence &+ view.seen &+ UInt64(view.payload.byteCount)
        offset += head.end
      }
      consume(sum)
    }
  }
}
