internal import Nearby
internal import Reactor
internal import Web

/// Graceful shutdown.
extension Core {
  /// The polling interval for work in progress.
  private static let drainInterval: Duration = .milliseconds(50)
  /// In nanoseconds: the wait for the first request of a connection that was accepted just before. It is on its way,
  /// unless a browser has preconnected.
  private static let firstRequestTimeout: UInt64 = 1_000_000_000
  /// In nanoseconds: a disk that takes longer is not waited for.
  private static let syncTimeout: UInt64 = 2_000_000_000

  /// Requests, single streams and resources, which a stop would cut off. Subscriptions are not counted: their clients
  /// resume elsewhere.
  var workUnderWay: Int {
    // If the host's sessions are stored, resources resume after the restart.
    let resources =
      sessionStore.isDurable
      ? 0
      : sessions.values.reduce(0) { sum, session in
        sum + session.resourceModels.values.count { $0.state == .transferring }
      }
    let followers = channels.count(of: EventStream.self) + channels.count(of: LongPoll.self)
    return max(0, (front?.requestsUnderWay ?? 0) - followers) + sockets.streams.count + resources
  }

  func drain(within time: Duration) async {
    if isDraining { return }
    isDraining = true
    controlSocket = nil
    host.network?.closePort()
    sockets.closeChannels(.restart, "the gateway stops: reconnect")
    channels.release()
    log(
      .info, for: .operator, "draining", "the gateway accepts no new requests",
      [.init("underWay", .number(workUnderWay))])
    let end = Reactor.now + UInt64(max(.zero, time) / .nanoseconds(1))
    let askingEnd = min(end, Reactor.now + Self.firstRequestTimeout)
    var isAsked: Bool { front?.newConnectionCount ?? 0 == 0 || Reactor.now >= askingEnd }
    while workUnderWay > 0 || !isAsked, Reactor.now < end { await pass(Self.drainInterval) }
    if workUnderWay > 0 {
      log(
        .warning, for: .operator, "cutOff", "the drain time is over: requests in progress are aborted",
        [.init("underWay", .number(workUnderWay))])
      // The received part of an upload is kept for a client that resumes.
      for upload in Array(uploads.values) { upload.abort() }
      let end = Reactor.now + Self.syncTimeout
      repeat { await pass(Self.drainInterval) } while syncsUnderWay > 0 && Reactor.now < end
    }
  }

  private func pass(_ time: Duration) async {
    await withCheckedContinuation { continuation in
      reactor.schedule(after: time) { continuation.resume() }
    }
  }
}
