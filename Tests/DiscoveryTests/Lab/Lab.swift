import Testing

/// A few machines with a few watchers in them, all gone in the end.
final class Lab: @unchecked Sendable {
  // `@unchecked`: only the test's own task uses it.

  private var watchers: [Watcher] = []

  static func play(_ act: (Lab) async throws -> Void) async {
    let lab = Lab()
    do {
      try await act(lab)
    } catch {
      Issue.record(error)
    }
    for watcher in lab.watchers { await watcher.stop() }
  }

  /// A machine on its own, whose daemon is at home on the loopback.
  func box(_ name: String) throws -> Box {
    let box = try Box(name)
    try box.startBus()
    try box.startDaemon("allow-interfaces=lo")
    return box
  }

  func watcher(in box: Box) throws -> Watcher {
    let watcher = try Watcher.start(in: box)
    watchers.append(watcher)
    return watcher
  }
}
