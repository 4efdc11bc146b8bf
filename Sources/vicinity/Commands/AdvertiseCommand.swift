/// Lets others find this peer and invite it.
enum AdvertiseCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    var context = context
    context.announcer.showsTime = true
    let type = context.invocation.required("type")
    return try await Stay.run(context, type, Stay.Policy(context.invocation)) { stay in
      try await stay.advertise()
      stay.visit.endInTime(.done)
    }
  }
}
