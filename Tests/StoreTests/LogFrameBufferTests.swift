import FoundationEssentials
import Glibc
import Testing

@testable import Store

@Suite struct LogFrameBufferTests {
  private let folder = TemporaryFolder()
  private let frames = LogFrameBuffer()

  // MARK: With SQLite

  @Test func `A commit goes to the log in one piece, however many pages it has`() async throws {
    let writer = try Writer("\(folder.path)/house.db", schema: .things)
    let before = try await writer.perform { _ in try callsOfThread() }
    // Some pages for each; the last commit is done before the thread looks again.
    for number in 0..<20 { try await writer.perform { try insert(10 * number..<10 * number + 10, into: $0) } }
    let calls = try await writer.perform { _ in try callsOfThread() } - before
    // Beside one for each commit, the head of a log that begins, and what tells the thread that there is work.
    #expect(calls >= 20 && calls < 45, "\(calls)")
    await writer.close()
    #expect(try count(of: Database("\(folder.path)/house.db", schema: .things)) == 200)
  }

  /// What does not fit into the cache is in the log before the commit, some of it twice, and the sums of its heads are told
  /// anew behind the last page.
  @Test func `What SQLite had to write before a commit is whole with it, and nothing where it is taken back`()
    async throws
  {
    let writer = try Writer("\(folder.path)/house.db", schema: .things)
    try await writer.perform { database in
      try database.connection.execute("PRAGMA cache_size = 10")
      try insert(0..<500, into: database)
      for _ in 0..<3 { try database.run("UPDATE thing SET name = name || 'y'") }
    }
    await #expect(throws: Refusal.self) {
      try await writer.perform { database in
        try insert(1_000..<1_500, into: database)
        throw Refusal()
      }
    }
    try await writer.perform { try insert(500..<510, into: $0) }
    // As they would be found after the end of the process.
    for name in ["house.db", "house.db-wal"] { try folder.write(folder.bytes(of: name), to: "copy-of-\(name)") }
    try await writer.perform { _ in }
    try #require(rename("\(folder.path)/copy-of-house.db", "\(folder.path)/copy.db") == 0)
    try #require(rename("\(folder.path)/copy-of-house.db-wal", "\(folder.path)/copy.db-wal") == 0)
    let copy = try Database("\(folder.path)/copy.db", schema: .things)
    try copy.check()
    #expect(try count(of: copy) == 510)
    #expect(try copy.first("SELECT count(*) FROM thing WHERE name = 'xyyy'") { $0.integer(0) } == 500)
    await writer.close()
  }

  // MARK: Call by call

  @Test func `Nothing is there before the last page of a commit, and then all of it`() throws {
    let file = try file()
    defer { close(file) }
    try frames.buffer { () throws(StoreError) in
      for number in 0..<3 as Range<UInt8> {
        #expect(bytes.isEmpty)
        #expect(write(head(size: number == 2 ? 7 : 0), to: file, at: 100 + 124 * Int(number)) == 24)
        #expect(write(page(number), to: file, at: 124 + 124 * Int(number)) == 100)
      }
      let whole = [[UInt8](repeating: 0, count: 100), head(), page(0), head(), page(1), head(size: 7), page(2)]
      #expect(bytes == Array(whole.joined()))
      // Told anew, and nothing waits with it.
      #expect(write(head(size: 9), to: file, at: 100) == 24)
      #expect(Array(bytes[100..<124]) == head(size: 9))
    }
  }

  @Test func `What else is written or read finds what was before`() throws {
    let file = try file()
    defer { close(file) }
    try frames.buffer { () throws(StoreError) in
      #expect(write(head(), to: file, at: 0) == 24 && write(page(1), to: file, at: 24) == 100)
      #expect(write(page(2), to: file, at: 24) == 100)
      #expect(bytes == head() + page(2))
      #expect(write(head(), to: file, at: 124) == 24)
      #expect(frames.flush() && bytes.count == 148)
      #expect(write(page(3), to: file, at: 148) == 100 && bytes.count == 148)
      // Somewhere else.
      #expect(write(head(size: 1), to: file, at: 1_000) == 24 && bytes.count == 248)
      #expect(write(page(4), to: file, at: 1_024) == 100 && bytes.count == 1_124)
    }
  }

  @Test func `A long commit goes out in parts`() throws {
    let file = try file()
    defer { close(file) }
    let page = [UInt8](repeating: 5, count: 65_536)
    try frames.buffer { () throws(StoreError) in
      for number in 0..<9 {
        #expect(write(head(size: number == 8 ? 9 : 0), to: file, at: 65_560 * number) == 24)
        #expect(write(page, to: file, at: 65_560 * number + 24) == page.count)
        // By threes, as many as there is surely room for.
        #expect(bytes.count == 65_560 * (number == 8 ? 9 : number / 3 * 3))
      }
    }
    let whole = (0..<9).map { [head(size: $0 == 8 ? 9 : 0), page] }.joined().joined()
    #expect(bytes == Array(whole))
  }

  @Test func `What cannot be written is told to who commits, and never comes later`() throws {
    let file = try file()
    defer { close(file) }
    let closed = open("\(folder.path)/log", O_RDONLY | O_CLOEXEC)
    defer { close(closed) }
    try frames.buffer { () throws(StoreError) in
      #expect(write(head(size: 1), to: closed, at: 0) == 24)
      #expect(write(page(1), to: closed, at: 24) == -1 && errno == EBADF)
      #expect(frames.flush())
    }
    #expect(throws: StoreError.self) {
      try frames.buffer { () throws(StoreError) in
        #expect(write(head(), to: file, at: 0) == 24 && write(page(1), to: file, at: 24) == 100)
        throw .closed
      }
    }
    #expect(frames.flush() && bytes.isEmpty)
  }

  // MARK: Parts

  private struct Refusal: Error {}

  private func count(of database: Database) throws -> Int? {
    try database.first("SELECT count(*) FROM thing WHERE length(bytes) = 2000") { $0.integer(0) }
  }

  private func file() throws -> CInt {
    let file = open("\(folder.path)/log", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    try #require(file >= 0)
    return file
  }

  private var bytes: [UInt8] { folder.bytes(of: "log") }

  private func write(_ bytes: [UInt8], to file: CInt, at offset: Int) -> Int {
    bytes.withUnsafeBytes { frames.write(file, $0, at: off_t(offset)) }
  }

  private func head(size: UInt8 = 0) -> [UInt8] { [0, 0, 0, 3, 0, 0, 0, size] + [UInt8](repeating: 9, count: 16) }
  private func page(_ value: UInt8) -> [UInt8] { [UInt8](repeating: value, count: 100) }
}

private func insert(_ ids: Range<Int>, into database: Database) throws {
  let bytes = [UInt8](repeating: 7, count: 2_000)
  for id in ids { try database.run("INSERT INTO thing (id, name, bytes) VALUES (?, 'x', ?)", id, bytes) }
}

/// How often this thread has asked the system to write.
private func callsOfThread() throws -> Int {
  let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
  let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("syscw: ") })
  return try #require(Int(line.dropFirst("syscw: ".count)))
}
