internal import Nearby
internal import Notation
internal import Reactor
internal import Store
internal import Web

/// Routes for operators and their monitoring.
extension Routes {
  static let operations: [Route] = [
    Route(.get, "/healthz", .anyone, .now { _, _ in .plain("ok\n") }),
    Route(.get, "/readyz", .anyone, .now { core, _ in try core.readiness() }),
    Route(.get, "/metrics", .nearby(.operator), .now { core, call in core.metrics(call) }),
    Route(.get, "/v1/gateway/history", .role(.operator), .now { core, _ in .json(core.metricHistory.json) }),
  ]
}

extension Core {
  /// The reason why the readiness check fails, so that a load balancer routes clients elsewhere; nil while it succeeds.
  var unreadiness: String? {
    if isDraining { return "the gateway is draining: it is about to stop" }
    if let loss = store.loss {
      return "\(loss); restore a backup, or start the gateway again to go on with what is there"
    }
    if let damage = scrub.brokenDatabase {
      return "the database is damaged (\(damage)): stop the gateway, restore a backup, and check the disk"
    }
    if disk.free.shortage(at: Instant.now) != nil {
      return "the disk of \(options.folder) is nearly full: less than \(disk.free.freeMin) bytes are free"
    }
    if host.storeIsFailing { return "the store cannot write to \(options.folder): see the log" }
    return nil
  }

  fileprivate func readiness() throws(Problem) -> Reply {
    guard let unreadiness else { return .plain("ready\n") }
    var problem = Problem(.unavailable, unreadiness)
    problem.retryAfter = 5
    throw problem
  }

  fileprivate func metrics(_ call: Call) -> Reply {
    let form: Exposition.Form =
      MediaRange.names(call.headers["Accept"], "application/openmetrics-text") ? .openMetrics : .text
    return Reply(200, .bytes(Array(Exposition(Metric.all, of: self, as: form).text.utf8), type: form.type))
  }
}

extension Reply {
  fileprivate static func plain(_ text: String) -> Reply { Reply(200, .bytes(Array(text.utf8), type: "text/plain")) }
}
