internal import BluetoothProtocol
internal import Engine
internal import Glibc
internal import Reactor
internal import Wire

/// Bluetooth as a medium: RFCOMM connections, which a process of `vicinity-bluetooth` makes and hands over.
///
/// A device's record names its hosts, and not their peers: those are learnt over a link.
///
/// It belongs to its reactor's thread.
final class BluetoothMedium: Medium {
  /// The beginning of each address.
  static let scheme = "rfcomm:"
  /// Connecting means paging, which takes up to 5.12 s, a search, and RFCOMM; all of it twice.
  private static let dialTimeMax: Duration = .seconds(15)
  private static let dialsMax = 64
  /// So that a message waits for some 20 ms of a file.
  private static var linkLimits: SecureLink.Limits {
    var limits = SecureLink.Limits()
    limits.unsentBytesMax = 16 << 10
    limits.batchBytesMax = 4 << 10
    return limits
  }

  let id: MediumID
  private let reactor: Reactor
  private let host: HostID
  private let adapter: String?
  private let context: LinkContext
  private let handshakes: HandshakeQueue
  private weak var owner: (any MediumOwner)?
  private var process: BluetoothProcess?
  private var state = BluetoothState()
  private var standing: DiscoveryStanding?
  private var discovery: BluetoothDiscovery
  private var timer: Timer?
  private var browsed: Set<ServiceType> = []
  private var hosts: [HostID: [Address]] = [:]
  private var shown: [Shown: SeenID] = [:]
  private var lastID: UInt64 = 0
  private var routes = BluetoothRoutes()
  private var search: Search?
  private var dials: [UInt64: (dial: PlaceDial<BluetoothPlace>, place: BluetoothPlace)] = [:]
  private var lastTicket: UInt64 = 0
  private var pairings: BluetoothPairings?

  private struct Shown: Hashable {
    let host: HostID
    let type: ServiceType
  }

  /// A search of the discovery, from an adapter; where the device does not answer that, others are tried until the limit.
  private struct Search {
    let device: BluetoothAddress
    var adapter: BluetoothAddress
    var others: ArraySlice<BluetoothAddress>
    let limit: Instant
  }

  /// Uses one adapter, by its name in the kernel, or all.
  init(
    _ adapter: String?, as id: MediumID, host: HostID, _ context: LinkContext, on reactor: Reactor,
    owner: any MediumOwner, pairingNumber: @escaping () -> UInt64 = { 0 },
    pairing: @escaping (BluetoothPairingEvent) -> Void = { _ in },
    connect: @escaping () throws(Trouble) -> Descriptor
  ) {
    self.id = id
    self.reactor = reactor
    self.host = host
    self.adapter = adapter
    self.context = context
    self.owner = owner
    handshakes = HandshakeQueue(context, on: reactor, linkLimits: Self.linkLimits)
    discovery = BluetoothDiscovery(of: host)
    process = BluetoothProcess(on: reactor, connect: connect) { [unowned self] in handle($0) }
    pairings = BluetoothPairings(
      on: reactor, number: pairingNumber, send: { [unowned self] in process?.send($0) }, report: pairing)
  }

  deinit { close() }

  func close() {
    process?.close()
    process = nil
    pairings = nil
    if let timer { reactor.cancel(timer) }
    timer = nil
    handshakes.close()
    for (dial, _) in dials.values { dial.cancel() }
    dials = [:]
  }

  // MARK: Addresses

  func owns(_ address: Address) -> Bool { Self.device(of: address) != nil }

  var addresses: [Address] { routes.adapters.map(Self.address(of:)) }

  private static func address(of device: BluetoothAddress) -> Address {
    // It has 19 bytes.
    try! Address(text: scheme + device.text)
  }

  private static func device(of address: Address) -> BluetoothAddress? {
    let text = address.description
    return text.hasPrefix(scheme) ? BluetoothAddress(text: text.dropFirst(scheme.count)) : nil
  }

  // MARK: Discovery

  /// The host is announced as long as the medium exists, so that those who know it reach it.
  func publish(_ announcement: Announcement, as type: ServiceType) {}

  func withdraw(_ key: ServiceRecord.Key) {}

  func browse(for type: ServiceType) {
    if browsed.insert(type).inserted { browsedChanged() }
  }

  func stopBrowsing(for type: ServiceType) {
    if browsed.remove(type) != nil { browsedChanged() }
  }

  private func browsedChanged() {
    reactor.soon { [weak self] in
      guard let self else { return }
      discovery.browse(!browsed.isEmpty, at: now)
      proceed()
      for host in hosts.keys { show(host) }
    }
  }

  func standing(of key: ServiceRecord.Key) -> DiscoveryStanding? { standing }

  func standing(ofSearchFor type: ServiceType) -> DiscoveryStanding? {
    if case .failed(_, isOutage: false)? = standing { .active } else { standing }
  }

  /// No host answers probes here: a record lasts until inquiries and searches miss it.
  func probe(_ record: SeenID) {}

  private var now: Instant { Instant(nanoseconds: Int64(Reactor.now)) }

  /// Performs what the discovery wants, and sets its timer.
  private func proceed() {
    for action in discovery.takeActions() {
      switch action {
      case .inquire(let units): process?.send(.inquire(units: units))
      case .search(let device): search(device)
      case .show(let host, let devices):
        hosts[host] = devices.map(Self.address(of:))
        show(host, isNew: true)
      case .hide(let host):
        hosts[host] = nil
        show(host)
      }
    }
    if let timer { reactor.cancel(timer) }
    timer = discovery.deadline.map { deadline in
      reactor.schedule(at: UInt64(max(0, deadline.nanoseconds))) { [unowned self] in
        timer = nil
        discovery.advance(at: now)
        proceed()
      }
    }
  }

  private func search(_ device: BluetoothAddress) {
    var others = routes.orderNear(device)[...]
    // Without any, the discovery has been stopped.
    guard let adapter = others.popFirst() else { return }
    search = Search(
      device: device, adapter: adapter, others: others, limit: now + BluetoothDiscovery.searchTimeMax)
    process?.send(.search(device, from: adapter))
  }

  private func searched(_ device: BluetoothAddress, from adapter: BluetoothAddress, _ hosts: [HostID]?) {
    guard var search, search.device == device, search.adapter == adapter else { return }
    if hosts != nil {
      routes.reached(device, from: adapter)
    } else {
      routes.missed(device, from: adapter)
      if now < search.limit, let next = search.others.popFirst() {
        search.adapter = next
        self.search = search
        process?.send(.search(device, from: next))
        return
      }
    }
    self.search = nil
    discovery.searched(device, hosts, at: now)
  }

  /// Reports a host for each type that is browsed, and as gone for the others.
  private func show(_ host: HostID, isNew: Bool = false) {
    for (place, id) in shown where place.host == host && (hosts[host] == nil || !browsed.contains(place.type)) {
      shown[place] = nil
      owner?.gone(id, by: self)
    }
    guard let addresses = hosts[host] else { return }
    for type in browsed {
      let place = Shown(host: host, type: type)
      if shown[place] != nil, !isNew { continue }
      if shown[place] == nil { lastID += 1 }
      let id = shown[place] ?? SeenID(rawValue: lastID)
      shown[place] = id
      owner?.seen(id, .roster(host: host), as: type, at: addresses, by: self)
    }
  }

  // MARK: The process

  private func handle(_ event: BluetoothProcess.Event) {
    switch event {
    case .began:
      process?.send(.serve(host, adapter: adapter))
    case .ended:
      search = nil
      discovery.interrupt()
      failDials()
      pairings?.endAll()
    case .failed(let trouble):
      search = nil
      discovery.stop()
      failDials()
      pairings?.endAll()
      set(BluetoothState(), .failed(trouble, isOutage: true))
    case .report(let report, let socket):
      handle(report, socket)
    }
    proceed()
  }

  private func handle(_ report: BluetoothReport, _ box: DescriptorBox?) {
    let socket = box?.take()
    switch report {
    case .state(let state):
      let trouble = state.trouble
      let isOutage = state.addresses.isEmpty
      set(state, trouble.map { .failed($0, isOutage: isOutage) } ?? .active)
      if isOutage { discovery.stop() } else { discovery.start(at: now) }
    case .seen(let device, let deviceClass, let adapters):
      // Adapters of one machine see each other.
      if state.addresses.contains(device) { break }
      discovery.seen(device, deviceClass: deviceClass)
      routes.saw(device, at: adapters)
    case .inquired(let succeeded):
      discovery.inquired(succeeded: succeeded, at: now)
    case .searched(let device, let adapter, let hosts):
      searched(device, from: adapter, hosts)
    case .accepted(let device, let adapter):
      guard let socket = Self.usable(socket), let owner else { break }
      routes.reached(device, from: adapter)
      // One that left before it could be watched is ignored.
      try? handshakes.take(socket, for: owner.linkOwner(over: self))
      discovery.noticed(device, at: now)
    case .connected(let ticket):
      guard let (dial, place) = dials.removeValue(forKey: ticket) else { break }
      routes.reached(place.device, from: place.adapter)
      dial.connected(Self.usable(socket))
    case .failed(let ticket, let code):
      guard let (dial, place) = dials.removeValue(forKey: ticket) else { break }
      // A device that answers without the host has been reached.
      if code == ENOENT {
        routes.reached(place.device, from: place.adapter)
      } else {
        routes.missed(place.device, from: place.adapter)
      }
      dial.connected(nil)
      discovery.noticed(place.device, at: now)
    case .pairingAsked(let question): pairings?.asked(question)
    case .pairingEnded(let id, let end): pairings?.ended(id, end)
    }
  }

  /// A stream socket that does not block, whatever came; a link finds out who is at its other end.
  private static func usable(_ socket: consuming Descriptor?) -> Descriptor? {
    guard let socket, socket.isStreamSocket else { return nil }
    return try? .given(socket.release())
  }

  /// Says whether a device may be paired; false where no such question of this medium is open.
  func answerPairing(_ number: UInt64, isAccepted: Bool) -> Bool {
    pairings?.answer(number, isAccepted: isAccepted) ?? false
  }

  private func set(_ state: BluetoothState, _ standing: DiscoveryStanding) {
    let (oldState, oldStanding) = (self.state, self.standing)
    self.state = state
    self.standing = standing
    routes.use(state.addresses)
    if state.addresses != oldState.addresses { owner?.addressesChanged(of: self) }
    guard standing != oldStanding else { return }
    if case .failed(let trouble, isOutage: true) = standing {
      owner?.outageChanged(to: trouble, of: self)
    } else {
      owner?.outageChanged(to: nil, of: self)
    }
    owner?.standingChanged(of: nil)
  }

  // MARK: Links

  func dial(
    _ host: HostID, at addresses: [Address], for owner: any SecureLinkOwner, failed: @escaping () -> Void
  ) -> any MediumDial {
    PlaceDial(
      of: host, at: routes.places(of: addresses.compactMap(Self.device(of:))), within: Self.dialTimeMax, context,
      limits: Self.linkLimits, on: reactor, owner: owner,
      connect: { [weak self] dial, place in
        if let self { connect(to: place, of: host, for: dial) } else { dial.connected(nil) }
      },
      joining: { [weak self] address in
        Self.device(of: address).flatMap { self?.routes.places(of: [$0]) } ?? []
      }, failed: failed)
  }

  private func connect(to place: BluetoothPlace, of host: HostID, for dial: PlaceDial<BluetoothPlace>) {
    guard routes.adapters.contains(place.adapter), dials.count < Self.dialsMax, let process else {
      return reactor.soon { dial.connected(nil) }
    }
    lastTicket += 1
    let ticket = lastTicket
    dials[ticket] = (dial, place)
    process.send(.connect(ticket: ticket, place.device, host, from: place.adapter))
    reactor.schedule(after: Self.dialTimeMax) { [weak self] in self?.forget(ticket) }
  }

  /// The answer is overdue, or nobody waits for it any more.
  private func forget(_ ticket: UInt64) {
    guard dials[ticket] != nil else { return }
    process?.send(.cancel(ticket: ticket))
    dials.removeValue(forKey: ticket)?.dial.connected(nil)
  }

  private func failDials() {
    let failed = dials.values
    dials = [:]
    for (dial, _) in failed { dial.connected(nil) }
  }

  func datagrams(of link: SecureLink, for owner: any DatagramPathOwner) -> DatagramPath? { nil }
}
