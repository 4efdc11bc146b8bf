internal import Gateway

/// What the program understands. One table of it (`Syntax+Table.swift`) feeds the parser, the help and the completion.
struct Syntax: Sendable {
  let commands: [CommandSyntax]

  func command(_ name: String) -> CommandSyntax? { commands.first { $0.name == name } }

  /// A sentence that names the command which somebody may have meant, by its letters or by another word for it.
  func hint(for word: String) -> String {
    let hint = Suggestion.hint(for: word, among: commands.map(\.name))
    if !hint.isEmpty { return hint }
    let meant = commands.first { $0.otherWords.contains(word.lowercased()) }
    return meant.map { " Did you mean '\($0.name)', which is there to \($0.summary)?" } ?? ""
  }

  /// What a file of configuration may say.
  var configurable: [OptionSyntax] { commands.flatMap(\.options).filter(\.isInFile) }

  /// Every option there is, once.
  var options: [OptionSyntax] {
    var seen: Set<String> = []
    return commands.flatMap(\.options).filter { seen.insert($0.name).inserted }
  }
}

struct CommandSyntax: Sendable {
  let name: String
  /// For the list of commands: a few words.
  let summary: String
  let arguments: [ArgumentSyntax]
  /// Its own first, then those that it shares with others.
  let options: [OptionSyntax]
  /// What its help says between usage and options.
  let text: [String]
  let examples: [Example]
  /// What other programs call the like of it.
  var otherWords: [String] = []

  func option(_ name: String) -> OptionSyntax? { options.first { $0.name == name } }

  /// Whether it reads what an operator has written down.
  var takesFile: Bool { option("config") != nil }

  struct Example: Sendable {
    let line: String
    let says: String
  }
}

extension [OptionSyntax] {
  /// The same, which the environment and a file may say too.
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
  /// Takes all words that are left.
  var isRest = false
  var choices: [String] = []
  var isServiceType = false

  /// As it stands in a usage line.
  var placeholder: String {
    // More choices than that stand in the text.
    let name = (1...3).contains(choices.count) ? choices.joined(separator: "|") : name
    let plain = isRest ? "\(name)…" : name
    return isOptional ? "[\(plain)]" : "<\(plain)>"
  }
}

struct OptionSyntax: Sendable {
  enum Value: Hashable, Sendable {
    /// It is there or not.
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
    /// What the gateway can tell from something else.
    case form(GatewayOptions.Form)
  }

  enum Group: Sendable {
    /// Of one command.
    case own
    case session
    case host
    case output
  }

  let name: String
  let value: Value
  var summary: String
  var group = Group.own
  /// It may stand there more than once.
  var isRepeatable = false
  /// Words behind it that look like its values are its values too.
  var isGreedy = false
  /// The environment may say it as well: `VICINITY_` and its name in capitals.
  var isInEnvironment = false
  /// A file of configuration may say it, by its name.
  var isInFile = false
  /// What holds where nobody says anything, as it would be said; nil where that is nothing, or takes a sentence.
  var byDefault: String?

  /// As it stands in a help: `--port N`.
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
    case .form(let form):
      switch form {
      case .hostName: "NAME"
      case .origin: "ORIGIN"
      case .addresses, .place: "ADDRESS"
      case .basePath: "PATH"
      }
    }
  }

  /// What its help says.
  var explanation: String { byDefault.map { "\(summary) (\($0))" } ?? summary }

  var variable: String { "VICINITY_" + name.uppercased().map { $0 == "-" ? "_" : String($0) }.joined() }
}
