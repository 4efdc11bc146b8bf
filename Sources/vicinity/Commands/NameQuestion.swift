/// Asks for this peer's name, at the first start, and saves the answer.
struct NameQuestion {
  private let context: Context

  init(_ context: Context) {
    self.context = context
  }

  /// The answer; nil where the name is known, or there is nobody to ask.
  func answer() async -> String? {
    guard context.invocation.text("name") == nil, let file = NameFile(context.keys), file.read() == nil,
      context.terminal.isInputTerminal, !context.printer.isJSON
    else { return nil }
    await context.lines.prompt("What are you called? [\(PlainText.line(NameFile.defaultName))] ")
    let name = await context.eventThread.asking { await ask() }
    await context.lines.prompt("> ")
    if let name, !file.write(name) {
      await context.printer.report(
        .warning(
          "The name cannot be kept in \(file.path): \(FileSystem.lastErrorText()).", cure: "It will be asked for again."
        ))
    }
    return name
  }

  private func ask() async -> String? {
    while let line = await context.lines.next() {
      let name = String(line.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
      if name.isEmpty { return NameFile.defaultName }
      guard let fault = NameFile.fault(of: name) else { return name }
      await context.screen.print(fault, to: .error)
    }
    return nil
  }
}
