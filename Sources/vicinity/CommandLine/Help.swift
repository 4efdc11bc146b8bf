/// Help texts, made from the table of commands and options.
struct Help {
  let syntax: Syntax
  let paint: Paint
  let columns: Int

  /// Limit for the width: longer lines are hard to read, however wide the window is.
  private static let columnsMax = 100

  init(_ syntax: Syntax, _ paint: Paint, columns: Int) {
    self.syntax = syntax
    self.paint = paint
    self.columns = min(columns, Self.columnsMax)
  }

  func overview() -> [String] {
    var lines =
      "Find peers nearby, invite them, and exchange messages, files and streams, encrypted and without a server."
      .wrapped(to: columns)
    lines += [""] + usage("<command> [arguments] [options]") + ["", title("Commands")]
    lines += columnPair(syntax.commands.map { ($0.name, $0.summary) })
    lines += ["", title("First steps")]
    lines += columnPair([
      ("vicinity serve", "a gateway with a page for your browser: prints its address and a code"),
      ("vicinity adhoc", "on two machines of one network: connects them, and you can talk"),
      ("vicinity peers chat", "list the peers that advertise 'chat'"),
      ("vicinity help send", "explain one command, with examples"),
    ])
    lines += ["", title("Options of most commands")]
    let shared = syntax.options.filter { $0.group == .host && $0.name != "timeout" || $0.group == .output }
    lines += columnPair(shared.map { ($0.usage, $0.summary) })
    lines += ["", title("Environment")]
    lines += columnPair(shared.filter(\.isInEnvironment).map { ($0.variable, "as --\($0.name)") })
    lines += ["", title("Exit codes")]
    lines += columnPair(ExitCode.allCases.map { ("\($0.rawValue)", $0.summary) })
    return lines
  }

  func page(of command: CommandSyntax) -> [String] {
    let words = [command.name] + command.arguments.map(\.placeholder) + (command.options.isEmpty ? [] : ["[options]"])
    var lines = "\(command.name): \(command.summary)".wrapped(to: columns)
    lines += [""] + usage(words.joined(separator: " "))
    if !command.arguments.isEmpty {
      lines += columnPair(command.arguments.map { ($0.placeholder, $0.summary) })
    }
    for paragraph in command.text { lines += [""] + paragraph.wrapped(to: columns) }
    if !command.options.isEmpty {
      lines += ["", title("Options")]
      lines += columnPair(command.options.map { ($0.usage, $0.explanation) })
    }
    if !command.examples.isEmpty {
      lines += ["", title("Examples")]
      for example in command.examples { lines += ["  " + paint(.strong, example.line), "      " + example.says] }
    }
    if command.options.contains(where: { $0.group == .host }) {
      let codes = ExitCode.allCases.map { "\($0.rawValue) \($0.summary)" }.joined(separator: "; ")
      lines += [""] + "Exit codes: \(codes).".wrapped(to: columns)
    }
    return lines
  }

  private func usage(_ words: String) -> [String] {
    let lines = "vicinity \(words)".wrapped(to: columns, indent: 8)
    return [title("Usage") + "  " + lines[0]] + lines.dropFirst()
  }

  private func title(_ text: String) -> String { paint(.strong, text + ":") }

  /// Two columns: the left one is as wide as it must be, up to a third; a wider entry has a line of its own.
  private func columnPair(_ pairs: [(String, String)]) -> [String] {
    let left = min(pairs.map { DisplayWidth.of($0.0) }.max() ?? 0, max(16, columns / 3)) + 2
    return pairs.flatMap { name, text -> [String] in
      let indent = left + 2
      let wrapped = text.wrapped(to: columns, indent: indent)
      if DisplayWidth.of(name) > left - 2 {
        // The value of an option that is wider than the window has a line of its own.
        let head = DisplayWidth.of(name) + 2 > columns ? name.wrapped(to: columns, indent: 6) : [name]
        let text = [String(repeating: " ", count: indent) + wrapped[0]] + wrapped.dropFirst()
        return ["  " + head[0]] + head.dropFirst() + text
      }
      return ["  " + name.padded(to: left) + wrapped[0]] + wrapped.dropFirst()
    }
  }
}
