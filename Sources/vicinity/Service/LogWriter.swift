internal import Gateway
internal import Glibc
internal import Nearby
internal import Notation

/// A writer of a gateway's log on standard error: for people at a terminal, for a journal, for files, or for programs.
struct LogWriter: Sendable {
  enum Form: Hashable, Sendable {
    /// Events as every command prints them.
    case terminal
    /// A line with its time.
    case text
    /// A line with its priority, as systemd reads it; the journal adds the time.
    case journal
    case json
  }

  let form: Form
  let level: LogRecord.Level
  private let printer: EventPrinter

  init(_ context: Context) {
    printer = context.printer
    let isTerminal = context.terminal.isErrorTerminal
    form =
      context.invocation.text("log") == "json" ? .json : isTerminal ? .terminal : Self.isJournal ? .journal : .text
    level =
      context.invocation.text("log-level").flatMap(LogRecord.Level.init) ?? (form == .terminal ? .warning : .info)
  }

  func write(_ record: LogRecord) async {
    if form == .terminal {
      if !printer.isJSON { await printer.report(Event(record)) }
    } else {
      await printer.screen.print(line(record, at: Timestamp.now.description), to: .error)
    }
  }

  /// Writes an event of the command itself; with JSON, it is also printed as an event.
  func report(_ event: Event) async {
    if printer.isJSON || form == .terminal { await printer.report(event) }
    guard form != .terminal, let record = LogRecord(event), record.level <= level else { return }
    await write(record)
  }

  func line(_ record: LogRecord, at time: String) -> String {
    switch form {
    case .json:
      let members: [JSON.Member] = [
        .text("at", time), .text("level", record.level.rawValue), .text("for", record.audience.rawValue),
        .text("event", record.event), .text("text", record.text),
      ]
      return JSON.object(members + record.fields.map(\.member)).line
    case .journal: return "<\(record.level.priority)>\(sentence(record))"
    case .text, .terminal: return "\(time) \(record.level.rawValue) \(sentence(record))"
    }
  }

  private func sentence(_ record: LogRecord) -> String {
    let fields = record.fields.map { " \($0.name)=\($0.member.value.line)" }
    return "\(record.event): \(PlainText.line(record.text))\(PlainText.line(fields.joined()))"
  }

  /// systemd sets `JOURNAL_STREAM` to the journal's stream.
  private static var isJournal: Bool {
    guard let said = Terminal.environment("JOURNAL_STREAM") else { return false }
    var status = stat()
    return fstat(STDERR_FILENO, &status) == 0 && said == "\(status.st_dev):\(status.st_ino)"
  }
}

extension LogRecord.Level {
  /// The priority of syslog.
  fileprivate var priority: Int {
    switch self {
    case .error: 3
    case .warning: 4
    case .info: 6
    case .debug: 7
    }
  }
}

extension LogRecord.Field {
  fileprivate var member: JSON.Member {
    switch value {
    case .text(let text): .text(name, text)
    case .number(let number): .number(name, number)
    }
  }
}

extension LogRecord {
  /// The log record of an event; nil for results, which are printed on standard output and are not logged.
  fileprivate init?(_ event: Event) {
    let level: Level
    switch event.weight {
    case .result: return nil
    case .news: level = .info
    case .warning: level = .warning
    case .error: level = .error
    }
    let plain = Paint(isOn: false)
    let text = event.members.first { $0.name == "text" }?.value.text ?? event.lines(plain).joined(separator: " ")
    let fields = event.members.filter { $0.name != "text" }.map { member in
      Field(member.name, .text(member.value.text ?? member.value.line))
    }
    self.init(level, for: .operator, event.name, text, fields)
  }
}

extension Event {
  fileprivate init(_ record: LogRecord) {
    let sentence = PlainText.line(record.text)
    switch record.level {
    case .error, .warning:
      var event = Event.warning(sentence)
      event.weight = .warning
      self = event
    case .info, .debug: self.init(record.event, .warning) { paint in [paint(.faint, "\(record.event): \(sentence)")] }
    }
  }
}
