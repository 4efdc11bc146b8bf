internal import Gateway
internal import Glibc
internal import Nearby
internal import Notation

/// A printer of events in the requested format, on the right output.
struct EventPrinter: Sendable {
  let screen: Screen
  var isJSON = false
  var isQuiet = false
  /// Whether each line for people begins with the time.
  var showsTime = false
  /// The outputs for people: for results, and for all other events.
  var resultsTo = StandardStream.out
  var newsTo = StandardStream.out

  func report(_ event: Event) async {
    if isJSON {
      await screen.print(event.json(at: Timestamp.now.description))
      // A reader of standard error has no use for the object.
      if event.weight != .error { return }
    }
    if isQuiet, event.weight == .news || event.weight == .warning { return }
    let output: StandardStream =
      switch event.weight {
      case .result: resultsTo
      case .news: newsTo
      case .warning, .error: .error
      }
    let paint = screen.terminal.paint(output)
    var lines = event.lines(paint)
    if showsTime, event.weight != .error, !lines.isEmpty { lines[0] = paint(.faint, Self.clock()) + " " + lines[0] }
    await screen.print(lines, to: output)
  }

  /// The local time of day.
  private static func clock() -> String {
    var seconds = time(nil)
    var parts = tm()
    localtime_r(&seconds, &parts)
    return [parts.tm_hour, parts.tm_min, parts.tm_sec].map { Quantity.twoDigits($0) }.joined(separator: ":")
  }
}
