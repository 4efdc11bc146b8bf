internal import BluetoothProtocol
public import Engine
public import Reactor
public import Wire

/// The entry to an engine for its media: one mutation, and all its outputs.
public protocol EngineDriver: AnyObject {
  func call<Result, Failure: Error>(
    _ mutate: (Engine, Instant) throws(Failure) -> Result
  ) throws(Failure) -> Result

  /// A condition of the network that people should know. Called from the loop, never from within a call.
  func changed(_ condition: HostNetwork.Condition)

  /// The standing of a type's announcements or browsers, or of all, may have changed. Called in the same way.
  func standingChanged(of type: ServiceType?)

  /// A Bluetooth device wants to be paired, or does no longer. Called in the same way.
  func changed(_ pairing: BluetoothPairingEvent)
}

/// The network of a host: all its media, and its links over any of them.
///
/// Invariants:
/// - It alone gives numbers to links and sightings, and calls the engine.
/// - What the host announces and looks for goes to every medium. A dial goes to the media of its addresses, and is
///   answered once.
///
/// It belongs to its reactor's thread.
public final class HostNetwork {
  public struct Options: Sendable {
    /// 0 for a free one.
    public var port: UInt16 = 0
    /// The addresses to listen at, whatever their ports; none for all of this machine's.
    public var places: [SocketAddress] = []
    /// Open sockets to take over: some that listen for TCP, and perhaps one for UDP, all at one port.
    public var sockets: [Int32] = []
    /// Whether the host has a port in any case, where connections wait in the kernel's queue until there is an acceptor,
    /// which alone can tell them apart.
    public var awaitsAcceptor = false
    public var media = [MediumOptions.lan(LAN.Options())]
    /// Whether to look for another host with this one's key in any case.
    public var looksForTwin = false
    public init() {}
  }

  public enum MediumOptions: Sendable {
    case lan(LAN.Options)
    /// The path of a shared folder.
    case folder(String)
    /// One Bluetooth adapter, by its name in the kernel, or all.
    case bluetooth(adapter: String?)
    /// Circuits through hosts that have media in common with this one and with the other.
    case relay

    /// The parameters of its kind, for the engine.
    public var profile: MediumProfile {
      switch self {
      case .lan: .lan
      case .folder: .folder
      case .bluetooth: .bluetooth
      case .relay: .relay
      }
    }
  }

  public enum Condition: Sendable {
    /// No medium works.
    case discoveryUnavailable(Trouble)
    /// One of several does not work.
    case mediumUnavailable(Trouble)
    case discoveryAvailable
    case addresses([SocketAddress])
  }

  private let reactor: Reactor
  /// Weak: links that are still in a turn afterwards have nobody to call.
  private(set) weak var driver: (any EngineDriver)?
  private let host: HostID
  /// Nil for a host that is reached by other ways alone.
  private var hostPort: HostPort?
  private var lan: LAN?
  /// The best first. An ID is the place among the options.
  private var media: [any Medium] = []
  /// The medium that finds nobody by itself, and so is none of these.
  private var relay: RelayMedium?
  private var outages = Outages()
  private var links: [LinkID: NetworkLink] = [:]
  private var dials: [DialID: NetworkDial] = [:]
  /// A dial to a host that answered as this host itself: another one with its key, if it can prove that.
  private var twinDial: (any MediumDial)?
  private var lastLink: UInt64 = 0
  private var published: Set<ServiceRecord.Key> = []
  private var sightings = Sightings()
  private var lastPairing: UInt64 = 0
  private var stopped: (() -> Void)?
  private var isStopping = false
  private var hasClosedLinks = false

  public init(
    key: SigningKey, _ options: Options, on reactor: Reactor, driver: any EngineDriver
  ) throws(SystemError) {
    self.reactor = reactor
    self.driver = driver
    host = HostID(of: key.publicKey)
    let context = LinkContext(key: key)
    let hasLAN = options.media.contains { if case .lan = $0 { true } else { false } }
    if hasLAN || options.awaitsAcceptor {
      hostPort = try HostPort(
        options, withDatagrams: hasLAN, on: reactor, addressesLost: { [unowned self] in cutLinks(from: $0) },
        addressesChanged: { [unowned self] in portMoved() }
      ) { [unowned self] in takeLink($0) }
    }
    for (number, medium) in options.media.enumerated() {
      try add(medium, as: MediumID(rawValue: number), context, looksForTwin: options.looksForTwin)
    }
    if let number = options.media.firstIndex(where: \.profile.isRelayed) {
      relay = RelayMedium(as: MediumID(rawValue: number), context, on: reactor, owner: self, driver: driver)
    }
    reactor.soon { [weak self] in self?.updateAddresses() }
  }

  private func add(
    _ options: MediumOptions, as id: MediumID, _ context: LinkContext, looksForTwin: Bool
  ) throws(SystemError) {
    switch options {
    case .lan(let options):
      guard lan == nil, let hostPort else { return }
      let lan = try LAN(
        options, as: id, looksForTwin: looksForTwin, host: host, at: hostPort, context, on: reactor, owner: self)
      self.lan = lan
      media.append(lan)
    case .folder(let path):
      // On one machine, and without losses: better than any network.
      media.insert(try FolderMedium(path, as: id, host: host, context, on: reactor, owner: self), at: 0)
    case .bluetooth(let adapter):
      media.append(
        BluetoothMedium(
          adapter, as: id, host: host, context, on: reactor, owner: self,
          pairingNumber: { [unowned self] in nextPairing() }, pairing: { [unowned self] in driver?.changed($0) },
          connect: { [reactor] () throws(Trouble) in try BluetoothProgram().connect(on: reactor) }))
    case .relay: break
    }
  }

  /// Binds it and releases it at once, for TCP and UDP.
  public static func expectFree(port: UInt16, at listened: [SocketAddress] = []) throws(SystemError) {
    try HostPort.expectFree(port, at: listened)
  }

  /// Throws where no host could meet others in the shared folder.
  public static func expectUsable(folder path: String) throws(Trouble) { try FolderMedium.check(path) }

  /// The reason why no process of the Bluetooth medium can be had; nil where one can.
  public static var bluetoothTrouble: Trouble? { BluetoothProgram().trouble }

  /// Whether an adapter may have this name.
  public static func isBluetoothAdapter(_ name: String) -> Bool { !name.isEmpty && BluetoothCommand.isAdapter(name) }

  private func nextPairing() -> UInt64 {
    lastPairing += 1
    return lastPairing
  }

  /// Says whether a Bluetooth device may be paired; false where the question has ended.
  public func answerPairing(_ number: UInt64, isAccepted: Bool) -> Bool {
    media.contains { ($0 as? BluetoothMedium)?.answerPairing(number, isAccepted: isAccepted) == true }
  }

  public var linkCount: Int { links.count }

  /// Nil where the system measures nothing, as on sockets of one machine.
  public func measurements(of link: LinkID) -> TCPMeasurements? { links[link]?.link?.measurements }
  /// The rate at which its socket has taken bytes, where they had to wait for it, and how many it has taken.
  public func sending(of link: LinkID) -> (bytesPerSecond: UInt64?, bytes: UInt64)? { links[link]?.link?.sending }
  public func remoteAddress(of link: LinkID) -> SocketAddress? { links[link]?.link?.remoteAddress }

  // MARK: The port

  /// The port of its links and clients, for both families; 0 for none.
  public var port: UInt16 { hostPort?.number ?? 0 }

  /// The addresses of the port, from the machine's interfaces now.
  public var addresses: [SocketAddress] { hostPort?.addresses ?? [] }

  /// Receives every connection to the port, and gives links back to `takeLink`.
  public var acceptor: (any ConnectionAcceptor)? {
    get { hostPort?.acceptor }
    set { hostPort?.acceptor = newValue }
  }

  /// Takes a connection to the port, which is a link as far as anybody knows yet.
  public func takeLink(_ socket: consuming Descriptor) { lan?.take(socket) }

  /// Accepts no more connections; open ones stay.
  public func closePort() { hostPort?.close() }

  /// Ends the links whose own address has gone with its interface: nothing comes over them any more. An interface that only
  /// lacks its carrier may have it again in time.
  private func cutLinks(from lost: Set<SocketAddress.Host>) {
    for link in links.values {
      if let link = link.link, let own = link.localAddress, lost.contains(own.host) { link.cut() }
    }
  }

  private func portMoved() {
    updateAddresses()
    driver?.changed(.addresses(addresses))
  }

  /// The best address of each medium, then the next best: however few of them are said, each medium has its share.
  private func updateAddresses() {
    guard !isStopping, hostPort?.isOpen != false else { return }
    let lists = media.map(\.addresses)
    let places = 0..<(lists.map(\.count).max() ?? 0)
    let all = places.flatMap { place in lists.compactMap { place < $0.count ? $0[place] : nil } }
    driver?.call { $0.setAddresses(Array(all.prefix(Limits.helloAddressesMax)), at: $1) }
  }

  // MARK: The end

  /// Closes every link, after its last bytes; then calls back.
  public func stop(_ stopped: @escaping () -> Void) {
    self.stopped = stopped
    isStopping = true
    hostPort?.stop()
    for medium in media { medium.close() }
    for dial in dials.values { dial.cancel() }
    dials = [:]
    twinDial?.cancel()
    twinDial = nil
    relay?.close()
    for link in links.values where isRelayed(link) { link.link?.close() }
    closeLinks()
    callBackIfStopped()
  }

  private func isRelayed(_ link: NetworkLink) -> Bool { relay.map { link.medium === $0 } ?? false }

  /// Closes the other links, once those that go over them have sent their last bytes.
  private func closeLinks() {
    guard !hasClosedLinks, !links.values.contains(where: isRelayed) else { return }
    hasClosedLinks = true
    for link in links.values { link.link?.close() }
  }

  private func callBackIfStopped() {
    guard links.isEmpty, let stopped = stopped.take() else { return }
    reactor.soon(stopped)
  }

  // MARK: Outputs

  /// Whether the output was for the network.
  public func perform(_ output: Output) -> Bool {
    switch output {
    case .dial(let dial, let host, let addresses):
      open(dial, to: host, at: addresses)
    case .dialAlso(let dial, let addresses):
      dials[dial]?.join(split(addresses))
    case .wantsToSend(let link):
      links[link]?.link?.wantsToSend()
    case .close(let link, _):
      links[link]?.link?.close()
    case .datagram(let link, let payload):
      payload.withBytes { bytes in _ = links[link]?.path?.send(bytes) }
    case .probe(let sighting):
      if let (medium, record) = sightings[sighting] { medium.probe(record) }
    case .publish(let peer, let type, let name, let info):
      publish(.peer(peer, host: host, name: name, info: info), .init(type: type, name: peer.text))
    case .withdraw(let peer, let type):
      withdraw(.init(type: type, name: peer.text))
    case .publishRoster(let type):
      publish(.roster(host: host), .init(type: type, name: host.text))
    case .withdrawRoster(let type):
      withdraw(.init(type: type, name: host.text))
    case .publishRelay(let medium):
      self.medium(medium)?.publish(.roster(host: host), as: .relays)
    case .withdrawRelay(let medium):
      self.medium(medium)?.withdraw(.init(type: .relays, name: host.text))
    case .circuitOpened, .circuitBytes, .circuitWritable, .circuitEnded:
      relay?.handle(output)
    case .browse(let type):
      for medium in media { medium.browse(for: type) }
    case .stopBrowsing(let type):
      for medium in media { medium.stopBrowsing(for: type) }
    default:
      return false
    }
    return true
  }

  private func medium(_ id: MediumID) -> (any Medium)? { media.first { $0.id == id } }

  // MARK: Discovery

  private func publish(_ announcement: Announcement, _ key: ServiceRecord.Key) {
    let isFirst = published.isEmpty
    published.insert(key)
    for medium in media {
      medium.publish(announcement, as: key.type)
      if isFirst { medium.publish(.roster(host: host), as: .hosts) }
    }
  }

  private func withdraw(_ key: ServiceRecord.Key) {
    published.remove(key)
    for medium in media {
      medium.withdraw(key)
      if published.isEmpty { medium.withdraw(own) }
    }
  }

  /// The host's own record, beside those of its peers, for as long as it announces any: a name is unique on a network,
  /// so whichever of two hosts with one key comes later notices the other, whatever the two are there for.
  private var own: ServiceRecord.Key { .init(type: .hosts, name: host.text) }

  /// Whether others find the peer by the type: by a record of its own, or by this host's report over a link. Nil where
  /// it is not known yet.
  public func standing(ofAdvertised peer: PeerID, _ type: ServiceType) -> DiscoveryStanding? {
    let record = ServiceRecord.Key(type: type, name: peer.text)
    let key = published.contains(record) ? record : ServiceRecord.Key(type: type, name: host.text)
    return DiscoveryStanding(of: media.map { $0.standing(of: key) })
  }

  /// Whether the type is browsed; nil where it is not known yet.
  public func standing(ofSearchFor type: ServiceType) -> DiscoveryStanding? {
    DiscoveryStanding(of: media.map { $0.standing(ofSearchFor: type) })
  }

  // MARK: Links

  private func open(_ dial: DialID, to host: HostID, at addresses: [Address]) {
    // The engine notices the links that are closed now.
    if isStopping { return }
    dials[dial] = NetworkDial(
      split(addresses), on: reactor,
      start: { [unowned self] medium, addresses, failed in
        medium.dial(host, at: addresses, for: link(over: medium, answering: dial), failed: failed)
      },
      failed: { [unowned self] in
        dials[dial] = nil
        driver?.call { $0.dialFailed(dial, at: $1) }
      })
  }

  /// Sorts them by medium, in the order of their first ones; an address of none is dropped.
  private func split(_ addresses: [Address]) -> [NetworkDial.Part] {
    var parts: [NetworkDial.Part] = []
    for address in addresses {
      if let place = parts.firstIndex(where: { $0.medium.owns(address) }) {
        parts[place].addresses.append(address)
      } else if let medium = media.first(where: { $0.owns(address) }) ?? relay.flatMap({ $0.owns(address) ? $0 : nil })
      {
        parts.append(NetworkDial.Part(medium: medium, addresses: [address]))
      }
    }
    return parts
  }

  private func link(over medium: any Medium, answering dial: DialID?) -> NetworkLink {
    lastLink += 1
    return NetworkLink(LinkID(rawValue: lastLink), over: medium, answering: dial, of: self)
  }

  func opened(_ link: NetworkLink, to key: PublicKey, _ exporter: Digest) {
    if let dial = link.dial { dials.removeValue(forKey: dial)?.cancel() }
    // A link that is accepted while the host stops.
    guard !isStopping, let secure = link.link else { return link.link?.close() ?? () }
    links[link.id] = link
    link.path = link.medium.datagrams(of: secure, for: link)
    driver?.call {
      $0.linkOpened(
        link.id, to: key, exporter: exporter, dial: link.dial, datagramBytesMax: 0, medium: link.medium.id,
        circuit: link.medium.circuit(of: link), at: $1)
    }
  }

  func closed(_ id: LinkID) {
    // The engine does not know a link that never opened.
    guard let link = links.removeValue(forKey: id) else { return }
    link.path?.close()
    driver?.call { $0.linkClosed(id, at: $1) }
    if isStopping { closeLinks() }
    callBackIfStopped()
  }
}

extension HostNetwork: MediumOwner {
  func seen(
    _ id: SeenID, _ announcement: Announcement, as type: ServiceType, at addresses: [Address], by medium: any Medium
  ) {
    let sighting = sightings.add(id, by: medium)
    driver?.call { engine, now in
      switch announcement {
      case .peer(let peer, let host, let name, let info):
        let seen = Sighting(
          peer: peer, host: host, type: type, name: name, info: info, addresses: addresses,
          medium: medium.id)
        engine.sighted(sighting, seen, at: now)
      case .roster(let host):
        engine.sightedRoster(sighting, of: host, type: type, addresses: addresses, medium: medium.id, at: now)
      }
    }
  }

  func gone(_ id: SeenID, by medium: any Medium) {
    guard let sighting = sightings.remove(id, by: medium) else { return }
    driver?.call { $0.sightingGone(sighting, at: $1) }
  }

  func answered(_ id: SeenID, by medium: any Medium) {
    guard let sighting = sightings.number(of: id, by: medium) else { return }
    driver?.call { $0.probeAnswered(sighting, at: $1) }
  }

  /// Both hosts learn of the conflict once the link is open.
  func suspectsTwin(at address: Address, by medium: any Medium) {
    if isStopping { return }
    twinDial?.cancel()
    twinDial = medium.dial(host, at: [address], for: link(over: medium, answering: nil)) {}
  }

  func linkOwner(over medium: any Medium) -> any SecureLinkOwner { link(over: medium, answering: nil) }

  func cut(over medium: any Medium) {
    for link in links.values where link.medium === medium { link.link?.cut() }
  }

  func addressesChanged(of medium: any Medium) { updateAddresses() }

  func outageChanged(to trouble: Trouble?, of medium: any Medium) {
    if let condition = outages.change(to: trouble, of: medium, of: media.count) { driver?.changed(condition) }
  }

  func standingChanged(of type: ServiceType?) { driver?.standingChanged(of: type) }
}
