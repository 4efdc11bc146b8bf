internal import Engine
internal import Reactor
internal import Wire

/// Hosts at addresses that were given by hand: each is asked who it is, by a link that is closed at once, and is then
/// shown to the engine as a host that tells of its peers.
final class FixedHosts {
  /// From one question to the next, at an address where nobody has answered.
  private static let pause: Duration = .seconds(2)

  private final class Place {
    let address: SocketAddress
    var host: HostID?
    var sightings: [ServiceType: SightingID] = [:]
    var inquiry: Dialer?

    init(_ address: SocketAddress) {
      self.address = address
    }
  }

  private let reactor: Reactor
  private let context: LinkContext
  private unowned let driver: any EngineDriver
  private let sighting: (HostID, SocketAddress) -> SightingID
  private let places: [Place]
  private var types: Set<ServiceType> = []
  private var again: Timer?

  init(
    _ addresses: [SocketAddress], _ context: LinkContext, on reactor: Reactor, driver: any EngineDriver,
    sighting: @escaping (HostID, SocketAddress) -> SightingID
  ) {
    self.reactor = reactor
    self.context = context
    self.driver = driver
    self.sighting = sighting
    places = addresses.map(Place.init)
  }

  func look(for type: ServiceType) {
    types.insert(type)
    for place in places { show(place, type) }
    ask()
  }

  func lookNoMore(for type: ServiceType) {
    types.remove(type)
    for place in places {
      guard let sighting = place.sightings.removeValue(forKey: type) else { continue }
      reactor.soon { [driver] in driver.call { $0.sightingGone(sighting, at: $1) } }
    }
  }

  func stop() {
    if let again { reactor.cancel(again) }
    again = nil
    types = []
    for place in places { place.inquiry?.cancel() }
  }

  private func show(_ place: Place, _ type: ServiceType) {
    guard let host = place.host, place.sightings[type] == nil,
      let address = try? Address(text: place.address.description)
    else { return }
    let sighting = sighting(host, place.address)
    place.sightings[type] = sighting
    reactor.soon { [driver] in
      driver.call { $0.sightedRoster(sighting, of: host, type: type, addresses: [address], at: $1) }
    }
  }

  /// Asks wherever nobody has answered, and again later.
  private func ask() {
    guard !types.isEmpty, again == nil else { return }
    let unknown = places.filter { $0.host == nil }
    guard !unknown.isEmpty else { return }
    for place in unknown where place.inquiry == nil {
      let asker = Asker { [unowned self] key in answered(place, key) }
      place.inquiry = .dial([place.address], expecting: nil, context, on: reactor, owner: asker) { _ in
        place.inquiry = nil
      }
    }
    again = reactor.schedule(after: Self.pause) { [unowned self] in
      again = nil
      ask()
    }
  }

  private func answered(_ place: Place, _ key: PublicKey) {
    place.inquiry = nil
    place.host = HostID(of: key)
    for type in types { show(place, type) }
  }
}

/// The owner of a link that is there for nothing but the key at its other end.
private final class Asker: SecureLinkOwner {
  private let answered: (PublicKey) -> Void

  init(_ answered: @escaping (PublicKey) -> Void) {
    self.answered = answered
  }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {
    link.close()
    answered(remoteKey)
  }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {}

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {}

  func closed(_ link: SecureLink, because end: LinkEnd) {}
}
