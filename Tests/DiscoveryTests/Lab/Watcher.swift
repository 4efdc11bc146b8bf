import Media
import Reactor
import Testing
import Wire

/// A directory on a host, on a loop and a thread of its own, with its events.
final class Watcher: @unchecked Sendable {
  // `@unchecked`: all mutable state is touched on its loop alone.

  struct Silence: Error, CustomStringConvertible {
    let description: String
  }

  private struct Wait {
    let take: (DirectoryEvent) -> Bool
    let timer: Timer
  }

  let reactor: Reactor
  private var directory: AvahiDirectory?
  private(set) var events: [DirectoryEvent] = []
  /// Events that nobody has waited for yet.
  private var unheard: [DirectoryEvent] = []
  private var wait: Wait?

  private init(on reactor: Reactor) { self.reactor = reactor }

  static func start(on process: Int, _ limits: AvahiDirectory.Limits) throws -> Watcher {
    let watcher = Watcher(on: try HostLoop(on: process).reactor)
    watcher.reactor.spawn {
      do {
        watcher.directory = try AvahiDirectory(on: watcher.reactor, limits: limits) { [weak watcher] in
          watcher?.told($0)
        }
      } catch {
        Issue.record(error)
      }
    }
    return watcher
  }

  /// Closes the directory like a program that ends.
  func stop() async {
    await reactor.spawn { [self] in
      directory?.close()
      directory = nil
    }.value
    reactor.stop()
  }

  func act(_ act: @escaping @Sendable (AvahiDirectory) -> Void) async {
    await reactor.spawn { [self] in if let directory { act(directory) } }.value
  }

  /// All events.
  func all() async -> [DirectoryEvent] { await reactor.spawn { [self] in events }.value }

  /// Waits for an event that the closure recognises; others can be waited for later.
  func hears<Answer: Sendable>(
    _ what: String, within time: Duration = .seconds(10), _ knows: @escaping @Sendable (DirectoryEvent) -> Answer?
  ) async throws -> Answer {
    try await reactor.spawn { [self] in
      await withCheckedContinuation { continuation in
        let timer = reactor.schedule(after: time) { [self] in
          wait = nil
          let last = events.suffix(12).map { "\($0)".prefix(300) }.joined(separator: "\n  ")
          let silence = Silence(description: "\(what) was not told within \(time), but last:\n  \(last)")
          continuation.resume(returning: Result<Answer, Silence>.failure(silence))
        }
        wait = Wait(
          take: {
            guard let answer = knows($0) else { return false }
            continuation.resume(returning: .success(answer))
            return true
          }, timer: timer)
        listen()
      }
    }.value.get()
  }

  private func told(_ event: DirectoryEvent) {
    events.append(event)
    unheard.append(event)
    listen()
  }

  private func listen() {
    guard let wait, let place = unheard.firstIndex(where: wait.take) else { return }
    unheard.remove(at: place)
    reactor.cancel(wait.timer)
    self.wait = nil
  }
}

// MARK: - Waiting

extension Watcher {
  func waitUntilAvailable(within time: Duration = .seconds(10)) async throws {
    try await hears("available", within: time) { $0 == .available ? () : nil }
  }

  func waitUntilUnavailable(within time: Duration = .seconds(10)) async throws -> Trouble {
    try await hears("unavailable", within: time) { if case .unavailable(let trouble) = $0 { trouble } else { nil } }
  }

  @discardableResult
  func publishes(_ key: ServiceRecord.Key, within time: Duration = .seconds(10)) async throws -> String {
    try await hears("published \(key.name)", within: time) {
      if case .published(key, let name) = $0 { name } else { nil }
    }
  }

  func sees(_ name: String, within time: Duration = .seconds(10)) async throws -> (id: SeenID, record: SeenRecord) {
    try await hears("appeared \(name)", within: time) {
      if case .appeared(let id, let record) = $0, record.name == name { (id, record) } else { nil }
    }
  }

  /// The records with these names, which may appear in any order.
  func sees(all names: Set<String>) async throws -> [String: SeenID] {
    var seen: [String: SeenID] = [:]
    for name in names { seen[name] = try await sees(name).id }
    return seen
  }

  /// The record as it is once it satisfies.
  @discardableResult
  func seesChange(
    of id: SeenID, within time: Duration = .seconds(10), _ satisfies: @escaping @Sendable (SeenRecord) -> Bool
  ) async throws -> SeenRecord {
    try await hears("changed \(id.rawValue)", within: time) {
      if case .changed(id, let record) = $0, satisfies(record) { record } else { nil }
    }
  }

  func losesSight(of id: SeenID, within time: Duration = .seconds(10)) async throws {
    try await hears("gone \(id.rawValue)", within: time) { $0 == .gone(id) ? () : nil }
  }
}
