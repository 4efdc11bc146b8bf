internal import Engine
internal import Media
internal import TestKit
internal import Testing
internal import Wire

@testable internal import Nearby

@Suite("What comes of a file goes to the disk")
struct DiskTests {
  private let folder = TemporaryFolder()
  private let disk: Disk
  private let target: TargetFile
  private static let chunk = Limits.chunkBytes
  /// More than is checked at once, and a short chunk at its end.
  private static let bytes = (0..<(40 * chunk + 5)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 14) }

  init() throws {
    disk = try Disk()
    target = try TargetFile("in", in: folder.path)
  }

  /// Chunks of the file, of which one has another digest than its own.
  private func batch(_ range: Range<Int>, damaged: Int? = nil) -> Disk.Batch {
    let batch = Disk.Batch()
    for start in stride(from: range.lowerBound, to: range.upperBound, by: Self.chunk) {
      append(start, to: batch.append, isDamaged: start == damaged)
    }
    return batch
  }

  private func append(_ start: Int, to append: (RawSpan, Digest, UInt64) -> Void, isDamaged: Bool = false) {
    let chunk = Array(Self.bytes[start..<min(start + Self.chunk, Self.bytes.count)])
    let digest = isDamaged ? Digest(.init(0, 0, 0, 0)) : Digest.ofChunks(chunk.span.bytes)[0]
    append(chunk.span.bytes, digest, UInt64(start))
  }

  private func stored() throws -> [UInt8] {
    let path = try target.finish()
    return folder.bytes(of: lastComponent(of: path))
  }

  @Test func `what is read lies in the memory of what was sent, where that is large enough`() async throws {
    try await disk.attempt { [target] in try target.append(Self.bytes.span.bytes) }.get()
    let file = try SourceFile(target.finish())
    let count = 16 * Self.chunk
    var spare: [UInt8] = []
    for start in stride(from: 0, to: Self.bytes.count, by: count) {
      let place = spare.withUnsafeBufferPointer(\.baseAddress)
      let memory = Disk.SpareMemory(spare)
      spare = []
      let piece = try await disk.read(file, from: UInt64(start), count, into: memory)
      let end = min(start + count, Self.bytes.count)
      #expect(piece.bytes == Array(Self.bytes[start..<end]))
      #expect(piece.isLast == (end - start < count))
      if start > 0 { #expect(piece.bytes.withUnsafeBufferPointer(\.baseAddress) == place) }
      spare = piece.bytes
    }
    let larger = try await disk.read(file, from: 0, count, into: Disk.SpareMemory(spare))
    #expect(larger.bytes == Array(Self.bytes[..<count]))
  }

  @Test(arguments: [0, 1, 15, 16, 17, 40])
  func `all before the first damaged chunk is stored, and what follows it is late`(_ number: Int) async throws {
    let place = number * Self.chunk
    let outcome = await disk.write(batch(0..<Self.bytes.count, damaged: place), to: target, syncs: false)
    guard case .damaged(let offset, let end) = outcome else { throw Unexpected(outcome) }
    #expect(offset == UInt64(place) && end == UInt64(place))
    if number < 40 {
      let next = await disk.write(batch((place + Self.chunk)..<Self.bytes.count), to: target, syncs: false)
      guard case .late = next else { throw Unexpected(next) }
    }
    // It comes again, with some bytes that are there already.
    let again = await disk.write(batch(max(0, place - 3 * Self.chunk)..<Self.bytes.count), to: target, syncs: true)
    guard case .through(UInt64(Self.bytes.count)) = again else { throw Unexpected(again) }
    #expect(try stored() == Self.bytes)
  }

  @Test(arguments: [false, true])
  func `batches follow each other, and those of before a new beginning go`(_ syncs: Bool) throws {
    let incomingFile = IncomingFile(target, syncs: syncs)
    func come(_ chunks: Range<Int>) {
      for number in chunks { append(0, to: { incomingFile.append($0, $1, at: $2 + UInt64(number * Self.chunk)) }) }
    }
    func batches() -> [Range<UInt64>] {
      var found: [Range<UInt64>] = []
      while incomingFile.hasBatch {
        let batch = incomingFile.nextBatch()
        found.append(batch.offset..<batch.end)
        incomingFile.takeBack(batch)
      }
      return found
    }
    let mebibyte = UInt64(1 << 20)
    come(0..<160)
    #expect(
      batches()
        == (syncs
          ? [0..<(mebibyte * 5 / 2)]
          : [0..<mebibyte, mebibyte..<(2 * mebibyte), (2 * mebibyte)..<(mebibyte * 5 / 2)]))
    come(160..<320)
    come(192..<256)
    #expect(batches() == [(3 * mebibyte)..<(4 * mebibyte)])
  }

  private struct Unexpected: Error {
    let outcome: Disk.Written
    init(_ outcome: Disk.Written) { self.outcome = outcome }
  }
}
