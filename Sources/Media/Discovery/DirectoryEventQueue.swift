internal import Reactor

/// The events of a directory on their way to the listener: in order, in a later turn, and none after `close`.
final class DirectoryEventQueue {
  private let reactor: Reactor
  private var told: ((DirectoryEvent) -> Void)?
  private var waiting: [DirectoryEvent] = []

  init(on reactor: Reactor, told: @escaping (DirectoryEvent) -> Void) {
    self.reactor = reactor
    self.told = told
  }

  func tell(_ event: DirectoryEvent) {
    waiting.append(event)
    if waiting.count == 1 { reactor.soon { [weak self] in self?.deliver() } }
  }

  func end() { told = nil }

  private func deliver() {
    let events = waiting
    waiting = []
    // The listener may end it.
    for event in events { told?(event) }
  }
}
