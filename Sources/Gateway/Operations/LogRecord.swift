/// One line of a gateway's log.
public struct LogRecord: Sendable {
  public enum Level: String, CaseIterable, Comparable, Sendable {
    case error, warning, info, debug

    /// A more urgent level is less.
    public static func < (a: Level, b: Level) -> Bool { a.rank < b.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// The reader that a line is for.
  public enum Audience: String, Sendable {
    /// The operator of the gateway: something has to be done, or has changed.
    case `operator`
    /// The developer of a client: it did something wrong, or was refused.
    case client
    /// A developer of the gateway, for debugging.
    case developer
  }

  public enum Value: Hashable, Sendable {
    case text(String)
    case number(Int)
  }

  public struct Field: Sendable {
    public let name: String
    public let value: Value

    public init(_ name: String, _ value: Value) {
      self.name = name
      self.value = value
    }
  }

  public let level: Level
  public let audience: Audience
  /// The name of the event, for programs.
  public let event: String
  /// The same as a sentence.
  public let text: String
  public let fields: [Field]

  public init(_ level: Level, for audience: Audience, _ event: String, _ text: String, _ fields: [Field] = []) {
    self.level = level
    self.audience = audience
    self.event = event
    self.text = text
    self.fields = fields
  }
}
