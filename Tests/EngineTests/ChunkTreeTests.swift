import Testing
import Wire

@testable import Engine

@Suite struct ChunkTreeTests {
  let crypto = ToyCrypto()

  /// The root of a hash tree, as RFC 6962 defines it.
  func root(of leaves: ArraySlice<Digest>) -> Digest {
    if leaves.isEmpty { return crypto.hash([]) }
    if leaves.count == 1 { return leaves[leaves.startIndex] }
    var left = 1
    while left * 2 < leaves.count { left *= 2 }
    return crypto.hash([1] + root(of: leaves.prefix(left)).bytes + root(of: leaves.dropFirst(left)).bytes)
  }

  @Test("The root is that of RFC 6962, for any number of chunks")
  func reference() {
    let leaves = (0..<70).map { crypto.leaf(of: [UInt8($0)].span.bytes) }
    var tree = ChunkTree()
    for count in 0..<70 {
      #expect(tree.root(crypto) == root(of: leaves.prefix(count)), "of \(count)")
      #expect(ChunkTree(peaks: tree.peaks, count: tree.count) == tree)
      #expect(ChunkTree(peaks: tree.peaks, count: tree.count << 1 | 1) == nil)
      tree.append(leaves[count], crypto)
    }
  }

  @Test("The common prefix of two trees has no chunk that differs, and all subtrees before the first that does")
  func prefix() {
    func tree(_ count: Int, changed: Int? = nil) -> ChunkTree {
      var tree = ChunkTree()
      for chunk in 0..<count {
        tree.append(crypto.leaf(of: [UInt8(chunk == changed ? 255 : chunk)].span.bytes), crypto)
      }
      return tree
    }
    for count in 0..<40 {
      let whole = tree(count)
      #expect(whole.commonPrefix(with: whole) == whole)
      for changed in 0..<count {
        let prefix = whole.commonPrefix(with: tree(count, changed: changed))
        // Subtrees are as large as the ones of the count, the largest first.
        var intact = 0
        for bit in (0..<6).reversed() where count & 1 << bit != 0 {
          if intact + 1 << bit > changed { break }
          intact += 1 << bit
        }
        #expect(prefix == tree(intact), "\(changed) of \(count)")
      }
      for other in 0..<count {
        let prefix = whole.commonPrefix(with: tree(other))
        #expect(prefix == tree(Int(prefix.count)) && prefix.count <= other)
      }
    }
  }
}

@Suite struct ByteRopeTests {
  func read(_ rope: inout ByteRope, _ range: Range<UInt64>) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      let raw = UnsafeMutableRawBufferPointer(buffer)  // filled from its start, and finalised to what was written
      var out = unsafe OutputRawSpan(buffer: raw, initializedCount: 0)
      rope.copy(range, into: &out)
      count = unsafe out.finalize(for: raw)
    }
  }

  @Test("Bytes come back as they went in, from anywhere, whatever their pieces; what is dropped is given out in order")
  func anyRange() {
    var rope = ByteRope(at: 100)
    var all: [UInt8] = []
    var dropped: UInt64 = 100
    var spent: [UInt8] = []
    var random: UInt64 = 7
    func next(_ bound: Int) -> Int {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(random >> 33) % bound
    }
    for round in 0..<2_000 {
      let piece = (0..<next(round % 7 == 0 ? 9_000 : 50)).map { _ in UInt8(truncatingIfNeeded: next(256)) }
      rope.append(piece)
      all += piece
      #expect(rope.end == 100 + UInt64(all.count))
      let first = dropped + UInt64(next(Int(rope.end - dropped) + 1))
      let last = first + UInt64(next(Int(rope.end - first) + 1))
      #expect(read(&rope, first..<last) == Array(all[Int(first - 100)..<Int(last - 100)]))
      if round % 3 == 0 {
        dropped += UInt64(next(Int(rope.end - dropped) + 1) / 4)
        rope.drop(before: dropped) { spent += $0 }
        #expect(rope.start <= dropped)
        #expect(spent == Array(all[..<Int(rope.start - 100)]))
      }
    }
  }
}
