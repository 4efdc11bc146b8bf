internal import Synchronization

/// A log of WebSocket frames in wire format, each with its place in the order of all messages.
///
/// Frames are numbered from 0 on; the oldest may be dropped. Bytes of consecutive frames lie together, but for large
/// frames: those stay in the pieces in which they came, and each has a run of its own.
final class FrameLog {
  private struct Mark {
    /// The end of the frame, counted from the first byte ever.
    var end: Int
    var order: UInt64
    /// The same for consecutive frames to the same listeners.
    var run: UInt64
    var kind: MessageKind
  }

  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  /// The position of the memory's first byte, counted from the first byte ever.
  private var base = 0
  private var firstByte = 0
  private var lastByte = 0
  private var marks: [Mark] = []
  /// The number of the first mark, and the number of marks before it that are dropped and not cleared yet.
  private var firstMark = 0
  private var droppedMarks = 0
  /// Large frames by their numbers.
  private var largeFrames: [Int: Pieces] = [:]
  /// The bytes of large frames.
  private(set) var largeBytes = 0
  private static let leastBytes = 4 << 10

  deinit {
    memory.deallocate()
  }

  /// The frame after the last one.
  var end: Int { firstMark + marks.count - droppedMarks }
  /// The oldest frame that is kept.
  var start: Int { firstMark }
  /// The bytes of frames that are kept, large ones not counted.
  var byteCount: Int { lastByte - firstByte }
  var isEmpty: Bool { start == end }

  func order(of frame: Int) -> UInt64 { mark(frame).order }
  func run(of frame: Int) -> UInt64 { mark(frame).run }
  /// The kind of a frame that was appended without its header.
  func kind(of frame: Int) -> MessageKind { mark(frame).kind }

  func append(_ opcode: Opcode, _ payload: UnsafeRawBufferPointer, order: UInt64, run: UInt64 = 0) {
    let count = opcode.headerByteCount(payload.count) + payload.count
    makeRoom(for: count)
    let room = UnsafeMutableRawBufferPointer(rebasing: memory[(lastByte - base)...].prefix(count))
    let headerCount = opcode.writeHeader(payload.count, to: room)
    if !payload.isEmpty { UnsafeMutableRawBufferPointer(rebasing: room[headerCount...]).copyMemory(from: payload) }
    append(count, order, run)
  }

  /// Appends a frame in wire format, or the part of one that has no header yet, with its kind.
  func append(_ frame: UnsafeRawBufferPointer, _ kind: MessageKind = .text, order: UInt64, run: UInt64 = 0) {
    makeRoom(for: frame.count)
    UnsafeMutableRawBufferPointer(rebasing: memory[(lastByte - base)...]).copyMemory(from: frame)
    append(frame.count, order, run, kind)
  }

  /// Appends a frame whose bytes are not copied; frames before and behind it must be of other runs.
  func append(_ large: Pieces, _ kind: MessageKind = .text, order: UInt64, run: UInt64) {
    largeFrames[end] = large
    largeBytes += large.count
    append(0, order, run, kind)
  }

  /// The frame's pieces, if it is a large one.
  func large(_ frame: Int) -> Pieces? { largeFrames.isEmpty ? nil : largeFrames[frame] }

  /// The first frame from which on all have so many bytes at most, large ones counted.
  func frame(leaving bytesMax: Int) -> Int {
    if largeFrames.isEmpty { return byteCount > bytesMax ? frame(byteCount - bytesMax, behind: start) : start }
    var (first, left) = (start, byteCount + largeBytes)
    while left > bytesMax, first < end {
      left -= byteCount(first..<first + 1) + (largeFrames[first]?.count ?? 0)
      first += 1
    }
    return first
  }

  /// The bytes of frames that are kept.
  func bytes(_ frames: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      rebasing: memory[(begin(of: frames.lowerBound) - base)..<(begin(of: frames.upperBound) - base)])
  }

  /// The number of bytes from one frame to another.
  func byteCount(_ frames: Range<Int>) -> Int { begin(of: frames.upperBound) - begin(of: frames.lowerBound) }

  /// The first frame at or behind `frame` that begins at `count` bytes behind it or later.
  func frame(_ count: Int, behind frame: Int) -> Int {
    let byte = begin(of: frame) + count
    return first(in: frame..<end) { begin(of: $0) >= byte }
  }

  /// The end of the frames that follow `frame` up to `end`, are in its run, and have an order before `limit`.
  func end(ofRunAt frame: Int, upTo end: Int, before limit: UInt64) -> Int {
    let run = mark(frame).run
    // Mostly all of them do.
    let last = mark(end - 1)
    if last.run == run, last.order < limit { return end }
    return first(in: frame + 1..<end) { mark($0).run != run || mark($0).order >= limit }
  }

  /// The first frame that meets the condition (binary search); all frames after it must meet it, too.
  private func first(in frames: Range<Int>, where isSo: (Int) -> Bool) -> Int {
    var (low, high) = (frames.lowerBound, frames.upperBound)
    while low < high {
      let middle = (low + high) / 2
      if isSo(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Drops the frames before this one.
  func drop(before frame: Int) {
    guard frame > start else { return }
    if !largeFrames.isEmpty {
      for dropped in start..<frame { largeBytes -= largeFrames.removeValue(forKey: dropped)?.count ?? 0 }
    }
    firstByte = begin(of: frame)
    droppedMarks += frame - firstMark
    firstMark = frame
    if droppedMarks == marks.count {
      marks.removeAll(keepingCapacity: memory.count > Self.leastBytes)
      droppedMarks = 0
    } else if droppedMarks > 64, droppedMarks > marks.count / 2 {
      marks.removeFirst(droppedMarks)
      droppedMarks = 0
    }
  }

  /// Frees its memory, where it is empty.
  func release() {
    guard isEmpty else { return }
    memory.deallocate()
    memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    base = lastByte
    marks = []
    droppedMarks = 0
  }

  private func append(_ count: Int, _ order: UInt64, _ run: UInt64, _ kind: MessageKind = .text) {
    lastByte += count
    marks.append(Mark(end: lastByte, order: order, run: run, kind: kind))
  }

  private func mark(_ frame: Int) -> Mark { marks[frame - firstMark + droppedMarks] }

  private func begin(of frame: Int) -> Int { frame == firstMark ? firstByte : mark(frame - 1).end }

  /// Grows while more than half is in use; otherwise moves the kept bytes to the beginning: each about once.
  private func makeRoom(for count: Int) {
    if lastByte - base + count <= memory.count { return }
    let needed = byteCount + count
    let kept = UnsafeRawBufferPointer(memory)[(firstByte - base)..<(lastByte - base)]
    if needed <= memory.count / 2 {
      memory.copyMemory(from: UnsafeRawBufferPointer(rebasing: kept))
    } else {
      let larger = UnsafeMutableRawBufferPointer.allocate(
        byteCount: max(Self.leastBytes, 2 * needed), alignment: 16)
      larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: kept))
      memory.deallocate()
      memory = larger
    }
    base = firstByte
  }
}

/// A counter that gives messages to WebSockets a global order, whatever queue they are in.
enum MessageSequence {
  private static let last = Atomic<UInt64>(0)

  static func next() -> UInt64 { last.wrappingAdd(1, ordering: .relaxed).newValue }
}
