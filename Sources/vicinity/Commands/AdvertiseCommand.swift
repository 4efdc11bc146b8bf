internal import Nearby

/// Lets others find this peer and invite it.
enum AdvertiseCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    var context = context
    context.announcer.showsTime = true
    let (type, info) = (context.invocation.required("type"), context.invocation.pairs("info"))
    return try await Stay.run(context, type, Stay.Policy(context.invocation)) { stay in
      let advertiser = try await stay.visit.peer.advertise(type, info: info, until: stay.policy.until)
      await stay.answer(advertiser)
      stay.visit.endInTime(.done)
    }
  }
}
