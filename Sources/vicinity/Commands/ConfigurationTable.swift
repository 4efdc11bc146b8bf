/// A table of the gateway's effective settings and their sources.
enum ConfigurationTable {
  static func show(_ context: Context) async -> ExitCode {
    let invocation = context.invocation
    var table = Table(titles: ["NAME", "VALUE", "FROM"])
    for option in invocation.command.options where option.isInFile {
      let values = values(of: option, invocation)
      let source = invocation.sources[option.name]?.description ?? "default"
      if context.printer.isJSON {
        await context.printer.report(.setting(option.name, values, from: source))
      } else {
        table.rows.append([option.name, values.map(PlainText.line).joined(separator: " "), source])
      }
    }
    if !context.printer.isJSON { await context.screen.print(table.lines(columns: .max / 2)) }
    return .done
  }

  /// The values as a configuration file has them.
  private static func values(of option: OptionSyntax, _ invocation: Invocation) -> [String] {
    if option.placeholder == nil { return [invocation.has(option.name) ? "true" : "false"] }
    return invocation.options[option.name] ?? option.defaultValue.map { [$0] } ?? []
  }
}

extension Event {
  fileprivate static func setting(_ name: String, _ values: [String], from source: String) -> Event {
    Event("setting", .result, [.text("name", name), .list("values", values), .text("from", source)])
  }
}
