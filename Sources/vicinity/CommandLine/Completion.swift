/// Completion scripts for shells, made from the table of commands and options.
struct Completion {
  enum Shell: String, CaseIterable, Sendable {
    case bash, zsh, fish
  }

  let syntax: Syntax

  func script(for shell: Shell) -> String {
    let lines =
      switch shell {
      case .bash: bash()
      case .zsh: zsh()
      case .fish: fish()
      }
    return lines.joined(separator: "\n") + "\n"
  }

  private var commands: [String] { syntax.commands.map(\.name) }

  /// Words that are allowed as an argument.
  private func choices(of command: CommandSyntax) -> [String] {
    command.name == "help" ? commands : command.arguments.first?.choices ?? []
  }

  private func words(of command: CommandSyntax) -> [String] {
    choices(of: command) + (command.options.map { "--\($0.name)" } + ["--help"])
  }

  // MARK: bash

  private func bash() -> [String] {
    let files = syntax.options.filter { if case .file = $0.value { true } else { false } }.map { "--\($0.name)" }
    let folders = syntax.options.filter { if case .folder = $0.value { true } else { false } }.map { "--\($0.name)" }
    let media = syntax.options.filter { $0.value == .medium }.map { "--\($0.name)" }
    let others = syntax.options.filter { isFree($0.value) }.map { "--\($0.name)" }
    var lines = [
      "# Completion of vicinity for bash: source <(vicinity completion bash)",
      "_vicinity() {",
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= word",
      "  # bash takes --option=value for three words",
      "  if [[ $current == = ]]; then current=",
      "  elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}; fi",
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do",
      "    case $word in \(commands.joined(separator: "|"))) command=$word; break ;; esac",
      "  done",
      "  COMPREPLY=()",
      "  case $previous in",
    ]
    for option in syntax.options {
      guard case .choice(let choices) = option.value else { continue }
      lines.append(
        "    --\(option.name)) mapfile -t COMPREPLY < <(compgen -W '\(choices.joined(separator: " "))' -- \"$current\"); return ;;"
      )
    }
    lines += [
      "    \(files.joined(separator: "|"))) compopt -o filenames 2>/dev/null; "
        + "mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return ;;",
      "    \(folders.joined(separator: "|"))) compopt -o filenames 2>/dev/null; "
        + "mapfile -t COMPREPLY < <(compgen -d -- \"$current\"); return ;;",
      "    \(media.joined(separator: "|"))) compopt -o nospace 2>/dev/null; "
        + "mapfile -t COMPREPLY < <(compgen -W 'lan folder: bluetooth relay' -- \"$current\"); return ;;",
      "    \(others.joined(separator: "|"))) return ;;",
      "  esac",
      "  local words",
      "  case $command in",
    ]
    for command in syntax.commands {
      lines.append("    \(command.name)) words='\(words(of: command).joined(separator: " "))' ;;")
    }
    lines += [
      "    *) words='\((commands + ["--help", "--version"]).joined(separator: " "))' ;;",
      "  esac",
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")",
      "}",
      "complete -F _vicinity vicinity",
    ]
    return lines
  }

  /// Whether a value cannot be completed, since only the user knows it.
  private func isFree(_ value: OptionSyntax.Value) -> Bool {
    switch value {
    case .text, .number, .duration, .address, .pair, .form: true
    case .none, .choice, .file, .folder, .medium: false
    }
  }

  // MARK: zsh

  private func zsh() -> [String] {
    var lines = [
      "#compdef vicinity",
      "# Completion of vicinity for zsh: put it as _vicinity into a folder of $fpath, or source it.",
      "_vicinity() {",
      "  local context state state_descr line",
      "  typeset -A opt_args",
      "  _arguments -C '1: :->command' '*:: :->rest' && return",
      "  case $state in",
      "  command)",
      "    local -a commands=(",
    ]
    lines += syntax.commands.map { "      '\($0.name):\(quoted($0.summary))'" }
    lines += ["    )", "    _describe command commands ;;", "  rest)", "    case $words[1] in"]
    for command in syntax.commands {
      var specs = command.options.map(zshSpec)
      let choices = choices(of: command)
      if !choices.isEmpty { specs.append("'1:\(command.arguments[0].name):(\(choices.joined(separator: " ")))'") }
      specs.append("'--help[explain the command]'")
      lines.append("    \(command.name)) _arguments \(specs.joined(separator: " ")) ;;")
    }
    return lines + [
      "    esac ;;", "  esac", "}",
      "if [[ $funcstack[1] == _vicinity ]]; then _vicinity \"$@\"; "
        + "else compdef _vicinity vicinity; fi",
    ]
  }

  private func zshSpec(_ option: OptionSyntax) -> String {
    let star = option.isRepeatable ? "*" : ""
    // Brackets and colons separate the parts of a spec.
    let summary = quoted(
      option.explanation.replacing("[", with: "(").replacing("]", with: ")").replacing(":", with: "\\:"))
    let head = "\(star)--\(option.name)"
    switch option.value {
    case .none: return "'\(head)[\(summary)]'"
    case .choice(let choices): return "'\(head)=[\(summary)]:\(option.name):(\(choices.joined(separator: " ")))'"
    case .file: return "'\(head)=[\(summary)]:file:_files'"
    case .folder: return "'\(head)=[\(summary)]:folder:_files -/'"
    case .medium: return "'\(head)=[\(summary)]:medium:(lan folder\\: bluetooth relay)'"
    case .text, .number, .duration, .address, .pair, .form: return "'\(head)=[\(summary)]:\(option.name): '"
    }
  }

  // MARK: fish

  private func fish() -> [String] {
    var lines = [
      "# Completion of vicinity for fish: vicinity completion fish > ~/.config/fish/completions/vicinity.fish",
      "complete -c vicinity -f",
      "complete -c vicinity -n __fish_use_subcommand -l help -d 'explain the program'",
      "complete -c vicinity -n __fish_use_subcommand -l version -d 'print the version'",
    ]
    for command in syntax.commands {
      lines.append(
        "complete -c vicinity -n __fish_use_subcommand -a \(command.name) -d '\(quoted(command.summary, fish: true))'")
      let condition = "-n '__fish_seen_subcommand_from \(command.name)'"
      let choices = choices(of: command)
      if !choices.isEmpty {
        lines.append("complete -c vicinity \(condition) -a '\(choices.joined(separator: " "))'")
      }
      lines += command.options.map { fishLine($0, condition) }
    }
    return lines
  }

  private func fishLine(_ option: OptionSyntax, _ condition: String) -> String {
    let value =
      switch option.value {
      case .none: ""
      case .choice(let choices): " -x -a '\(choices.joined(separator: " "))'"
      case .file: " -r -F"
      case .folder: " -x -a '(__fish_complete_directories)'"
      case .medium: " -x -a 'lan folder: bluetooth relay'"
      case .text, .number, .duration, .address, .pair, .form: " -x"
      }
    return "complete -c vicinity \(condition) -l \(option.name)\(value) -d '\(quoted(option.explanation, fish: true))'"
  }

  /// Escapes text for single quotation marks.
  private func quoted(_ text: String, fish: Bool = false) -> String {
    fish
      ? text.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
      : text.replacing("'", with: "'\\''")
  }
}
