import Glibc
import TestKit
import Testing

@testable import Store

@Suite struct ReadAheadTests {
  private let folder = TemporaryFolder(in: .disk)
  private var path: String { "\(folder.path)/test.db" }
  /// More than a file has that is looked through as it is opened.
  private static let rows = 20_000
  /// The number of pages of the file that are read, one after another.
  private static let walked = 2_000

  @Test func `From a disk comes what is asked for and what lies beside it, whatever that disk reads ahead`() throws {
    try makeFile()
    let file = open(path, O_RDONLY | O_CLOEXEC)
    try #require(file >= 0)
    // Not before the database: that would take SQLite's locks away.
    defer { close(file) }
    #expect(fsync(file) == 0)
    #expect(posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED) == 0)
    #expect(try pagesInMemory(file) == 0)
    let database = try Database(path, schema: .things)
    for id in 0..<Self.walked {
      let sql = "SELECT length(bytes) FROM thing WHERE id = ?"
      #expect(try database.first(sql, Self.rows / 2 + id) { $0.integer(0) } == 4_000)
    }
    // Two blocks more than the walk has, and as many beside the schema, the root of the table and two branches of it.
    let pages = try pagesInMemory(file)
    #expect(pages >= Self.walked && pages <= Self.walked + 5 * 2 * Int(ReadAhead.blockBytes) / 4_096)
    withExtendedLifetime(database) {}
  }

  private func makeFile() throws {
    let database = try Database(path, schema: .things)
    let sql = """
      WITH RECURSIVE number(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM number LIMIT \(Self.rows))
      INSERT INTO thing (id, name, bytes) SELECT id, 'x', zeroblob(4000) FROM number
      """
    try database.run(sql)
  }

  private func pagesInMemory(_ file: CInt) throws -> Int {
    let count = Int(lseek(file, 0, SEEK_END))
    let memory = try #require(mmap(nil, count, PROT_READ, MAP_SHARED, file, 0))
    defer { munmap(memory, count) }
    var pages = [UInt8](repeating: 0, count: (count + 4_095) / 4_096)
    try #require(mincore(memory, count, &pages) == 0)
    return pages.count { $0 & 1 != 0 }
  }
}
