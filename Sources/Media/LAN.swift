public import Engine
internal import Glibc
public import Reactor
public import Wire

/// The entry to an engine for its media: one mutation, and all its outputs.
public protocol EngineDriver: AnyObject {
  func call<Result, Failure: Error>(
    _ mutate: (Engine, Instant) throws(Failure) -> Result
  ) throws(Failure) -> Result

  /// A condition of the network that people should know. Called from the loop, never from within a call.
  func changed(_ condition: LAN.Condition)

  /// The standing of a type's announcements or browsers, or of all, may have changed. Called in the same way.
  func standingChanged(of type: ServiceType?)
}

/// The local network as a medium: service discovery (mDNS, DNS-SD), links to hosts, and datagrams.
///
/// It belongs to its reactor's thread.
public final class LAN {
  public struct Options: Sendable {
    /// 0 for a free one.
    public var port: UInt16 = 0
    /// The addresses to listen at, whatever their ports; none for all of this machine's.
    public var places: [SocketAddress] = []
    /// Open sockets to take over: some that listen for TCP, and perhaps one for UDP, all at one port.
    public var sockets: [Int32] = []
    /// Addresses of hosts, given by hand; nil for discovery by the Avahi daemon.
    public var fixed: [SocketAddress]?
    /// Whether to look for another host with this one's key in any case.
    public var looksForTwin = false
    /// Whether connections wait in the kernel's queue until there is an acceptor, which alone can tell them apart.
    public var awaitsAcceptor = false
    public init() {}
  }

  public enum Condition: Sendable {
    case discoveryUnavailable(Trouble)
    case discoveryAvailable
    case addresses([SocketAddress])
  }

  private let reactor: Reactor
  /// Weak: links that are still in a turn afterwards have nobody to call.
  fileprivate private(set) weak var driver: (any EngineDriver)?
  private let host: HostID
  /// The actual addresses; none for everywhere.
  private let listened: [SocketAddress]
  private let context: LinkContext
  private let handshakes: HandshakeQueue
  /// For IPv4 and, where the machine has it, IPv6, at one port.
  private var listeners: [Listener] = []
  /// At the same port, for probes and datagrams.
  private var datagrams: DatagramPort?
  fileprivate var links: [LinkID: LANConnection] = [:]
  private var dials: [DialID: Dialer] = [:]
  /// Whether records of hosts are browsed in any case.
  private var isBrowsingForTwin = false
  /// A dial to a host that answered as this host itself: another one with its key, if it can prove that.
  private var twinDial: Dialer?
  private var lastLink: UInt64 = 0
  private var directory: (any Directory)?
  private var status: DirectoryStatus
  private var network: NetworkWatch?
  private var published: Set<ServiceRecord.Key> = []
  private var sightings: [SeenID: SightingID] = [:]
  /// The address at which to probe the host of a sighting.
  private var places: [SightingID: (host: HostID, addresses: [SocketAddress])] = [:]
  private var lastSighting: UInt64 = 0
  private var stopped: (() -> Void)?
  /// Receives every connection to the port, and gives links back to `takeLink`.
  public var acceptor: (any ConnectionAcceptor)? {
    didSet { if acceptor != nil { for listener in listeners { listener.resume() } } }
  }
  private let awaitsAcceptor: Bool
  private var isStopping = false

  /// The port of its links, for both families.
  public private(set) var port: UInt16 = 0

  public init(
    key: SigningKey, _ options: Options, on reactor: Reactor, driver: any EngineDriver
  ) throws(SystemError) {
    self.reactor = reactor
    self.driver = driver
    host = HostID(of: key.publicKey)
    listened = options.sockets.isEmpty ? options.places : []
    awaitsAcceptor = options.awaitsAcceptor
    context = LinkContext(key: key)
    handshakes = HandshakeQueue(context, on: reactor)
    status = DirectoryStatus(announces: options.fixed == nil)
    if options.sockets.isEmpty { try listen(at: options.port) } else { try take(options.sockets) }
    directory =
      if let places = options.fixed {
        FixedDirectory(others(places), context, on: reactor) { [unowned self] in handle($0) }
      } else {
        try AvahiDirectory(on: reactor) { [unowned self] in handle($0) }
      }
    if options.looksForTwin { browseForTwin() }
    network = try NetworkWatch(on: reactor) { [unowned self] in
      updateAddresses()
      self.driver?.changed(.addresses(addresses))
    }
    reactor.soon { [weak self] in self?.updateAddresses() }
  }

  /// Other hosts knock with datagrams at the port of the links, so both have to be free.
  private func listen(at port: UInt16) throws(SystemError) {
    for _ in 0..<Self.portsTried {
      if listened.isEmpty {
        listeners = try Listener.everywhere(port: port, paused: awaitsAcceptor, on: reactor) { [unowned self] in
          take($0)
        }
      } else {
        for place in listened {
          let known = listeners.first?.address.port ?? port
          listeners.append(
            try Listener(at: place.with(port: known), paused: awaitsAcceptor, on: reactor) { [unowned self] in take($0)
            }
          )
        }
      }
      self.port = listeners.first?.address.port ?? 0
      let place = Self.datagramPlace(of: listeners.map(\.address))
      let datagrams = try DatagramPort(at: place, host: host, on: reactor, owner: self)
      if datagrams.address.port == self.port {
        self.datagrams = datagrams
        return
      }
      datagrams.close()
      listeners = []
      if port != 0 { throw SystemError("bind to UDP port \(port)", code: EADDRINUSE) }
    }
    throw SystemError("find a port that is free for TCP and UDP", code: EADDRINUSE)
  }

  private static let portsTried = 8

  /// One socket is for all datagrams: with several listening addresses, it is bound to all of the machine.
  private static func datagramPlace(of listened: [SocketAddress]) -> SocketAddress {
    if listened.count == 1 { return listened[0] }
    let port = listened.first?.port ?? 0
    return listened.contains(where: \.isV6) ? .anyV6(port: port) : .anyV4(port: port)
  }

  /// Binds it and releases it at once, for TCP and UDP.
  public static func expectFree(port: UInt16, at listened: [SocketAddress] = []) throws(SystemError) {
    if !listened.isEmpty {
      let listened = listened.map { $0.with(port: port) }
      for place in listened { _ = try Descriptor.listening(at: place) }
      _ = try Descriptor.datagrams(at: datagramPlace(of: listened))
      return
    }
    _ = try Descriptor.listening(at: .anyV4(port: port))
    var place = SocketAddress.anyV4(port: port)
    do throws(SystemError) {
      _ = try Descriptor.listening(at: .anyV6(port: port))
      place = .anyV6(port: port)
    } catch {
      if error.code != EAFNOSUPPORT, error.code != EADDRNOTAVAIL { throw error }
    }
    _ = try Descriptor.datagrams(at: place)
  }

  /// Where no datagram socket was given, one is opened here.
  private func take(_ sockets: [CInt]) throws(SystemError) {
    var bound: [CInt] = []
    for number in sockets {
      let socket = try Descriptor.given(number)
      guard try socket.isListening() else {
        bound.append(socket.release())
        continue
      }
      listeners.append(try Listener(taking: socket, paused: awaitsAcceptor, on: reactor) { [unowned self] in take($0) })
    }
    port = listeners.first?.address.port ?? 0
    guard port != 0, listeners.allSatisfy({ $0.address.port == port }), bound.count <= 1 else {
      throw SystemError("use the sockets that were passed: TCP at one port is needed, and UDP at it once", code: EINVAL)
    }
    let place = listeners.contains { $0.address.isV6 } ? SocketAddress.anyV6(port: port) : .anyV4(port: port)
    let given = bound.first.map { Descriptor(owning: $0) }
    let datagrams = try DatagramPort(at: place, taking: given, host: host, on: reactor, owner: self)
    guard datagrams.address.port == port else { throw SystemError("bind to UDP port \(port)", code: EADDRINUSE) }
    self.datagrams = datagrams
  }

  public var linkCount: Int { links.count }

  /// The addresses at which others may reach this host, from its interfaces now.
  public var addresses: [SocketAddress] { NetworkInterface.addresses(port: port, of: listened) }

  private func updateAddresses() {
    guard network != nil, !listeners.isEmpty else { return }
    let told = addresses.prefix(Limits.helloAddressesMax).map(Address.init(telling:))
    driver?.call { $0.setAddresses(told, at: $1) }
  }

  /// Accepts no more connections; open ones stay.
  public func closePort() { listeners = [] }

  /// Closes every link, after its last bytes; then calls back.
  public func stop(_ stopped: @escaping () -> Void) {
    self.stopped = stopped
    isStopping = true
    listeners = []
    acceptor?.close()
    acceptor = nil
    datagrams?.close()
    directory?.close()
    directory = nil
    network = nil
    for dialer in dials.values { dialer.cancel() }
    dials = [:]
    twinDial?.cancel()
    twinDial = nil
    handshakes.close()
    for connection in links.values { connection.link?.close() }
    callBackIfStopped()
  }

  private func callBackIfStopped() {
    guard links.isEmpty, let stopped = stopped.take() else { return }
    reactor.soon(stopped)
  }

  /// Whether the output was for the network.
  public func perform(_ output: Output) -> Bool {
    switch output {
    case .dial(let dial, let host, let addresses):
      open(dial, to: host, at: addresses)
    case .dialAlso(let dial, let addresses):
      dials[dial]?.join(others(addresses.compactMap { SocketAddress($0) }))
    case .wantsToSend(let link):
      links[link]?.link?.wantsToSend()
    case .close(let link, _):
      links[link]?.link?.close()
    case .datagram(let link, let payload):
      payload.withBytes { bytes in _ = links[link]?.path?.send(bytes) }
    case .probe(let sighting):
      guard let place = places[sighting] else { break }
      datagrams?.probe(place.host, at: place.addresses, tag: sighting.rawValue)
    case .publish(let peer, let type, let name, let info):
      publish(ServiceRecord(.peer(peer, host: host, name: name, info: info), type, port: port))
    case .withdraw(let peer, let type):
      withdraw(ServiceRecord.Key(type: type, name: peer.text))
    case .publishRoster(let type):
      publish(ServiceRecord(.roster(host: host), type, port: port))
    case .withdrawRoster(let type):
      withdraw(ServiceRecord.Key(type: type, name: host.text))
    case .browse(let type):
      directory?.browse(for: type)
    case .stopBrowsing(let type):
      if type == .hosts, isBrowsingForTwin { break }
      status.forget(type)
      directory?.stopBrowsing(for: type)
    default:
      return false
    }
    return true
  }

  // MARK: Discovery

  private func handle(_ event: DirectoryEvent) {
    switch status.take(event) {
    case .everything: driver?.standingChanged(of: nil)
    case .of(let type): driver?.standingChanged(of: type)
    case nil: break
    }
    switch event {
    case .available:
      driver?.changed(.discoveryAvailable)
    case .unavailable(let trouble):
      driver?.changed(.discoveryUnavailable(trouble))
    case .published(let key, let name):
      // Somebody has the name of this host: one with its key, or one who took the name of another.
      if key == own.key, name != key.name { browseForTwin() }
    case .notPublished, .looking, .notLooking:
      break
    case .appeared(let id, let record), .changed(let id, let record):
      seen(record, id)
    case .gone(let id):
      removeSighting(id)
    }
  }

  private func publish(_ record: ServiceRecord) {
    published.insert(record.key)
    directory?.publish(record)
    if published.count == 1 { directory?.publish(own) }
  }

  private func withdraw(_ key: ServiceRecord.Key) {
    published.remove(key)
    directory?.withdraw(key)
    status.forget(key)
    if published.isEmpty { directory?.withdraw(own.key) }
  }

  /// Whether others find the peer by the type: by a record of its own, or by this host's report over a link. Nil where
  /// it is not known yet.
  public func standing(ofAdvertised peer: PeerID, _ type: ServiceType) -> Standing? {
    let own = ServiceRecord.Key(type: type, name: peer.text)
    return status.standing(of: published.contains(own) ? own : ServiceRecord.Key(type: type, name: host.text))
  }

  /// Whether the type is browsed; nil where it is not known yet.
  public func standing(ofSearchFor type: ServiceType) -> Standing? { status.standing(of: type) }

  /// The host's own record, beside those of its peers, for as long as it announces any: a name is unique on a network,
  /// so whichever of two hosts with one key comes later notices the other, whatever the two are there for.
  private var own: ServiceRecord { ServiceRecord(.roster(host: host), .hosts, port: port) }

  private func seen(_ record: SeenRecord, _ id: SeenID) {
    // A record that is not ours or not valid is ignored.
    guard let announcement = try? Announcement(txt: record.txt) else { return removeSighting(id) }
    guard announcement.host != host else {
      removeSighting(id)
      return askForTwin(at: record.addresses)
    }
    let addresses = record.addresses.map { Address($0) }
    let sighting = sightings[id] ?? nextSighting()
    sightings[id] = sighting
    places[sighting] = (announcement.host, record.addresses)
    driver?.call { engine, now in
      switch announcement {
      case .peer(let peer, let host, let name, let info):
        let seen = Sighting(peer: peer, host: host, type: record.type, name: name, info: info, addresses: addresses)
        engine.sighted(sighting, seen, at: now)
      case .roster(let host):
        engine.sightedRoster(sighting, of: host, type: record.type, addresses: addresses, at: now)
      }
    }
  }

  private func removeSighting(_ id: SeenID) {
    guard let sighting = sightings.removeValue(forKey: id) else { return }
    places[sighting] = nil
    driver?.call { $0.sightingGone(sighting, at: $1) }
  }

  private func browseForTwin() {
    isBrowsingForTwin = true
    directory?.browse(for: .hosts)
  }

  /// A record of this host itself, or of another one with its key: a host does not answer its own questions.
  private func askForTwin(at addresses: [SocketAddress]) {
    datagrams?.probe(host, at: addresses, tag: Self.twinTag)
  }

  /// No sighting has this number.
  private static let twinTag: UInt64 = 0

  /// A datagram proves no identity. A link does, and both hosts are told of the conflict.
  private func dialTwin(at address: SocketAddress) {
    if isStopping { return }
    twinDial?.cancel()
    twinDial = Dialer.dial(
      [address], expecting: host, context, on: reactor, owner: LANConnection(of: self, number())
    ) { _ in }
  }

  private func nextSighting() -> SightingID {
    lastSighting += 1
    return SightingID(rawValue: lastSighting)
  }

  // MARK: Links

  private func open(_ dial: DialID, to host: HostID, at addresses: [Address]) {
    // The engine notices the links that are closed now.
    if isStopping { return }
    let end = LANConnection(of: self, number())
    dials[dial] = Dialer.dial(
      others(addresses.compactMap { SocketAddress($0) }), expecting: host, context, on: reactor,
      owner: end.answering(dial)
    ) { [unowned self] failure in
      dials[dial] = nil
      for attempt in failure.attempts {
        if case .answeredBy = attempt.outcome { directory?.doubt(attempt.address) }
      }
      driver?.call { $0.dialFailed(dial, at: $1) }
    }
  }

  /// Without this host's own, which may be in a list for all of a network, or was once another's: dialling itself, a
  /// host would take itself for another one with its key.
  private func others(_ addresses: [SocketAddress]) -> [SocketAddress] {
    addresses.filter { $0.port != port || !NetworkInterface.holds($0) }
  }

  private func take(_ socket: consuming Descriptor) {
    if let acceptor { acceptor.take(socket) } else { takeLink(socket) }
  }

  /// Takes a connection to the host, which is a link as far as anybody knows yet.
  public func takeLink(_ socket: consuming Descriptor) {
    // One that left before it could be watched is ignored.
    try? handshakes.take(socket, for: LANConnection(of: self, number()))
  }

  private func number() -> LinkID {
    lastLink += 1
    return LinkID(rawValue: lastLink)
  }

  fileprivate func opened(_ connection: LANConnection, to key: PublicKey, _ exporter: Digest, _ dial: DialID?) {
    if let dial { dials[dial] = nil }
    // A link that is accepted while the host stops.
    guard !isStopping, let link = connection.link else { return connection.link?.close() ?? () }
    links[connection.id] = connection
    connection.path = datagrams?.open(for: link, owner: connection)
    let id = connection.id
    driver?.call { $0.linkOpened(id, to: key, exporter: exporter, dial: dial, datagramBytesMax: 0, at: $1) }
  }

  fileprivate func closed(_ id: LinkID) {
    // The engine does not know a link that never opened.
    guard let connection = links.removeValue(forKey: id) else { return }
    connection.path?.close()
    driver?.call { $0.linkClosed(id, at: $1) }
    callBackIfStopped()
  }
}

extension LAN: DatagramPortOwner {
  public func answered(_ tag: UInt64, from address: SocketAddress) {
    if tag == Self.twinTag { return dialTwin(at: address) }
    driver?.call { $0.probeAnswered(SightingID(rawValue: tag), at: $1) }
  }
}

/// A link and its datagrams, by the number under which the engine knows them.
private final class LANConnection: SecureLinkOwner, DatagramPathOwner {
  let id: LinkID
  private(set) var link: SecureLink?
  var path: DatagramPath?
  private let lan: LAN
  private var dial: DialID?

  init(of lan: LAN, _ id: LinkID) {
    self.lan = lan
    self.id = id
  }

  func answering(_ dial: DialID) -> LANConnection {
    self.dial = dial
    return self
  }

  func opened(_ link: SecureLink, remoteKey: PublicKey, exporter: Digest) {
    self.link = link
    lan.opened(self, to: remoteKey, exporter, dial)
  }

  func received(upTo bytesMax: Int, from link: SecureLink, read: (inout OutputRawSpan) -> Void) {
    lan.driver?.call { $0.receive(upTo: bytesMax, on: id, at: $1, read) }
  }

  func fill(_ output: inout OutputRawSpan, for link: SecureLink) {
    lan.driver?.call { $0.fill(&output, for: id, at: $1) }
  }

  func closed(_ link: SecureLink, because end: LinkEnd) {
    self.link = nil
    lan.closed(id)
  }

  func carries(datagramBytesMax: Int, on path: DatagramPath) {
    lan.driver?.call { $0.linkCarriesDatagrams(id, bytesMax: datagramBytesMax, at: $1) }
  }

  func received(datagram: RawSpan, on path: DatagramPath) {
    lan.driver?.call { $0.receivedDatagram(datagram, on: id, at: $1) }
  }
}
