internal import Notation

/// Events for the console, for the clients that may see them.
final class EventLog {
  static let countMax = 1_000

  let list: Collection
  private let log: Log

  init(_ list: Collection, _ log: Log) {
    (self.list, self.log) = (list, log)
  }

  func publish(_ event: String, about path: String, _ owner: Owner, _ members: [JSON.Member] = []) {
    log(
      .debug, for: .developer, event, "\(event) about \(path)",
      members.map { .init($0.name, .text($0.value.text ?? $0.value.line)) })
    let id = String(list.offset + 1)
    list.put(
      id,
      .object(
        [
          .init("id", .text(id)), .init("at", .text(Timestamp.now.description)), .init("event", .text(event)),
          .init("about", .text(path)),
        ] + members), owner: owner, facets: ["event": event])
  }
}
