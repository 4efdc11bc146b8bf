/// Manual pages in roff, made from the table of commands and options: `vicinity(1)`, and one for each command.
struct ManualPage {
  let syntax: Syntax

  /// The name of a command's page, as `man` takes it.
  static func name(of command: CommandSyntax) -> String { "vicinity-\(command.name)" }

  /// The page of one command, or of the whole program.
  func text(of command: CommandSyntax?) -> String {
    (command.map(page) ?? overview()).joined(separator: "\n") + "\n"
  }

  private func overview() -> [String] {
    var lines = head("vicinity", "find peers nearby, and exchange messages, files and streams with them")
    lines += synopsis("vicinity", "<command> [arguments] [options]") + [".SH DESCRIPTION"]
    lines += paragraph(
      "Peers on a network find each other, invite each other, form sessions, and exchange messages, files and streams, encrypted and "
        + "without a server. Each command has a manual page of its own.")
    lines += [".SH COMMANDS"]
    for command in syntax.commands { lines += item("vicinity-\(command.name)(1)", command.summary) }
    lines += [".SH FILES"]
    lines += item(
      "~/.config/vicinity/vicinity.conf", "the configuration of this user's gateway, as lines 'name = value'")
    lines += item(
      "/etc/vicinity/vicinity.conf", "the configuration of the machine's gateway, read if the user has none")
    lines += item("~/.local/share/vicinity", "the keys of this user's host")
    lines += item("/var/lib/vicinity", "the keys and data of the machine's gateway")
    return lines + exitStatus() + seeAlso(syntax.commands.map(Self.name))
  }

  private func page(of command: CommandSyntax) -> [String] {
    var lines = head(Self.name(of: command), command.summary)
    let words = command.arguments.map(\.placeholder) + (command.options.isEmpty ? [] : ["[options]"])
    lines += synopsis("vicinity \(command.name)", words.joined(separator: " "))
    if !command.text.isEmpty { lines += [".SH DESCRIPTION"] + command.text.flatMap(paragraph) }
    if !command.arguments.isEmpty {
      lines += [".SH ARGUMENTS"] + command.arguments.flatMap { item($0.placeholder, $0.summary) }
    }
    if !command.options.isEmpty {
      lines += [".SH OPTIONS"] + command.options.flatMap { item($0.usage, $0.explanation) }
    }
    let variables = command.options.filter(\.isInEnvironment)
    if !variables.isEmpty {
      lines += [".SH ENVIRONMENT"] + variables.flatMap { item($0.variable, "as --\($0.name)") }
    }
    if !command.examples.isEmpty {
      lines += [".SH EXAMPLES"] + command.examples.flatMap { item($0.line, $0.says) }
    }
    if command.options.contains(where: { $0.group == .host }) { lines += exitStatus() }
    return lines + seeAlso(["vicinity"])
  }

  // MARK: Parts of a page

  private func head(_ name: String, _ summary: String) -> [String] {
    [
      ".TH \(escaped(name.uppercased())) 1 \"\" \"vicinity \(Vicinity.version)\" \"Vicinity\"", ".SH NAME",
      "\(escaped(name)) \\- \(escaped(summary))",
    ]
  }

  private func synopsis(_ name: String, _ words: String) -> [String] {
    [".SH SYNOPSIS", "\\fB\(escaped(name))\\fR \(escaped(words))"]
  }

  private func paragraph(_ text: String) -> [String] { [".PP", line(text)] }

  private func item(_ name: String, _ text: String) -> [String] {
    [".TP", "\\fB\(escaped(name))\\fR", line(text)]
  }

  private func exitStatus() -> [String] {
    [".SH EXIT STATUS"] + ExitCode.allCases.flatMap { item("\($0.rawValue)", $0.summary) }
  }

  private func seeAlso(_ names: [String]) -> [String] {
    [".SH SEE ALSO", names.map { "\\fB\(escaped($0))\\fR(1)" }.joined(separator: ",\n")]
  }

  /// roff takes a line that begins with a dot or an apostrophe for a request.
  private func line(_ text: String) -> String {
    let text = escaped(text)
    return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&\(text)" : text
  }

  /// Escapes text as typed: roff makes typographic signs of hyphens, apostrophes, circumflexes, grave accents and
  /// tildes.
  private func escaped(_ text: String) -> String {
    var escaped = ""
    for character in text {
      switch character {
      case "\\": escaped += "\\e"
      case "-": escaped += "\\-"
      case "'": escaped += "\\(aq"
      case "^": escaped += "\\(ha"
      case "`": escaped += "\\(ga"
      case "~": escaped += "\\(ti"
      case "…": escaped += "..."
      default: escaped.append(character)
      }
    }
    return escaped
  }
}
