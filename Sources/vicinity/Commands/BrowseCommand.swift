internal import Nearby

/// Reports peers that come and go.
enum BrowseCommand {
  static func run(_ context: Context) async throws -> ExitCode {
    var context = context
    context.announcer.showsTime = true
    let type = context.invocation.required("type")
    var policy = Stay.Policy(context.invocation)
    policy.reportsPeers = true
    return try await Stay.run(context, type, policy) { stay in
      try await stay.startBrowsing()
      stay.visit.endInTime(.done)
    }
  }
}
