internal import Gateway
internal import Nearby

/// A parser of command lines.
struct Parser {
  let syntax: Syntax
  let optionSources: OptionSources

  init(_ syntax: Syntax, in optionSources: OptionSources = OptionSources()) {
    self.syntax = syntax
    self.optionSources = optionSources
  }

  enum Outcome: Sendable {
    case invocation(Invocation)
    /// Help was requested: for a command, or for the program.
    case help(CommandSyntax?)
    case version
  }

  func parse(_ words: [String]) throws(UsageError) -> Outcome {
    let (ahead, name, rest) = try splitAtCommand(words)
    if name == nil, !Set(words).isDisjoint(with: ["--version", "-V", "-v"]) { return .version }
    guard let name else {
      if ahead.contains(where: Self.isHelp) || words.isEmpty { return .help(nil) }
      throw UsageError("There is no command among the options; 'vicinity help' lists the commands.")
    }
    guard let command = syntax.command(name) else {
      throw UsageError(
        "There is no command '\(PlainText.brief(name))'.\(syntax.hint(for: name)) 'vicinity help' lists them.")
    }
    var line = Line(command, syntax, optionSources)
    return try line.take(ahead + rest)
  }

  /// Splits at the command. Options may stand before it: each means the same for every command that knows it.
  private func splitAtCommand(_ words: [String]) throws(UsageError) -> (
    ahead: [String], command: String?, rest: [String]
  ) {
    var place = 0
    while place < words.count, words[place].hasPrefix("-"), words[place] != "-" {
      let (name, value) = Line.split(words[place])
      let option = syntax.options.first { $0.name == name }
      place += option?.placeholder != nil && value == nil ? 2 : 1
    }
    guard place < words.count else { return (words, nil, []) }
    return (Array(words[..<place]), words[place], Array(words[(place + 1)...]))
  }

  fileprivate static func isHelp(_ word: String) -> Bool { word == "--help" || word == "-h" }
}

/// The words of one command, parsed in order.
private struct Line {
  let command: CommandSyntax
  let syntax: Syntax
  let optionSources: OptionSources
  private var positional: [String] = []
  private var options: [String: [String]] = [:]
  private var sources: [String: Invocation.Source] = [:]

  init(_ command: CommandSyntax, _ syntax: Syntax, _ optionSources: OptionSources) {
    self.command = command
    self.syntax = syntax
    self.optionSources = optionSources
  }

  static func split(_ word: String) -> (name: String, value: String?) {
    let parts = word.drop { $0 == "-" }.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    return (String(parts.first ?? ""), parts.count > 1 ? String(parts[1]) : nil)
  }

  mutating func take(_ words: [String]) throws(UsageError) -> Parser.Outcome {
    // A request for help takes precedence over errors.
    if words.prefix(while: { $0 != "--" }).contains(where: Parser.isHelp) { return .help(command) }
    var words = words[...]
    while let word = words.popFirst() {
      if word == "--" {
        positional += words
        break
      }
      if word.hasPrefix("-"), word.count > 1 { try takeOption(word, &words) } else { positional.append(word) }
    }
    for name in options.keys { sources[name] = .commandLine }
    try takeEnvironment()
    try takeFile()
    return .invocation(
      Invocation(command: command, arguments: try arguments(), options: options, sources: sources))
  }

  // MARK: Options

  private mutating func takeOption(_ word: String, _ words: inout ArraySlice<String>) throws(UsageError) {
    let (name, attached) = Self.split(word)
    guard word.hasPrefix("--"), let option = command.option(name) else { throw unknown(word, name) }
    if options[name] != nil, !option.isRepeatable { throw usageError("--\(name) stands there twice; leave one out.") }
    guard let placeholder = option.placeholder else {
      if attached != nil { throw usageError("--\(name) takes no value; leave out what stands behind the '='.") }
      options[name] = []
      return
    }
    if let attached { return try add(attached, to: option) }
    // A word that begins with a hyphen is an option; such a value needs a '='.
    guard let value = words.first, !looksLikeOption(value) else {
      throw usageError("--\(name) needs a value after it: \(placeholder).")
    }
    words.removeFirst()
    try add(value, to: option)
    while option.isGreedy, let next = words.first, !looksLikeOption(next),
      option.value != .address || next.contains(":")
    {
      words.removeFirst()
      try add(next, to: option)
    }
  }

  /// Whether a word looks like an option. No option begins with a digit: -1 is a value, and gets a better error.
  private func looksLikeOption(_ word: String) -> Bool {
    word.hasPrefix("-") && word.dropFirst().first.map { !$0.isWholeNumber } == true
  }

  private mutating func add(_ value: String, to option: OptionSyntax) throws(UsageError) {
    if let fault = option.fault(of: value, after: options[option.name] ?? []) {
      throw usageError("--\(option.name) \(fault)")
    }
    options[option.name, default: []].append(value)
  }

  private mutating func takeEnvironment() throws(UsageError) {
    for option in command.options where option.isInEnvironment && sources[option.name] == nil {
      guard let text = optionSources.variables[option.variable], !text.isEmpty else { continue }
      let values = option.isRepeatable ? text.split(separator: " ").map(String.init) : [text]
      for value in values {
        try take(value, of: option, from: .environment(option.variable), named: "\(option.variable) in the environment")
      }
    }
    guard command.takesFile else { return }
    let known = syntax.options.map(\.variable)
    for name in optionSources.variables.keys.sorted() where name.hasPrefix("VICINITY_") && !known.contains(name) {
      throw usageError(
        "Nobody knows \(PlainText.brief(name)) in the environment.\(Suggestion.hint(for: name, among: known.map { $0.lowercased() }) { $0.uppercased() })"
      )
    }
  }

  /// Takes options from the configuration file; it ignores those of other commands.
  private mutating func takeFile() throws(UsageError) {
    guard command.takesFile, let file = try ConfigurationFile.find(options["config"]?.last, in: optionSources) else {
      return
    }
    let above = Set(sources.keys)
    for line in try file.lines(of: syntax.configurable) {
      guard let option = command.option(line.name), option.isInFile, !above.contains(line.name) else { continue }
      try take(
        line.value, of: option, from: .file(file.path, line: line.number),
        named: "\(file.path):\(line.number): \(line.name)")
    }
  }

  private mutating func take(
    _ value: String, of option: OptionSyntax, from source: Invocation.Source, named name: String
  ) throws(UsageError) {
    sources[option.name] = source
    if option.placeholder == nil {
      guard let isOn = ["true": true, "false": false][value] else {
        throw usageError("\(name) takes true or false, not '\(PlainText.brief(value))'.")
      }
      options[option.name] = isOn ? [] : nil
      return
    }
    if let fault = option.fault(of: value, after: options[option.name] ?? []) { throw usageError("\(name) \(fault)") }
    options[option.name, default: []].append(value)
  }

  private func unknown(_ word: String, _ name: String) -> UsageError {
    let shown = PlainText.brief(String(word.prefix { $0 != "=" }))
    let owners = syntax.commands.filter { $0.option(name) != nil }.map(\.name)
    if word.hasPrefix("--"), !owners.isEmpty {
      return usageError("\(command.name) has no option \(shown): it belongs to \(owners.joined(separator: ", ")).")
    }
    let known = command.options.map(\.name) + ["help"]
    if !word.hasPrefix("--"), let name = Syntax.letters[name], known.contains(name) {
      return usageError("\(command.name) has no option \(shown). Did you mean '--\(name)'?")
    }
    let hint = Suggestion.hint(for: name, among: known) { "--\($0)" }
    return usageError("\(command.name) has no option \(shown).\(hint)")
  }

  // MARK: Arguments

  private func arguments() throws(UsageError) -> [String: [String]] {
    var rest = positional[...]
    var arguments: [String: [String]] = [:]
    for argument in command.arguments {
      let values = argument.isRest ? Array(rest) : Array(rest.prefix(1))
      rest = rest.dropFirst(values.count)
      if values.isEmpty {
        if argument.isOptional { continue }
        let example = command.examples.first.map { " For example: \($0.line)" } ?? ""
        throw usageError("\(argument.placeholder) is missing: \(argument.summary).\(example)")
      }
      if argument.isServiceType, let fault = Suggestion.fault(ofType: values[0]) { throw usageError(fault) }
      if !argument.choices.isEmpty, !argument.choices.contains(values[0]) {
        let hint = Suggestion.hint(for: values[0], among: argument.choices)
        let choices = argument.choices.joined(separator: ", ")
        throw usageError("'\(PlainText.brief(values[0]))' is none of \(choices).\(hint)")
      }
      arguments[argument.name] = values
    }
    if let more = rest.first { throw tooMuch(more) }
    return arguments
  }

  private func tooMuch(_ word: String) -> UsageError {
    let usage = (["vicinity", command.name] + command.arguments.map(\.placeholder)).joined(separator: " ")
    let hint: String
    if word.hasPrefix("-") {
      hint = " Behind '--' nothing is an option."
    } else if UInt16(word) != nil, command.option("port") != nil, !options.keys.contains("port") {
      hint = " Did you mean '--port \(word)'?"
    } else if command.option("message") != nil {
      hint = " Did you mean '--message'? A value with spaces in it stands in quotation marks."
    } else {
      hint = " A value with spaces in it stands in quotation marks."
    }
    return usageError("'\(PlainText.brief(word))' is one word too many for '\(usage)'.\(hint)")
  }

  private func usageError(_ sentence: String) -> UsageError { UsageError(sentence, in: command.name) }
}

extension OptionSyntax {
  /// The end of a sentence that begins with the option's name; nil for a valid value.
  func fault(of value: String, after others: [String] = []) -> String? {
    let shown = "'\(PlainText.brief(value))'"
    switch self.value {
    case .none:
      return "takes no value."
    case .text, .file, .folder:
      return value.isEmpty ? "needs a value that is not empty." : nil
    case .number(_, let range):
      if let number = Int(value), range.contains(number) { return nil }
      return "takes a whole number from \(range.lowerBound) to \(range.upperBound), not \(shown)."
    case .duration:
      return Duration(text: value) == nil ? "takes a time such as 30, 1.5s, 500ms, 2m or 1h, not \(shown)." : nil
    case .choice(let choices):
      if choices.contains(value) { return nil }
      return "takes \(choices.joined(separator: " or ")), not \(shown).\(Suggestion.hint(for: value, among: choices))"
    case .address:
      let port = value.lastIndex(of: ":").flatMap { UInt16(value[value.index(after: $0)...]) }
      let takes = "takes an address with its port, such as 10.0.0.5:7777 or [fe80::1%eth0]:7777, not"
      if value.contains("://") { return "\(takes) the URL \(shown)." }
      if value.first != "[", value.count(where: { $0 == ":" }) > 1 {
        return "\(takes) \(shown): an IPv6 address stands in brackets, and its port behind them."
      }
      if port != nil, port != 0, value.first != ":" { return nil }
      return "\(takes) \(shown)."
    case .medium:
      if HostMedium(value) == nil { return "takes lan, folder:PATH, bluetooth or relay, not \(shown)." }
      return others.contains(value) ? "is \(shown) twice; leave one out." : nil
    case .form(let form):
      return form.has(value) ? nil : "takes \(form.description), not \(shown)."
    case .pair:
      guard value.first != "=", value.contains("=") else {
        return "takes a key and a value, such as room=7, not \(shown)."
      }
      let key = value.prefix { $0 != "=" }
      guard others.contains(where: { $0.prefix { $0 != "=" } == key }) else { return nil }
      return "has the key '\(PlainText.brief(String(key)))' already; give each key one value."
    }
  }
}
