internal import Gateway

/// Asks the gateway that runs on this machine for a pairing code.
enum PairCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    let folder = try ServeCommand.folder(context)
    let role = context.invocation.text("role") ?? ""
    let scopes = context.invocation.texts("scope")
    do throws(PairingFailure) {
      let ticket = try PairingTicket.request(from: folder, role: role, scopes: scopes)
      await context.printer.report(.pairingCode(ticket, on: context.terminal))
      return .done
    } catch {
      throw Failure(error)
    }
  }
}
