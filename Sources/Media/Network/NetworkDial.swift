internal import Reactor
internal import Wire

/// One dial of one host over all the media of its addresses, in the order in which the engine names them: the next one starts
/// after a while, or where the one before fails.
///
/// Invariant: `failed` is called once, when the last medium has failed, and not after `cancel`, which the owner calls when a
/// link is open. It is never called from within the call that begins the dial.
final class NetworkDial {
  struct Part {
    let medium: any Medium
    var addresses: [Address]
  }

  /// The time for which a medium is alone before the next one joins it.
  static let alone: Duration = .seconds(1)

  private let reactor: Reactor
  private let start: (any Medium, [Address], _ failed: @escaping () -> Void) -> any MediumDial
  private let failed: () -> Void
  /// In their order.
  private var waiting: [Part]
  private var running: [(medium: any Medium, dial: any MediumDial)] = []
  private var next: Timer?
  private var isOver = false

  init(
    _ parts: [Part], on reactor: Reactor,
    start: @escaping (any Medium, [Address], _ failed: @escaping () -> Void) -> any MediumDial,
    failed: @escaping () -> Void
  ) {
    self.reactor = reactor
    self.start = start
    self.failed = failed
    waiting = parts
    if parts.isEmpty { reactor.soon { [self] in startNext() } } else { startNext() }
  }

  /// Adds addresses; a medium that has none yet, or has failed, waits for its turn.
  func join(_ parts: [Part]) {
    if isOver { return }
    for part in parts {
      if let known = running.first(where: { $0.medium === part.medium }) {
        known.dial.join(part.addresses)
      } else if let place = waiting.firstIndex(where: { $0.medium === part.medium }) {
        waiting[place].addresses += part.addresses
      } else {
        waiting.append(part)
      }
    }
    if next == nil, !waiting.isEmpty { setTimer() }
  }

  func cancel() {
    end()
    for one in running { one.dial.cancel() }
    running = []
  }

  private func startNext() {
    if isOver { return }
    if let next { reactor.cancel(next) }
    next = nil
    guard !waiting.isEmpty else {
      if running.isEmpty {
        end()
        failed()
      }
      return
    }
    let part = waiting.removeFirst()
    let medium = part.medium
    let dial = start(medium, part.addresses) { [weak self] in self?.failed(medium) }
    running.append((medium, dial))
    if !waiting.isEmpty { setTimer() }
  }

  private func failed(_ medium: any Medium) {
    running.removeAll { $0.medium === medium }
    startNext()
  }

  private func setTimer() { next = reactor.schedule(after: Self.alone) { [weak self] in self?.startNext() } }

  private func end() {
    isOver = true
    if let next { reactor.cancel(next) }
    next = nil
  }
}
