internal import Reactor
internal import Wire

/// The owner of the connection to the Avahi daemon, on a loop of its own, where it may wait for the daemon.
final class AvahiWorker {
  /// With more events than this in the queue, changes are only marked.
  private static let waitingMax = 256

  private let reactor: Reactor
  private let deliver: ([DirectoryEvent]) -> Void
  private var waiting: [DirectoryEvent] = []
  private var isDelivering = false
  private var connection: AvahiConnection?
  private var sightings: AvahiSightings?
  private var publications: [ServiceRecord.Key: AvahiPublication] = [:]
  /// The number of publications ever made, which orders them.
  private var publicationsMade = 0
  private var isAvailable = false
  /// The daemon's name for this machine, to which our records refer; nil while it takes none.
  private var hostName: String?

  /// Waits for `delivered()` after each delivery, and keeps later events meanwhile.
  init(_ limits: AvahiDirectory.Limits, on reactor: Reactor, deliver: @escaping ([DirectoryEvent]) -> Void) {
    self.reactor = reactor
    self.deliver = deliver
    sightings = AvahiSightings(limits, on: reactor) { [unowned self] in tell($0) }
    connection = AvahiConnection(on: reactor) { [unowned self] in connectionChanged(to: $0) }
  }

  deinit {
    close()
  }

  func publish(_ record: ServiceRecord) {
    if let publication = publications[record.key] { return publication.change(to: record) }
    publicationsMade += 1
    let publication = AvahiPublication(record, number: publicationsMade, on: reactor) { [unowned self] in tell($0) }
    publications[record.key] = publication
    if hostName != nil, let client = connection?.client { publication.begin(with: client) }
  }

  func withdraw(_ key: ServiceRecord.Key) {
    guard publications.removeValue(forKey: key) != nil else { return }
    // There may be room for another one now.
    for publication in publicationsInOrder { publication.retryNow() }
  }

  /// In order of creation: where the daemon has no room for all, the first ones have it.
  private var publicationsInOrder: [AvahiPublication] { publications.values.sorted { $0.number < $1.number } }

  func browse(for type: ServiceType) { sightings?.browse(for: type) }

  func stopBrowsing(for type: ServiceType) { sightings?.stopBrowsing(for: type) }

  func close() {
    releaseClient()
    publications = [:]
    sightings = nil
    connection?.close()
    connection = nil
  }

  private func connectionChanged(to state: AvahiConnection.State) {
    switch state {
    case .away(let trouble):
      releaseClient()
      isAvailable = false
      tell(.unavailable(trouble))
    case .busy:
      break
    case .running(let name):
      guard let client = connection?.client else { return }
      if !isAvailable {
        isAvailable = true
        tell(.available)
        sightings?.begin(with: client)
      }
      guard hostName != name else { return }
      hostName = name
      for publication in publicationsInOrder { publication.begin(with: client) }
    }
  }

  private func releaseClient() {
    for publication in publications.values { publication.end() }
    sightings?.end()
    hostName = nil
  }

  // MARK: Events

  func delivered() {
    isDelivering = false
    deliverSoon()
    sightings?.isHeldBack = false
  }

  private func tell(_ event: DirectoryEvent) {
    waiting.append(event)
    deliverSoon()
    if waiting.count >= Self.waitingMax { sightings?.isHeldBack = true }
  }

  private func deliverSoon() {
    guard !isDelivering, !waiting.isEmpty else { return }
    isDelivering = true
    reactor.soon { [weak self] in
      guard let self else { return }
      let events = waiting
      waiting = []
      deliver(events)
    }
  }
}
