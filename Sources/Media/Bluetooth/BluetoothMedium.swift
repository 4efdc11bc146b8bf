internal import BluetoothProtocol
internal import Engine
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
  private var dials: [UInt64: (dial: PlaceDial<BluetoothAddress>, device: BluetoothAddress)] = [:]
  private var lastTicket: UInt64 = 0
  private var pairings: BluetoothPairings?

  private struct Shown: Hashable {
    let host: HostID
    let type: ServiceType
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

  var addresses: [Address] { state.addresses.map(Self.address(of:)) }

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
      case .search(let device): process?.send(.search(device))
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
      discovery.interrupt()
      failDials()
      pairings?.endAll()
    case .failed(let trouble):
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
    case .seen(let device, let deviceClass):
      if !state.addresses.contains(device) { discovery.seen(device, deviceClass: deviceClass) }
    case .inquired(let succeeded):
      discovery.inquired(succeeded: succeeded, at: now)
    case .searched(let device, let hosts):
      discovery.searched(device, hosts, at: now)
    case .accepted(let device):
      guard let socket = Self.usable(socket), let owner else { break }
      // One that left before it could be watched is ignored.
      try? handshakes.take(socket, for: owner.linkOwner(over: self))
      discovery.noticed(device, at: now)
    case .connected(let ticket):
      dials.removeValue(forKey: ticket)?.dial.connected(Self.usable(socket))
    case .failed(let ticket, _):
      guard let failed = dials.removeValue(forKey: ticket) else { break }
      failed.dial.connected(nil)
      discovery.noticed(failed.device, at: now)
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
      of: host, at: addresses.compactMap(Self.device(of:)), within: Self.dialTimeMax, context, limits: Self.linkLimits,
      on: reactor, owner: owner,
      connect: { [weak self] dial, device in
        if let self { connect(to: device, of: host, for: dial) } else { dial.connected(nil) }
      },
      place: Self.device(of:), failed: failed)
  }

  private func connect(to device: BluetoothAddress, of host: HostID, for dial: PlaceDial<BluetoothAddress>) {
    guard !state.addresses.isEmpty, dials.count < Self.dialsMax, let process else {
      return reactor.soon { dial.connected(nil) }
    }
    lastTicket += 1
    let ticket = lastTicket
    dials[ticket] = (dial, device)
    process.send(.connect(ticket: ticket, device, host))
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
