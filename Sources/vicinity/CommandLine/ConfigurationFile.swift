/// A configuration file of the gateway: lines of `name = value`, with the names of the options.
///
/// Empty lines and lines that begin with `#` are ignored. A value is the text behind the first `=`, without surrounding
/// space. A repeatable option has a line for each value; an option without a value is `true` or `false`.
struct ConfigurationFile: Sendable {
  static let bytesMax = 64 << 10
  static let systemPath = "/etc/vicinity/vicinity.conf"

  struct Line: Hashable, Sendable {
    let number: Int
    let name: String
    let value: String
  }

  let path: String
  let text: String

  /// The named file; otherwise the user's or, where there is none, the machine's. Nil where there is neither.
  static func find(_ named: String?, in optionSources: OptionSources) throws(UsageError) -> ConfigurationFile? {
    let variables = optionSources.variables
    // The XDG rules have a relative path ignored.
    let folder =
      variables["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? variables["HOME"].map { $0 + "/.config" }
    let usual = [folder.map { $0 + "/vicinity/vicinity.conf" }, systemPath].compactMap { $0 }
    for path in named.map({ [FileSystem.expanded($0)] }) ?? usual {
      switch optionSources.read(path) {
      case .success(let text)?: return ConfigurationFile(path: path, text: text)
      case .failure(let fault)?:
        throw UsageError("The configuration \(path) cannot be read: \(fault.cause); name another file with --config.")
      case nil: continue
      }
    }
    if let named { throw UsageError("There is no file \(PlainText.brief(named)); name another one with --config.") }
    return nil
  }

  func lines(of options: [OptionSyntax]) throws(UsageError) -> [Line] {
    var lines: [Line] = []
    // To Swift, a carriage return and a line feed are one character.
    let parts = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    for (index, raw) in parts.enumerated() {
      let content = Self.trimmed(raw)
      if content.isEmpty || content.hasPrefix("#") { continue }
      func fault(_ sentence: String) -> UsageError { UsageError("\(path):\(index + 1): \(sentence)") }
      guard let equals = content.firstIndex(of: "=") else {
        throw fault("'\(PlainText.brief(content))' says nothing: a line is 'name = value', or begins with '#'.")
      }
      let line = Line(
        number: index + 1, name: Self.trimmed(content[..<equals]),
        value: Self.trimmed(content[content.index(after: equals)...]))
      guard let option = options.first(where: { $0.name == line.name }) else {
        let hint = Suggestion.hint(for: line.name, among: options.map(\.name))
        throw fault(
          "Nobody knows '\(PlainText.brief(line.name))'.\(hint) 'vicinity serve --show-config' lists all names.")
      }
      if !option.isRepeatable, let first = lines.first(where: { $0.name == line.name }) {
        throw fault("'\(line.name)' stands in line \(first.number) already.")
      }
      lines.append(line)
    }
    return lines
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    let tail = text.drop(while: isSpace)
    return String(tail.prefix(tail.count - tail.reversed().prefix(while: isSpace).count))
  }
}
