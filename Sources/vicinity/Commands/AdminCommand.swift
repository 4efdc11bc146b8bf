internal import Gateway

/// Administration that is only allowed on the gateway's own machine.
enum AdminCommand {
  enum Action: String, CaseIterable {
    case reset

    var usage: String { "vicinity admin \(rawValue) [--everybody]" }

    var summary: String {
      switch self {
      case .reset:
        "revokes the tokens of all operators and admins, or of everybody, and all pairing codes, and shows a new code for an "
          + "operator. If no gateway runs, the tokens are revoked at its next start."
      }
    }
  }

  static func run(_ context: Context) async throws -> ExitCode {
    let folder = try ServeCommand.folder(context)
    let whose: AdminReset.Target = context.invocation.has("everybody") ? .everybody : .operators
    do throws(PairingFailure) {
      let reset = try await AdminReset.run(in: folder, whose)
      await context.printer.report(.reset(reset))
      if let ticket = reset.ticket { await context.printer.report(.pairingCode(ticket, on: context.terminal)) }
      return .done
    } catch {
      throw Failure(error)
    }
  }
}

extension Failure {
  init(_ failure: PairingFailure) {
    let code: ExitCode =
      switch failure {
      case .nobody, .noStore: .notFound
      case .othersFolder, .refused: .refused
      case .failed: .failed
      }
    self.init(code, failure.description)
  }
}

extension Event {
  fileprivate static func reset(_ reset: AdminReset) -> Event {
    Event("reset", .result, [.number("count", reset.count)]) { _ in
      let tokens = reset.count == 1 ? "1 token was ended" : "\(reset.count) tokens were ended"
      return [
        reset.ticket == nil
          ? "\(tokens); no gateway runs: once it does, 'vicinity pair' shows a code for an operator" : tokens
      ]
    }
  }
}
