internal import Nearby

/// A parsed command line: every value in it has been checked against its syntax.
struct Invocation: Sendable {
  let command: CommandSyntax
  let arguments: [String: [String]]
  let options: [String: [String]]
  /// The source of each option that is set.
  var sources: [String: Source] = [:]

  /// The source of an option; the first of these takes precedence.
  enum Source: Hashable, Sendable, CustomStringConvertible {
    case commandLine
    case environment(String)
    case file(String, line: Int)

    var description: String {
      switch self {
      case .commandLine: "the command line"
      case .environment(let variable): variable
      case .file(let path, let line): "\(path):\(line)"
      }
    }
  }

  func argument(_ name: String) -> String? { arguments[name]?.first }

  /// An argument that the syntax requires.
  func required(_ name: String) -> String {
    guard let value = argument(name) else { preconditionFailure("\(command.name) does without <\(name)>") }
    return value
  }

  func has(_ option: String) -> Bool { options[option] != nil }

  /// The value of an option, or its default.
  func text(_ option: String) -> String? { options[option]?.last ?? command.option(option)?.defaultValue }

  func texts(_ option: String) -> [String] { options[option] ?? [] }

  func number(_ option: String) -> Int? { text(option).flatMap { Int($0) } }

  func duration(_ option: String) -> Duration? { text(option).flatMap { Duration(text: $0) } }

  func pairs(_ option: String) -> [String: String] {
    var pairs: [String: String] = [:]
    for text in texts(option) {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      pairs[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
    }
    return pairs
  }
}

extension Duration {
  /// Seconds, or with a unit: `30`, `1.5s`, `500ms`, `2m`, `1h`. Nil for anything else, and for more than a year.
  init?(text: String) {
    let digits = text.prefix { $0.isASCII && $0.isNumber || $0 == "." }
    let units: [String: Double] = ["": 1, "s": 1, "ms": 0.001, "m": 60, "h": 3_600, "d": 86_400]
    guard !digits.isEmpty, let number = Double(digits), let unit = units[String(text[digits.endIndex...])],
      number * unit <= 366 * 86_400
    else { return nil }
    self = .milliseconds(Int64((number * unit * 1_000).rounded()))
  }
}
