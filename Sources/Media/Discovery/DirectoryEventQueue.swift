internal import Reactor

/// What a directory has to tell, on its way to who listens: in order, in a later turn, and nothing after the end.
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
    // Whoever is told may end it.
    for event in events { told?(event) }
  }
}
