internal import Reactor

/// The events of a directory on their way to the listener: in order, in a later turn, and none after `close`.
final class DirectoryEventQueue {
  private let reactor: Reactor
  private var report: ((DirectoryEvent) -> Void)?
  private var waiting: [DirectoryEvent] = []

  init(on reactor: Reactor, report: @escaping (DirectoryEvent) -> Void) {
    self.reactor = reactor
    self.report = report
  }

  func tell(_ event: DirectoryEvent) {
    waiting.append(event)
    if waiting.count == 1 { reactor.soon { [weak self] in self?.deliver() } }
  }

  func end() { report = nil }

  private func deliver() {
    let events = waiting
    waiting = []
    // The listener may end it.
    for event in events { report?(event) }
  }
}
