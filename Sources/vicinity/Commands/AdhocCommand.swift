internal import Nearby

/// Connects with all nearby peers in the same mode, and shows each event with its time.
enum AdhocCommand {
  static let typeByDefault = "adhoc"

  static func run(_ context: Context) async throws -> ExitCode {
    try await run(context, context.invocation.argument("type") ?? typeByDefault)
  }

  static func run(_ context: Context, _ type: String) async throws -> ExitCode {
    var context = context
    context.announcer.showsTime = true
    if let name = await NameQuestion(context).answer() { context.chosenName = name }
    let info = context.invocation.pairs("info")
    return try await Stay.run(context, type, Stay.Policy(context.invocation)) { stay in
      try await stay.startBrowsing()
      try await stay.session.startAdhoc(type, info: info, until: stay.policy.until)
      stay.crew.add {
        await Conditions.report(stay.session.adhocStates, of: .adhoc, type) { await stay.report($0) }
      }
      stay.visit.endInTime(.done)
    }
  }
}
