internal import Nearby
internal import Reactor
internal import Web

/// How a gateway comes to its end.
extension Core {
  /// Between two looks at what is under way.
  private static let drainInterval: Duration = .milliseconds(50)
  /// In nanoseconds, for the first request of a connection that was accepted just before: it is on its way, unless a browser
  /// has connected to be quick later.
  private static let askingMax: UInt64 = 1_000_000_000
  /// In nanoseconds: a disk that takes longer is not waited for.
  private static let syncingMax: UInt64 = 2_000_000_000

  /// Requests, single streams and resources: what would be cut off. Whoever only follows something goes on elsewhere.
  var workUnderWay: Int {
    // Where the host lasts they go on where they were.
    let resources =
      archive.isLasting
      ? 0
      : sessions.values.reduce(0) { sum, session in
        sum + session.resourceModels.values.count { $0.state == .transferring }
      }
    let followers = count(of: EventStream.self) + count(of: LongPoll.self)
    return max(0, (front?.requestsUnderWay ?? 0) - followers) + sockets.streams.count + resources
  }

  func drain(within time: Duration) async {
    if isDraining { return }
    isDraining = true
    pairingDesk = nil
    host.network?.closePort()
    sockets.closeChannels(.restart, "the gateway stops: come back")
    release()
    log(.info, for: .operator, "draining", "the gateway takes nothing new", [.init("underWay", .number(workUnderWay))])
    let end = Reactor.now + UInt64(max(.zero, time) / .nanoseconds(1))
    let askingEnd = min(end, Reactor.now + Self.askingMax)
    var isAsked: Bool { front?.unaskedCount ?? 0 == 0 || Reactor.now >= askingEnd }
    while workUnderWay > 0 || !isAsked, Reactor.now < end { await pass(Self.drainInterval) }
    if workUnderWay > 0 {
      log(
        .warning, for: .operator, "cutOff", "the time to drain is over: what is under way is cut off",
        [.init("underWay", .number(workUnderWay))])
      // What came of an upload is there for who comes back.
      for upload in Array(uploads.values) { upload.left() }
      let end = Reactor.now + Self.syncingMax
      repeat { await pass(Self.drainInterval) } while syncsUnderWay > 0 && Reactor.now < end
    }
  }

  private func pass(_ time: Duration) async {
    await withCheckedContinuation { continuation in
      reactor.schedule(after: time) { continuation.resume() }
    }
  }
}
