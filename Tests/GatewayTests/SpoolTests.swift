import Foundation
import Testing

@testable import Gateway

/// The file of an upload.
struct SpoolTests {
  private static let pieceBytes = 1 << 20

  @Test func `a long upload is there whole, and memory holds only the last of it`() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("spool-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let count = 104
    let spool = try Spool(path, from: 0)
    for number in 0..<count { try spool.write([UInt8](repeating: UInt8(number), count: Self.pieceBytes)) }
    try spool.sync()

    let file = open(path, O_RDONLY | O_CLOEXEC)
    defer { close(file) }
    let size = count * Self.pieceBytes
    let map = try #require(mmap(nil, size, PROT_READ, MAP_SHARED, file, 0))
    defer { munmap(map, size) }
    func held() -> Int {
      var pages = [UInt8](repeating: 0, count: size / Int(getpagesize()))
      #expect(mincore(map, size, &pages) == 0)
      return pages.count { $0 & 1 == 1 } * Int(getpagesize())
    }
    let last = held()
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)
    // A file system in memory has nowhere else to keep it.
    #expect(last <= 72 << 20 || held() == size, "\(last >> 20) MiB")
    let whole = UnsafeRawBufferPointer(start: map, count: size)
    for number in 0..<count {
      let piece = whole[number * Self.pieceBytes..<(number + 1) * Self.pieceBytes]
      #expect(piece.allSatisfy { $0 == UInt8(number) }, "piece \(number)")
    }
  }
}
