internal import Nearby
internal import Reactor

/// Sessions whose counts of connected members are to be published.
final class SessionCounts {
  /// How often they are published while the list of sessions is followed. A client that reads the list gets the present
  /// ones.
  private static let interval: Duration = .milliseconds(100)
  /// Many take a twentieth of the time, and come every half second.
  private static let pauseFactor = 19
  private static let pauseMax: Duration = .milliseconds(500)

  private var due: [SessionModel] = []
  private var publishedAt = Instant.now
  private var pause = interval
  private var isScheduled = false
  private unowned let core: Core

  init(_ core: Core) {
    self.core = core
  }

  func publishSoon(_ model: SessionModel) {
    guard !model.isPublishingDue else { return }
    model.isPublishingDue = true
    due.append(model)
    schedule()
  }

  /// Publishes the counts that are due, soon, if anybody is to have them.
  func schedule() {
    guard !due.isEmpty, !isScheduled, core.sessionList.isFollowed else { return }
    isScheduled = true
    core.reactor.schedule(after: max(.zero, pause - (Instant.now - publishedAt))) { [weak self] in
      self?.isScheduled = false
      self?.publish()
    }
  }

  func publish() {
    let due = due
    if due.isEmpty { return }
    self.due = []
    let start = Instant.now
    for model in due {
      model.isPublishingDue = false
      core.publish(model)
    }
    publishedAt = Instant.now
    pause = max(Self.interval, min(Self.pauseMax, (publishedAt - start) * Self.pauseFactor))
  }

  func remove(_ model: SessionModel) {
    if model.isPublishingDue { due.removeAll { $0 === model } }
  }
}
