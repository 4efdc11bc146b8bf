internal import Gateway
internal import Nearby

/// Backs up all data of a gateway, while it runs.
enum BackupCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    let folder = try ServeCommand.folder(context)
    guard let keys = try context.keys.path() else {
      throw UsageError("--keys ephemeral keeps nothing that could be copied.", in: context.invocation.command.name)
    }
    let place = FileSystem.expandedAbsolute(context.invocation.argument("place") ?? "")
    do throws(PairingFailure) {
      let backup = try await GatewayBackup.run(of: folder, keys: keys, to: place)
      await context.printer.report(.backup(backup))
      return .done
    } catch {
      throw Failure(error)
    }
  }
}

extension Event {
  fileprivate static func backup(_ backup: GatewayBackup) -> Event {
    Event(
      "backup", .result,
      [.text("place", backup.place), .number("sessions", backup.sessions), .number("files", backup.files)]
    ) { _ in
      [
        "\(backup.place) has \(backup.sessions) sessions and \(backup.files) files, and the keys: keep it as safe as those.",
        "Start a gateway from this backup with: vicinity serve --keys \(backup.place) --folder \(backup.place)/gateway",
      ]
    }
  }
}
