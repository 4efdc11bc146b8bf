public import Reactor
public import Wire

/// The hosts of the LAN, through the Avahi daemon of this machine: DNS-SD records on all its interfaces.
public final class AvahiDirectory: Directory {
  private let reactor: Reactor
  private let events: EventQueue
  private var connection: AvahiConnection?
  private var sightings: AvahiSightings?
  private var publications: [ServiceRecord.Key: AvahiPublication] = [:]
  private var isAvailable = false
  /// The daemon's name for this machine, which the records of ours name; nil while it takes none.
  private var hostName: String?

  public init(on reactor: Reactor, told: @escaping (DirectoryEvent) -> Void) {
    self.reactor = reactor
    events = EventQueue(on: reactor, told: told)
    sightings = AvahiSightings(on: reactor) { [events] in events.tell($0) }
    connection = AvahiConnection(on: reactor) { [unowned self] in connectionChanged(to: $0) }
  }

  deinit {
    close()
  }

  public func publish(_ record: ServiceRecord) {
    if let publication = publications[record.key] { return publication.change(to: record) }
    let publication = AvahiPublication(record, on: reactor) { [events] in events.tell($0) }
    publications[record.key] = publication
    if hostName != nil, let client = connection?.client { publication.begin(with: client) }
  }

  public func withdraw(_ key: ServiceRecord.Key) {
    guard publications.removeValue(forKey: key) != nil else { return }
    // There may be room for another one now.
    for publication in publications.values { publication.tryAgain() }
  }

  public func look(for type: ServiceType) { sightings?.look(for: type) }

  public func lookNoMore(for type: ServiceType) { sightings?.lookNoMore(for: type) }

  public func close() {
    letGo()
    publications = [:]
    sightings = nil
    connection?.close()
    connection = nil
    events.end()
  }

  private func connectionChanged(to state: AvahiConnection.State) {
    switch state {
    case .away(let trouble):
      letGo()
      isAvailable = false
      events.tell(.unavailable(trouble))
    case .busy:
      break
    case .running(let name):
      guard let client = connection?.client else { return }
      if !isAvailable {
        isAvailable = true
        events.tell(.available)
        sightings?.begin(with: client)
      }
      guard hostName != name else { return }
      hostName = name
      for publication in publications.values { publication.begin(with: client) }
    }
  }

  /// Of all that was made with the client.
  private func letGo() {
    for publication in publications.values { publication.end() }
    sightings?.end()
    hostName = nil
  }
}
