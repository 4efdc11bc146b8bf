public import Reactor
public import Wire

/// Hosts at addresses that were given by hand. Each address is dialled by a link that is closed as soon as its key is
/// known; from then on the directory shows a host there that reports its peers. It announces nothing.
public final class FixedDirectory: Directory {
  /// The interval of dials where nobody has answered: a host that is started is found within this.
  private static let pause: Duration = .seconds(2)

  private final class Place {
    let address: SocketAddress
    var host: HostID?
    var shown: [ServiceType: SeenID] = [:]
    /// The dial in progress or the next one, where the host is not known.
    var inquiry: Dialer?
    var retry: Timer?
    var failure: DialFailure?

    init(_ address: SocketAddress) { self.address = address }
  }

  private let reactor: Reactor
  private let context: LinkContext
  private let events: DirectoryEventQueue
  private let places: [Place]
  private var types: Set<ServiceType> = []
  private var isAvailable: Bool?
  private var lastID: UInt64 = 0

  public init(
    _ addresses: [SocketAddress], _ context: LinkContext, on reactor: Reactor,
    report: @escaping (DirectoryEvent) -> Void
  ) {
    self.reactor = reactor
    self.context = context
    events = DirectoryEventQueue(on: reactor, report: report)
    places = addresses.map(Place.init)
  }

  deinit {
    close()
  }

  public func publish(_ record: ServiceRecord) {}

  public func withdraw(_ key: ServiceRecord.Key) {}

  public func browse(for type: ServiceType) {
    guard types.insert(type).inserted else { return }
    for place in places {
      if place.host == nil { ask(place) } else { show(place) }
    }
  }

  public func stopBrowsing(for type: ServiceType) {
    types.remove(type)
    for place in places {
      if let id = place.shown.removeValue(forKey: type) { events.tell(.gone(id)) }
      if types.isEmpty { leave(place) }
    }
  }

  public func doubt(_ address: SocketAddress) {
    for place in places where place.host != nil && place.address.sameButForScope(address) { ask(place) }
  }

  public func close() {
    for place in places { leave(place) }
    events.end()
  }

  // MARK: Identification

  private func ask(_ place: Place) {
    guard place.inquiry == nil, place.retry == nil else { return }
    let caller = Caller { [unowned self, unowned place] in answered(place, $0) }
    place.inquiry = .dial([place.address], expecting: nil, context, on: reactor, owner: caller) {
      [unowned self, unowned place] in failed(place, $0)
    }
  }

  private func answered(_ place: Place, _ key: PublicKey) {
    place.inquiry = nil
    place.failure = nil
    let host = HostID(of: key)
    if place.host != host { hide(place) }
    place.host = host
    show(place)
    say(true)
  }

  private func failed(_ place: Place, _ failure: DialFailure) {
    place.inquiry = nil
    place.failure = failure
    place.retry = reactor.schedule(after: Self.pause) { [unowned self, unowned place] in
      place.retry = nil
      ask(place)
    }
    if places.allSatisfy({ $0.host == nil && $0.failure != nil }) { say(false) }
  }

  private func leave(_ place: Place) {
    place.inquiry?.cancel()
    place.inquiry = nil
    if let retry = place.retry { reactor.cancel(retry) }
    place.retry = nil
  }

  // MARK: Events

  private func show(_ place: Place) {
    guard let host = place.host else { return }
    for type in types where place.shown[type] == nil {
      lastID += 1
      let id = SeenID(rawValue: lastID)
      place.shown[type] = id
      let record = SeenRecord(
        type: type, name: place.address.description, hostName: "", port: place.address.port,
        txt: Announcement.roster(host: host).txt, addresses: [place.address])
      events.tell(.appeared(id, record))
    }
  }

  private func hide(_ place: Place) {
    for id in place.shown.values { events.tell(.gone(id)) }
    place.shown = [:]
  }

  private func say(_ isAvailable: Bool) {
    guard self.isAvailable != isAvailable else { return }
    self.isAvailable = isAvailable
    if isAvailable { return events.tell(.available) }
    let failures = places.compactMap { $0.failure?.description }.joined(separator: "; ")
    events.tell(
      .unavailable(
        Trouble(
          cause: "Nobody answers at any address that was given by hand: \(failures).",
          cure: "See that a host runs there, that it listens at this port, and that no firewall stands between.")))
  }
}

/// The owner of a link that only asks for the key at its other end.
private final class Caller: SecureLinkOwner {
  private let answered: (PublicKey) -> Void

  init(_ answered: @escaping (PublicKey) -> Void) { self.answered = answered }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {
    link.close()
    answered(remoteKey)
  }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {}

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {}

  func closed(_ link: SecureLink, because end: LinkEnd) {}
}

extension SocketAddress {
  /// A link-local address that was given without its interface is dialled on one.
  fileprivate func sameButForScope(_ other: SocketAddress) -> Bool {
    self == other || lacksScope && self == other.scoped(to: 0)
  }
}
