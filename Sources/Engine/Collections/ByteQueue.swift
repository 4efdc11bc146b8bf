// Invariant on which every unsafe access here rests: `0 ≤ start ≤ end ≤ capacity`, the bytes from `start` to `end` are
// initialised, and no pointer leaves a call, so each access is safe. Where there is a byte, there is a base address.

import Wire

/// A contiguous byte queue that reuses one allocation.
@safe
final class ByteQueue {
  private var memory: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0
  /// The capacity that is enough: beyond it the queue is not doubled ahead of need.
  private let enough: Int

  init(enough: Int = .max) {
    self.enough = enough
    unsafe memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }

  deinit { unsafe memory.deallocate() }

  var count: Int { end - start }

  /// The bytes in the queue, from `offset` on.
  func withBytes<R>(from offset: Int = 0, _ body: (RawSpan) -> R) -> R {
    precondition(offset >= 0 && offset <= count)
    let bytes = unsafe UnsafeRawBufferPointer(rebasing: memory[start + offset..<end])
    return unsafe body(RawSpan(_unsafeBytes: bytes))
  }

  /// Room for exactly `size` bytes, which `body` must fill.
  func append(_ size: Int, _ body: (inout OutputRawSpan) -> Void) {
    let written = append(upTo: size, body)
    precondition(written == size, "\(written) bytes written where \(size) were announced")
  }

  /// Room for `size` bytes at most; says how many were written.
  @discardableResult
  func append(upTo size: Int, _ body: (inout OutputRawSpan) -> Void) -> Int {
    makeRoom(for: size)
    let room = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[end..<end + size])
    var span = unsafe OutputRawSpan(buffer: room, initializedCount: 0)
    body(&span)
    let written = unsafe span.finalize(for: room)
    end += written
    return written
  }

  func append(_ bytes: RawSpan) {
    append(bytes.byteCount) { out in out.put(raw: bytes) }
  }

  /// Appends to `out` what fits of the bytes from `offset` up to `limit`, and says how many.
  func copy(from offset: Int, to limit: Int, into out: inout OutputRawSpan) -> Int {
    precondition(offset >= 0 && offset <= limit && limit <= count)
    let size = min(limit - offset, out.freeCapacity)
    guard size > 0 else { return 0 }
    unsafe out.withUnsafeMutableBytes { bytes, initialized in
      // Both have room for a byte at least, so both have a base.
      unsafe (bytes.baseAddress! + initialized).copyMemory(
        from: UnsafeRawPointer(memory.baseAddress! + start + offset), byteCount: size)
      initialized += size
    }
    return size
  }

  /// Moves what fits of the first `size` bytes into `out`, and says how many.
  @discardableResult
  func move(_ size: Int, into out: inout OutputRawSpan) -> Int {
    let moved = copy(from: 0, to: size, into: &out)
    removeFirst(moved)
    return moved
  }

  func removeFirst(_ size: Int) {
    precondition(size >= 0 && size <= count)
    start += size
    if start == end {
      start = 0
      end = 0
      if unsafe memory.count > Self.keptBytesMax { shrink() }
    }
  }

  func removeAll() { removeFirst(count) }

  /// Gives the larger allocation to the other queue, if both are empty.
  func lend(to other: ByteQueue) {
    guard count == 0, other.count == 0, unsafe memory.count > other.memory.count else { return }
    let lent = unsafe memory
    unsafe memory = other.memory
    unsafe other.memory = lent
  }

  /// Shrinks an empty queue after a quiet period.
  func releaseMemory() { if count == 0, unsafe memory.count > Self.leastBytes { shrink() } }

  private static let leastBytes = 512

  /// Capacity that an empty queue may keep, so that one burst does not hold memory for ever.
  private static let keptBytesMax = 128 << 10

  private func makeRoom(for size: Int) {
    let capacity = unsafe memory.count
    if end + size <= capacity { return }
    let kept = count
    if kept + size <= capacity / 2 || capacity >= enough && kept + size <= capacity {
      // Moving costs less than the writes since the last move, where memory is not short. There is capacity, and so a base.
      unsafe memory.baseAddress!.copyMemory(from: memory.baseAddress! + start, byteCount: kept)
    } else {
      let larger = UnsafeMutableRawBufferPointer.allocate(
        byteCount: max(Self.leastBytes, min(kept * 2, enough), kept + size), alignment: 16)
      // The kept bytes have an address, so there are bases.
      if kept > 0 { unsafe larger.baseAddress!.copyMemory(from: memory.baseAddress! + start, byteCount: kept) }
      unsafe memory.deallocate()
      unsafe memory = larger
    }
    start = 0
    end = kept
  }

  private func shrink() {
    unsafe memory.deallocate()
    unsafe memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  }
}
