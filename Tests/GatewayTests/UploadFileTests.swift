import Foundation
import Testing

@testable import Gateway

/// The file of an upload.
struct UploadFileTests {
  private static let pieceBytes = 1 << 20

  @Test func `a long upload is there whole, and memory holds only its beginning`() throws {
    try Self.withFile { path in
      let count = 40
      let uploadFile = try UploadFile(path, from: 0)
      for number in 0..<count { try uploadFile.write([UInt8](repeating: UInt8(number), count: Self.pieceBytes)) }
      try uploadFile.sync()

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
      #expect(last <= 16 << 20 || held() == size, "\(last >> 20) MiB")
      let whole = UnsafeRawBufferPointer(start: map, count: size)
      for number in 0..<count {
        let piece = UnsafeRawBufferPointer(rebasing: whole[number * Self.pieceBytes..<(number + 1) * Self.pieceBytes])
        #expect(Data(piece) == Data(repeating: UInt8(number), count: piece.count), "piece \(number)")
      }
    }
  }

  @Test(arguments: [0, 1, 4095, 4096, 4097]) func `pieces of any length, from any gateway on, lie one behind the other`(
    _ beyond: Int
  ) throws {
    try Self.withFile { path in
      let begin = (16 << 20) + beyond
      var random = SystemRandomNumberGenerator()
      let beginning = try UploadFile(path, from: 0)
      try beginning.write([UInt8](repeating: 0xbe, count: begin))
      try beginning.write([UInt8](repeating: 0xff, count: 3 * Self.pieceBytes))
      try beginning.sync()

      let uploadFile = try UploadFile(path, from: UInt64(begin))
      var expected: [UInt8] = []
      for count in [1, 4095, 4096, 5000, 8192, Self.pieceBytes, 100, 3 * Self.pieceBytes + 17, 4079, 65536, 12] {
        let piece = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        try uploadFile.write(piece)
        expected += piece
      }
      try uploadFile.sync()

      let bytes = try #require(FileManager.default.contents(atPath: path))
      #expect(bytes.count == begin + expected.count)
      #expect(bytes.prefix(begin) == Data(repeating: 0xbe, count: begin))
      #expect(bytes.dropFirst(begin) == Data(expected))
    }
  }

  @Test func `a file system that knows only its memory holds it too`() throws {
    try Self.withFile(in: "/dev/shm") { path in
      let piece = [UInt8](repeating: 7, count: 5 * Self.pieceBytes)
      let uploadFile = try UploadFile(path, from: 0)
      for _ in 0..<5 { try uploadFile.write(piece) }
      try uploadFile.sync()
      let bytes = try #require(FileManager.default.contents(atPath: path))
      #expect(bytes == Data(repeating: 7, count: 5 * piece.count))
    }
  }

  private static func withFile(
    in folder: String = FileManager.default.temporaryDirectory.path, _ body: (String) throws -> Void
  ) throws {
    let path = "\(folder)/spool-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
  }
}
