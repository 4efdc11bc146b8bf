internal import Engine
public import Reactor
internal import Wire

/// The local network as a medium: DNS-SD records, or addresses given by hand; TCP for links, UDP for datagrams and
/// probes.
///
/// It belongs to its reactor's thread.
public final class LAN: Medium {
  public struct Options: Sendable {
    /// Addresses of hosts, given by hand; nil for discovery by the Avahi daemon.
    public var fixed: [SocketAddress]?
    public init() {}
  }

  let id: MediumID
  private let reactor: Reactor
  private let host: HostID
  private let port: HostPort
  private let context: LinkContext
  private let handshakes: HandshakeQueue
  /// Weak: links that are still in a turn afterwards have nobody to report to.
  private weak var owner: (any MediumOwner)?
  /// At the port of the links, for probes and datagrams.
  private var datagrams: DatagramPort?
  private var directory: (any Directory)?
  private var status: DirectoryStatus
  /// The addresses at which to probe the host of a record.
  private var places: [SeenID: (host: HostID, addresses: [SocketAddress])] = [:]
  /// Whether records of hosts are browsed in any case.
  private var isBrowsingForTwin = false

  init(
    _ options: Options, as id: MediumID, looksForTwin: Bool, host: HostID, at port: HostPort, _ context: LinkContext,
    on reactor: Reactor, owner: any MediumOwner
  ) throws(SystemError) {
    self.id = id
    self.reactor = reactor
    self.host = host
    self.port = port
    self.context = context
    self.owner = owner
    handshakes = HandshakeQueue(context, on: reactor)
    status = DirectoryStatus(announces: options.fixed == nil)
    if let socket = port.takeDatagrams() {
      let place = try socket.localAddress() ?? .anyV4(port: port.number)
      datagrams = try DatagramPort(at: place, taking: socket, host: host, on: reactor, owner: self)
    }
    directory =
      if let places = options.fixed {
        FixedDirectory(others(places), context, on: reactor) { [unowned self] in handle($0) }
      } else {
        try AvahiDirectory(on: reactor) { [unowned self] in handle($0) }
      }
    if looksForTwin { browseForTwin() }
  }

  func owns(_ address: Address) -> Bool { SocketAddress(address) != nil }

  var addresses: [Address] { port.addresses.map(Address.init(telling:)) }

  func close() {
    datagrams?.close()
    directory?.close()
    directory = nil
    handshakes.close()
  }

  // MARK: Discovery

  func publish(_ announcement: Announcement, as type: ServiceType) {
    directory?.publish(ServiceRecord(announcement, type, port: port.number))
  }

  func withdraw(_ key: ServiceRecord.Key) {
    directory?.withdraw(key)
    status.forget(key)
  }

  func browse(for type: ServiceType) { directory?.browse(for: type) }

  func stopBrowsing(for type: ServiceType) {
    if type == .hosts, isBrowsingForTwin { return }
    status.forget(type)
    directory?.stopBrowsing(for: type)
  }

  func standing(of key: ServiceRecord.Key) -> DiscoveryStanding? { status.standing(of: key) }

  func standing(ofSearchFor type: ServiceType) -> DiscoveryStanding? { status.standing(of: type) }

  func probe(_ record: SeenID) {
    guard let place = places[record] else { return }
    datagrams?.probe(place.host, at: place.addresses, tag: record.rawValue)
  }

  private func handle(_ event: DirectoryEvent) {
    switch status.take(event) {
    case .everything: owner?.standingChanged(of: nil)
    case .of(let type): owner?.standingChanged(of: type)
    case nil: break
    }
    switch event {
    case .available:
      owner?.outageChanged(to: nil, of: self)
    case .unavailable(let trouble):
      owner?.outageChanged(to: trouble, of: self)
    case .published(let key, let name):
      // Somebody has the name of this host: one with its key, or one who took the name of another.
      if key.type == .hosts, key.name == host.text, name != key.name { browseForTwin() }
    case .notPublished, .looking, .notLooking:
      break
    case .appeared(let id, let record), .changed(let id, let record):
      seen(record, id)
    case .gone(let id):
      remove(id)
    }
  }

  private func seen(_ record: SeenRecord, _ id: SeenID) {
    // A record that is not ours or not valid is ignored.
    guard let announcement = try? Announcement(txt: record.txt) else { return remove(id) }
    guard announcement.host != host else {
      remove(id)
      // This host itself, or another one with its key: a host does not answer its own questions.
      datagrams?.probe(host, at: record.addresses, tag: Self.twinTag)
      return
    }
    places[id] = (announcement.host, record.addresses)
    owner?.seen(id, announcement, as: record.type, at: record.addresses.map { Address($0) }, by: self)
  }

  private func remove(_ id: SeenID) {
    if places.removeValue(forKey: id) != nil { owner?.gone(id, by: self) }
  }

  private func browseForTwin() {
    isBrowsingForTwin = true
    directory?.browse(for: .hosts)
  }

  /// No record has this number.
  private static let twinTag: UInt64 = 0

  // MARK: Links

  func dial(
    _ host: HostID, at addresses: [Address], for owner: any SecureLinkOwner, failed: @escaping () -> Void
  ) -> any MediumDial {
    LANDial(
      of: self,
      Dialer.dial(
        others(addresses.compactMap { SocketAddress($0) }), expecting: host, context, on: reactor, owner: owner
      ) { [weak self] failure in
        for attempt in failure.attempts {
          if case .answeredBy = attempt.outcome { self?.directory?.doubt(attempt.address) }
        }
        failed()
      })
  }

  /// Without this host's own, which may be in a list for all of a network, or was once another's: dialling itself, a
  /// host would take itself for another one with its key.
  fileprivate func others(_ addresses: [SocketAddress]) -> [SocketAddress] {
    addresses.filter { $0.port != port.number || !NetworkInterface.holds($0) }
  }

  /// Takes a connection to the port, which is a link as far as anybody knows yet.
  func take(_ socket: consuming Descriptor) {
    guard let owner else { return }
    // One that left before it could be watched is ignored.
    try? handshakes.take(socket, for: owner.linkOwner(over: self))
  }

  func datagrams(of link: SecureLink, for owner: any DatagramPathOwner) -> DatagramPath? {
    datagrams?.open(for: link, owner: owner)
  }
}

extension LAN: DatagramPortOwner {
  public func answered(_ tag: UInt64, from address: SocketAddress) {
    if tag == Self.twinTag {
      // A datagram proves no identity.
      owner?.suspectsTwin(at: Address(address), by: self)
    } else {
      owner?.answered(SeenID(rawValue: tag), by: self)
    }
  }
}

private final class LANDial: MediumDial {
  private let lan: LAN
  private let dialer: Dialer

  init(of lan: LAN, _ dialer: Dialer) {
    self.lan = lan
    self.dialer = dialer
  }

  func join(_ addresses: [Address]) { dialer.join(lan.others(addresses.compactMap { SocketAddress($0) })) }

  func cancel() { dialer.cancel() }
}
