internal import Glibc
internal import Store

/// A program that a test kills: it writes to a database, and prints the writes that were acknowledged.
@main
enum StoreWriter {
  static let schema = Schema([
    Schema.Layer(
      "numbers",
      [Migration("numbers", "CREATE TABLE number (value INTEGER PRIMARY KEY, ballast BLOB NOT NULL) STRICT")])
  ])

  static func main() async {
    do {
      let writer = try Writer(CommandLine.arguments[2], schema: schema)
      say("open")
      switch CommandLine.arguments[1] {
      case "count": try await count(writer)
      case "hold": _ = readLine()
      case "fill": try await fill(writer)
      case let word: say("there is nothing called \(word)")
      }
    } catch {
      say("\(error)")
      exit(1)
    }
  }

  /// Several at once, each with numbers of its own, for ever.
  private static func count(_ writer: Writer) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for place in 0..<8 {
        group.addTask {
          for value in stride(from: place, to: .max, by: 8) {
            try await writer.perform {
              try $0.run("INSERT INTO number VALUES (?, ?)", value, [UInt8](repeating: 7, count: 500))
            }
            say("\(value)")
          }
        }
      }
      try await group.waitForAll()
    }
  }

  /// Writes until the disk is full, and goes on when a line says that there is room again.
  private static func fill(_ writer: Writer) async throws {
    var value = 0
    do {
      while true {
        let number = value
        try await writer.perform {
          try $0.run("INSERT INTO number VALUES (?, ?)", number, [UInt8](repeating: 7, count: 10_000))
        }
        value += 1
      }
    } catch StoreError.full {
      say("full \(value)")
    }
    let count = try await rows(writer)
    say("rows \(count)")
    _ = readLine()
    try await writer.perform { try $0.run("INSERT INTO number VALUES (?, ?)", 1_000_000, [1]) }
    say("rows \(try await rows(writer))")
  }

  private static func rows(_ writer: Writer) async throws -> Int {
    try await writer.perform { try $0.first("SELECT count(*) FROM number") { $0.integer(0) } ?? 0 }
  }

  private static func say(_ text: String) {
    let line = Array("\(text)\n".utf8)
    _ = write(STDOUT_FILENO, line, line.count)
  }
}
