import Media
import Reactor
import Testing
import Wire

/// Real daemons, each in a machine of its own.
@Suite(.serialized) struct AvahiDirectoryTests {
  private static let type = try! ServiceType("vic-test")  // A legal one.

  private static func record(_ name: String, _ txt: [String], port: UInt16 = 7777) -> ServiceRecord {
    ServiceRecord(key: .init(type: type, name: name), port: port, txt: txt.map { Array($0.utf8) })
  }

  @Test func `a record is published and seen with its strings in order, changes in place, and goes`() async throws {
    await Lab.play { lab in
      let watcher = try lab.watcher(in: try lab.box("one"))
      try await watcher.isAvailable()
      let record = Self.record("first", ["z=1", "a=2", "=", "m"])
      await watcher.act {
        $0.look(for: Self.type)
        $0.publish(record)
      }
      #expect(try await watcher.publishes(record.key) == "first")
      let seen = try await watcher.sees("first")
      #expect(seen.record.txt == record.txt)
      #expect(seen.record.port == 7777)
      #expect(seen.record.hostName == "one.local")
      await watcher.act { $0.publish(Self.record("first", ["changed"])) }
      try await watcher.seesChange(of: seen.id) { $0.txt == [Array("changed".utf8)] }
      await watcher.act { $0.withdraw(record.key) }
      try await watcher.losesSight(of: seen.id)
    }
  }
}
