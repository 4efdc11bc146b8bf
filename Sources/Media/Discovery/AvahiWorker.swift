internal import Reactor
internal import Wire

/// All that is done with the Avahi daemon, on a loop of its own, where it may wait for the daemon.
final class AvahiWorker {
  /// Past so many events that wait to be taken, what is seen is only noted.
  private static let waitingMax = 256

  private let reactor: Reactor
  private let deliver: ([DirectoryEvent]) -> Void
  private var waiting: [DirectoryEvent] = []
  private var isDelivering = false
  private var connection: AvahiConnection?
  private var sightings: AvahiSightings?
  private var publications: [ServiceRecord.Key: AvahiPublication] = [:]
  /// How many there have been, by which they have their order.
  private var publicationsMade = 0
  private var isAvailable = false
  /// The daemon's name for this machine, which the records of ours name; nil while it takes none.
  private var hostName: String?

  /// Each time that it delivers it is to be told by `delivered()`, and keeps what comes meanwhile.
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
    for publication in publicationsInOrder { publication.tryAgain() }
  }

  /// Where the daemon has no room for all, those have it that were there first.
  private var publicationsInOrder: [AvahiPublication] { publications.values.sorted { $0.number < $1.number } }

  func browse(for type: ServiceType) { sightings?.browse(for: type) }

  func stopBrowsing(for type: ServiceType) { sightings?.stopBrowsing(for: type) }

  func close() {
    letGo()
    publications = [:]
    sightings = nil
    connection?.close()
    connection = nil
  }

  private func connectionChanged(to state: AvahiConnection.State) {
    switch state {
    case .away(let trouble):
      letGo()
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

  /// Of all that was made with the client.
  private func letGo() {
    for publication in publications.values { publication.end() }
    sightings?.end()
    hostName = nil
  }

  // MARK: What is told

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
