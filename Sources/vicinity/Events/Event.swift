internal import Nearby
internal import Notation

/// An event in both of its forms: a line for people, an object for programs.
struct Event: Sendable {
  enum Weight: Sendable {
    /// The result of the command; printed even with `--quiet`.
    case result
    case news
    case warning
    case error
  }

  let name: String
  var weight: Weight
  let members: [JSON.Member]
  /// The lines for people; none for an event that is for programs only.
  let lines: @Sendable (Paint) -> [String]

  init(
    _ name: String, _ weight: Weight = .news, _ members: [JSON.Member?] = [],
    _ lines: @escaping @Sendable (Paint) -> [String] = { _ in [] }
  ) {
    self.name = name
    self.weight = weight
    self.members = members.compactMap { $0 }
    self.lines = lines
  }

  func json(at time: String) -> String {
    JSON.object([.text("event", name), .text("at", time)] + members).line
  }
}

extension JSON.Member {
  static func reason(_ reason: Reason) -> Self { .text("reason", reason.description) }
}
