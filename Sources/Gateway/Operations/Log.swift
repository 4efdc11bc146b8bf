internal import Reactor

/// The gateway's log, for the reader of `Gateway.log`.
///
/// Invariants:
/// - It belongs to the loop, and never waits: a slow reader loses lines, and gets the number of lost ones.
/// - Repeated events are logged a few times, and then counted.
/// - A token is never in it, whatever field a client puts it in.
final class Log {
  /// The limit of lines for each event in a `window`, by its level; debugging needs many.
  private static let repeatsMax: [LogRecord.Level: Int] = [.error: 10, .warning: 10, .info: 20, .debug: 1_000]
  private static let window: Duration = .seconds(10)
  static let waitingMax = 1_024

  var level: LogRecord.Level
  private let reactor: Reactor
  private let output: AsyncStream<LogRecord>.Continuation
  /// Counts of this window.
  private var counts: [String: (level: LogRecord.Level, audience: LogRecord.Audience, count: Int)] = [:]
  private var windowEnd: Timer?
  /// Lines that the reader was too slow for.
  private var lost = 0
  private(set) var records: [LogRecord.Level: Int] = [:]

  init(_ level: LogRecord.Level, on reactor: Reactor, to output: AsyncStream<LogRecord>.Continuation) {
    self.level = level
    self.reactor = reactor
    self.output = output
  }

  func includes(_ level: LogRecord.Level) -> Bool { level <= self.level }

  func callAsFunction(
    _ level: LogRecord.Level, for audience: LogRecord.Audience, _ event: String, _ text: @autoclosure () -> String,
    _ fields: @autoclosure () -> [LogRecord.Field] = []
  ) {
    records[level, default: 0] += 1
    guard includes(level), countRepeat(level, audience, event) else { return }
    write(
      LogRecord(
        level, for: audience, event, Self.withoutTokens(text()),
        fields().map { field in
          guard case .text(let text) = field.value else { return field }
          return .init(field.name, .text(Self.withoutTokens(text)))
        }))
  }

  /// Logs the counts of the last window, and ends the log.
  func close() {
    endWindow()
    output.finish()
  }

  // MARK: Repeated events

  /// Counts an event in this window; returns whether it may be logged.
  private func countRepeat(_ level: LogRecord.Level, _ audience: LogRecord.Audience, _ event: String) -> Bool {
    if windowEnd == nil {
      windowEnd = reactor.schedule(after: Self.window) { [weak self] in self?.endWindow() }
    }
    counts[event, default: (level, audience, 0)].count += 1
    return counts[event]?.count ?? 0 <= Self.repeatsMax[level] ?? 0
  }

  private func endWindow() {
    if let windowEnd { reactor.cancel(windowEnd) }
    windowEnd = nil
    for (event, said) in counts.sorted(by: { $0.key < $1.key }) {
      let left = said.count - (Self.repeatsMax[said.level] ?? 0)
      guard left > 0 else { continue }
      write(
        LogRecord(
          said.level, for: said.audience, event, "\(left) more like this were left out within \(Self.window)",
          [.init("leftOut", .number(left))]))
    }
    counts = [:]
  }

  private func write(_ record: LogRecord) {
    if lost > 0 {
      let warning = LogRecord(
        .warning, for: .operator, "logLost", "\(lost) lines were lost, since the reader of this log was too slow",
        [.init("leftOut", .number(lost))])
      guard case .enqueued = output.yield(warning) else { return lost += 1 }
      lost = 0
    }
    if case .dropped = output.yield(record) { lost += 1 }
  }

  // MARK: Secrets

  private static let mark = "vct_"

  static func withoutTokens(_ text: String) -> String {
    guard text.contains(mark) else { return text }
    return text.replacing(#/vct_[A-Za-z0-9_\-]+/#, with: "vct_…")
  }
}

extension Log {
  /// A request was refused, or could not be answered.
  func refused(_ problem: Problem, _ what: String, by client: ClientView?) {
    let (level, audience): (LogRecord.Level, LogRecord.Audience) =
      switch problem.kind {
      case .unknown: (.error, .operator)
      case .unavailable where problem.reason == .noSpace: (.warning, .operator)
      case .forbidden where problem.rule == "pairingCode": (.warning, .operator)
      case .tooMany where problem.rule == "guesses": (.warning, .operator)
      default: (.info, .client)
      }
    let event = audience == .client ? "refused" : problem.kind == .unknown ? "failed" : problem.rule ?? "noSpace"
    self(
      level, for: audience, event, "\(what): \(problem.detail)",
      [.init("status", .number(problem.status)), .init("problem", .text(problem.kind.rawValue))]
        + (client.map { [.init("client", .text($0.id.text))] } ?? []))
  }
}
