internal import Gateway

/// The syntax of the command line. One table (`Syntax+Table.swift`) feeds the parser, the help and the completion.
struct Syntax: Sendable {
  let commands: [CommandSyntax]

  func command(_ name: String) -> CommandSyntax? { commands.first { $0.name == name } }

  /// A hint with the command that may be meant, by its spelling or by a synonym.
  func hint(for word: String) -> String {
    let hint = Suggestion.hint(for: word, among: commands.map(\.name))
    if !hint.isEmpty { return hint }
    let meant = commands.first { $0.synonyms.contains(word.lowercased()) }
    return meant.map { " Did you mean '\($0.name)', which is there to \($0.summary)?" } ?? ""
  }

  /// The options that a configuration file can set.
  var configurable: [OptionSyntax] { commands.flatMap(\.options).filter(\.isInFile) }

  /// Every option, once.
  var options: [OptionSyntax] {
    var seen: Set<String> = []
    return commands.flatMap(\.options).filter { seen.insert($0.name).inserted }
  }
}

struct CommandSyntax: Sendable {
  let name: String
  /// A few words for the list of commands.
  let summary: String
  let arguments: [ArgumentSyntax]
  /// Its own options first, then shared ones.
  let options: [OptionSyntax]
  /// The help's text between usage and options.
  let text: [String]
  let examples: [Example]
  /// Synonyms, by which other programs call a similar command.
  var synonyms: [String] = []

  func option(_ name: String) -> OptionSyntax? { options.first { $0.name == name } }

  /// Whether it reads a configuration file.
  var takesFile: Bool { option("config") != nil }

  struct Example: Sendable {
    let line: String
    let says: String
  }
}

extension [OptionSyntax] {
  /// The same options, which the environment and a configuration file can set too.
  var configured: [OptionSyntax] {
    map { option in
      var option = option
      (option.isInEnvironment, option.isInFile) = (true, true)
      return option
    }
  }
}

struct ArgumentSyntax: Sendable {
  let name: String
  let summary: String
  var isOptional = false
  /// It takes all words that are left.
  var isRest = false
  var choices: [String] = []
  var isServiceType = false

  /// The form in a usage line.
  var placeholder: String {
    // A longer list of choices stands in the text.
    let name = (1...3).contains(choices.count) ? choices.joined(separator: "|") : name
    let plain = isRest ? "\(name)…" : name
    return isOptional ? "[\(plain)]" : "<\(plain)>"
  }
}

struct OptionSyntax: Sendable {
  enum Value: Hashable, Sendable {
    /// A flag, present or not.
    case none
    case text(String)
    case number(String, ClosedRange<Int>)
    case duration
    case choice([String])
    case file(String)
    case folder(String)
    /// A host and a port.
    case address
    case pair
    /// A kind of medium, and where it is.
    case medium
    /// A value that the gateway can validate.
    case form(GatewayOptions.Form)
  }

  enum Group: Sendable {
    /// An option of one command.
    case own
    case session
    case host
    case output
  }

  let name: String
  let value: Value
  var summary: String
  var group = Group.own
  /// The option can be repeated.
  var isRepeatable = false
  /// Words behind it that look like its values are its values too.
  var isGreedy = false
  /// The environment can set it: `VICINITY_` and its name in capitals.
  var isInEnvironment = false
  /// A configuration file can set it, by its name.
  var isInFile = false
  /// The default value in the form of the command line; nil where there is none, or it takes a sentence.
  var defaultValue: String?

  /// The form in a help text: `--port N`.
  var usage: String {
    let value = placeholder.map { " \($0)" } ?? ""
    return "--\(name)\(value)\(isRepeatable ? "…" : "")"
  }

  /// Nil where it takes no value.
  var placeholder: String? {
    switch value {
    case .none: nil
    case .text(let name), .number(let name, _), .file(let name), .folder(let name): name
    case .duration: "TIME"
    case .choice(let choices): choices.joined(separator: "|")
    case .address: "ADDRESS"
    case .pair: "KEY=VALUE"
    case .medium: "MEDIUM"
    case .form(let form):
      switch form {
      case .hostName: "NAME"
      case .origin: "ORIGIN"
      case .addresses, .listenAddress: "ADDRESS"
      case .basePath: "PATH"
      }
    }
  }

  /// The text in the help.
  var explanation: String { defaultValue.map { "\(summary) (\($0))" } ?? summary }

  var variable: String { "VICINITY_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined() }
}
