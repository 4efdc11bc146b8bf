enum VersionCommand {
  static func run(_ screen: Screen, isJSON: Bool) async -> ExitCode {
    var announcer = Announcer(screen: screen)
    announcer.isJSON = isJSON
    await announcer.report(
      Event("version", .result, [.text("version", Vicinity.version)]) { _ in ["vicinity \(Vicinity.version)"] })
    return .done
  }
}
