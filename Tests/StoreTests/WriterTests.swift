import Glibc
import PowerCut
import Synchronization
import TestKit
import Testing

@testable import Store

@Suite(.timeLimit(.minutes(2))) struct WriterTests {
  let folder = TemporaryFolder()
  var path: String { "\(folder.path)/test.db" }

  @Test func `Concurrent writes are committed together (group commit)`() async throws {
    let writer = try Writer(path, schema: .things)
    let gate = Gate()
    // The thread waits here, so that all the others have come before it goes on.
    async let first: Void = writer.perform { _ in gate.wait() }
    await gate.reached()
    let answered = Mutex(0)
    for number in 0..<1_000 {
      let refusal = writer.enqueue {
        try $0.run("INSERT INTO thing (id, name, bytes) VALUES (?, 'x', x'')", number)
      } answer: { error in
        #expect(error == nil)
        answered.withLock { $0 += 1 }
      }
      #expect(refusal == nil)
    }
    gate.open()
    try await first
    let count = try await writer.perform { try $0.first("SELECT count(*) FROM thing") { $0.integer(0) } }
    #expect(count == 1_000)
    #expect(answered.withLock { $0 } == 1_000)
    #expect(writer.meter.commits <= 7)
    await writer.close()
  }

  @Test func `The log is brought to the file while others write, and begins anew`() async throws {
    let writer = try Writer(path, schema: .things, logPagesMax: 30)
    let bytes = [UInt8](repeating: 7, count: 4_000)
    for number in 0..<1_000 {
      try await writer.perform { try $0.run("INSERT INTO thing (id, name, bytes) VALUES (?, 'x', ?)", number, bytes) }
    }
    // The log without checkpoints would have about three thousand pages.
    var log = stat()
    #expect(stat(path + "-wal", &log) == 0 && log.st_size < 600 * 4_096)
    await writer.close()
    let database = try Database(path, schema: .things)
    #expect(try database.first("SELECT count(*) FROM thing WHERE bytes = ?", bytes) { $0.integer(0) } == 1_000)
  }

  @Test func `A checkpoint copies all of the log, and leaves nothing for the next commit`()
    async throws
  {
    let database = try Database(path, schema: .things)
    for number in 0..<100 { try database.run("INSERT INTO thing (id, name, bytes) VALUES (?, 'x', x'')", number) }
    #expect(database.connection.logPages >= 100)
    let checkpointer = try Checkpointer(path)
    try await checkpointer.checkpoint()
    #expect(try database.connection.checkpoint() && database.connection.logPages == 0)
    try database.run("INSERT INTO thing (id, name, bytes) VALUES (100, 'x', x'')")
    #expect(1..<100 ~= database.connection.logPages, "it begins anew")
  }

  @Test func `Checkpointed pages are synced, also if others write meanwhile`() async throws {
    let recording = Recording(of: folder.path)
    defer { recording.end() }
    let database = try Database(path, schema: .things)
    var number = 0
    func write() throws {
      try database.run("INSERT INTO thing (id, name, bytes) VALUES (?, 'x', x'')", number)
      number += 1
    }
    for _ in 0..<500 { try write() }
    let checkpointer = try Checkpointer(path)
    for _ in 0..<5 {
      let isSwept = Atomic(false)
      async let sweep: Void = {
        defer { isSwept.store(true, ordering: .releasing) }
        try await checkpointer.checkpoint()
      }()
      // The other task has a thread meanwhile, however few there are.
      while !isSwept.load(ordering: .acquiring) {
        try write()
        await Task.yield()
      }
      try await sweep
      #expect(recording.unsyncedCount(of: "test.db") == 0)
    }
  }

  @Test func `One that throws is written not at all, and the others of its batch are`() async throws {
    struct Changed: Error {}
    let writer = try Writer(path, schema: .things)
    let results = await withTaskGroup(of: (Int, Bool).self) { group in
      for number in 0..<200 {
        group.addTask {
          do {
            try await writer.perform { database in
              try database.run("INSERT INTO thing (id, name, bytes) VALUES (?, 'x', x'')", number)
              if number % 3 == 0 { throw Changed() }
              if number % 7 == 0 { try database.run("INSERT INTO part VALUES (?)", 1_000_000) }
            }
            return (number, true)
          } catch {
            return (number, false)
          }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    for (number, isWell) in results { #expect(isWell == (number % 3 != 0 && number % 7 != 0)) }
    var kept: Set<Int> = []
    for number in try await writer.perform({ try $0.numbers() }) { kept.insert(number) }
    #expect(kept == Set(results.filter(\.1).map(\.0)))
    await writer.close()
  }

  @Test func `A write is refused with an error while too much waits`() async throws {
    let writer = try Writer(path, schema: .things)
    let gate = Gate()
    async let first: Void = writer.perform { _ in gate.wait() }
    await gate.reached()
    let (answers, answered) = AsyncStream<Void>.makeStream()
    for _ in 0..<Writer.queueMax { #expect(writer.enqueue({ _ in }, answer: { _ in answered.yield() }) == nil) }
    #expect(writer.enqueue({ _ in }, answer: { _ in }) == .overloaded(countMax: Writer.queueMax))
    await #expect(throws: StoreError.self) { try await writer.perform { _ in } }
    gate.open()
    try await first
    // There is room once those that wait have had their turn.
    for await _ in answers.prefix(Writer.queueMax) {}
    try await writer.perform { _ in }
    await writer.close()
  }

  @Test func `A writer that is closed has written what was asked for, and takes no more`() async throws {
    let writer = try Writer(path, schema: .things)
    for number in 0..<500 {
      writer.enqueue(
        { try $0.run("INSERT INTO thing (id, name, bytes) VALUES (?, 'x', x'')", number) }, answer: { _ in })
    }
    await writer.close()
    await #expect(throws: StoreError.closed) { try await writer.perform { _ in } }
    #expect(try Database(path, schema: .things).numbers().count == 500)
  }

  @Test func `A writer that is let go of writes what waits, and tells everybody`() async throws {
    let (answers, answered) = AsyncStream<Bool>.makeStream()
    let gate = Gate()
    do {
      let writer = try Writer(path, schema: .things)
      writer.enqueue({ _ in gate.wait() }, answer: { answered.yield($0 == nil) })
      await gate.reached()
      for number in 1..<Writer.queueMax {
        let refusal = writer.enqueue(
          { try $0.run("INSERT INTO thing (id, name, bytes) VALUES (?, 'x', x'')", number) },
          answer: { answered.yield($0 == nil) })
        #expect(refusal == nil)
      }
    }
    gate.open()
    for await isWritten in answers.prefix(Writer.queueMax) { #expect(isWritten) }
  }

  @Test func `An acknowledged write is there after a kill in the middle of commits`() throws {
    for _ in 0..<5 {
      let child = try StoreChild("count", path)
      #expect(try child.line() == "open")
      var acknowledged: Set<Int> = []
      while acknowledged.count < 300, let line = try child.line() {
        acknowledged.insert(try #require(Int(line), "\(line)"))
      }
      child.kill()
      while let line = try child.line() {
        // The last one may be cut.
        if let number = Int(line), line.utf8.count == "\(number)".utf8.count { acknowledged.insert(number) }
      }
      do {
        let database = try Database(path, schema: .none)
        try database.check()
        var kept: Set<Int> = []
        try database.each("SELECT value, length(ballast) FROM number") { row in
          kept.insert(row.integer(0))
          #expect(row.integer(1) == 500)
        }
        #expect(acknowledged.subtracting(kept) == [])
      }
      #expect(unlink(path) == 0)
    }
  }

  @Test func `A full disk is told as that, and what follows once there is room is written`() throws {
    let disk = "\(folder.path)/disk"
    mkdir(disk, 0o700)
    let asRoot = geteuid() == 0 ? "" : "--user --map-root-user"
    let before = """
      exec unshare \(asRoot) --mount sh -c 'mount -t tmpfs -o size=2m,mode=0700 tmpfs "\(disk)" &&
        head -c 500000 /dev/zero >"\(disk)/ballast" && exec "$0" "$@"' "$0" "$@";
      """
    let child = try StoreChild("fill", "\(disk)/test.db", before: before)
    #expect(try child.line() == "open")
    let full = try #require(try child.line())
    let count = try #require(Int(full.dropFirst(5)), "\(full)")
    #expect(full.hasPrefix("full ") && count > 10)
    #expect(try child.line() == "rows \(count)")
    // The disk is mounted where the child is, and nowhere else.
    #expect(unlink("/proc/\(child.process)/root\(disk)/ballast") == 0)
    child.say("there is room")
    #expect(try child.line() == "rows \(count + 1)")
  }

  @Test func `A copy is made while others write, and is whole`() async throws {
    let writer = try Writer(path, schema: .things)
    let ballast = [UInt8](repeating: 3, count: 10_000)
    for number in 0..<1_000 {
      writer.enqueue({ try $0.run("INSERT INTO thing VALUES (?, 'x', ?, 0)", number, ballast) }, answer: { _ in })
    }
    try await writer.perform { _ in }
    let copy = "\(folder.path)/copy.db"
    try folder.write([1, 2, 3], to: "copy.db")
    async let copied: Void = writer.backUp(to: copy)
    for number in 1_000..<1_100 {
      try await writer.perform { try $0.run("INSERT INTO thing VALUES (?, 'x', ?, 0)", number, ballast) }
    }
    try await copied
    await writer.close()
    let database = try Database(copy, schema: .things)
    try database.check()
    let numbers = try database.numbers()
    #expect(numbers.count >= 1_000 && numbers == Array(0..<numbers.count))
    #expect(folder.mode(of: "copy.db") == 0o600)
    #expect(folder.mode(of: "copy.db.new") == .max)
  }
}

extension Database {
  fileprivate func numbers() throws -> [Int] {
    var numbers: [Int] = []
    try each("SELECT id FROM thing ORDER BY id") { numbers.append($0.integer(0)) }
    return numbers
  }
}

/// A gate at which the writer's thread waits until a test opens it.
private final class Gate: Sendable {
  private let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
  private let ends: (reading: CInt, writing: CInt)

  init() {
    var numbers: [CInt] = [0, 0]
    precondition(pipe(&numbers) == 0)
    ends = (numbers[0], numbers[1])
  }

  deinit {
    close(ends.reading)
    close(ends.writing)
  }

  func wait() {
    arrival.yield()
    var byte: UInt8 = 0
    _ = read(ends.reading, &byte, 1)
  }

  func reached() async { for await _ in arrivals { return } }

  func open() {
    var byte: UInt8 = 1
    _ = write(ends.writing, &byte, 1)
  }
}
