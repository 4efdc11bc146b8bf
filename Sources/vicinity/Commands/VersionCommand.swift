enum VersionCommand {
  static func run(_ screen: Screen, isJSON: Bool) async -> ExitCode {
    var printer = EventPrinter(screen: screen)
    printer.isJSON = isJSON
    await printer.report(
      Event("version", .result, [.text("version", Vicinity.version)]) { _ in ["vicinity \(Vicinity.version)"] })
    return .done
  }
}
