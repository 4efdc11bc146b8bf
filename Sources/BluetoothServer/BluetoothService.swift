public import BluetoothProtocol
internal import DBus
internal import Glibc
public import Reactor
internal import Wire

/// The work for one host: keeps its record and its listening socket, and does what it commands.
///
/// Everything has a deadline and a limit: the host may be as hostile as any device.
public final class BluetoothService: @unchecked Sendable {
  // `@unchecked`: it is touched on its reactor's thread alone, which is the main one.

  private static let searchesMax = 4
  private static let connectsMax = 16
  /// The interval of looks at the adapters without D-Bus, and with it.
  private static let unfollowedInterval: Duration = .seconds(3)
  private static let followedInterval: Duration = .seconds(60)
  /// Changes come together.
  private static let settlingTime: Duration = .milliseconds(100)
  private static let acceptsPerTurnMax = 8
  /// Adapters of one machine find the same devices; so many inquire within the 25 seconds for which a host waits.
  private static let inquiringMax = 4
  /// Half of the reports that the connection holds.
  private static let seenMax = 128

  private let reactor: Reactor
  private let host: HostConnection
  private let system: any BluetoothSystem
  private let busPath: String
  private var id: HostID?
  private var adapterName: String?
  private var adapters: [Adapter] = []
  private var state: BluetoothState?
  private var look: Timer?
  private var isLookDue = false
  private var listener: Descriptor?
  /// The address at which it listens.
  private var listened: BluetoothAddress?
  private var accepting: Registration?
  private var keeper: RecordKeeper?
  private var agent: PairingAgent?
  private var isInquiring = false
  private var searches: [BluetoothAddress: HostSearch] = [:]
  private var connects: [UInt64: HostConnect] = [:]

  /// The bus is the system's, unless a path names another one.
  public init(
    by system: any BluetoothSystem, overBusAt busPath: String? = nil, reporting host: HostConnection,
    on reactor: Reactor
  ) {
    self.host = host
    self.reactor = reactor
    self.system = system
    self.busPath = busPath ?? BusConnection.systemPath
  }

  public func handle(_ command: BluetoothCommand) {
    switch command {
    case .serve(let id, let adapter):
      guard self.id == nil else { break }
      self.id = id
      adapterName = adapter
      update()
      agent = PairingAgent(
        of: id, overBusAt: busPath, on: reactor, search: { [unowned self] in searchForHosts(of: $0, done: $1) },
        report: { [unowned self] in self.host.send($0) })
    case .inquire(let units): inquire(units)
    case .search(let device): search(device)
    case .connect(let ticket, let device, let id): connect(ticket, to: device, of: id)
    case .cancel(let ticket): connects.removeValue(forKey: ticket)?.cancel()
    case .answerPairing(let id, let isAccepted): agent?.answer(id, isAccepted: isAccepted)
    }
  }

  // MARK: Adapters

  private var usable: [Adapter] { adapters.filter(\.isUp) }

  /// The address of this end: of the adapter that was named, else whichever the kernel takes.
  private var ownAddress: BluetoothAddress? { adapterName == nil ? .any : adapters.first?.address }

  /// Signals may come without end, and do not put off a look that is due.
  private func updateSoon() {
    if isLookDue { return }
    isLookDue = true
    if let look { reactor.cancel(look) }
    look = reactor.schedule(after: Self.settlingTime) { [unowned self] in update() }
  }

  /// Looks at the adapters, and reports what has changed.
  private func update() {
    isLookDue = false
    if let look { reactor.cancel(look) }
    look = reactor.schedule(after: keeper?.followsAdapters == true ? Self.followedInterval : Self.unfollowedInterval) {
      [unowned self] in
      update()
    }
    adapters = system.adapters.filter { adapterName == nil || $0.name == adapterName }
    listen()
    let addresses = usable.prefix(BluetoothState.adaptersMax).map(\.address)
    let now = BluetoothState(addresses: Array(addresses), fault: fault)
    if now == state { return }
    state = now
    host.send(.state(now))
  }

  private var fault: BluetoothState.Fault? {
    guard system.canHaveSockets else { return .noSockets }
    guard !adapters.isEmpty else { return .noAdapter }
    guard !usable.isEmpty else { return adapters.contains(where: \.isBlocked) ? .isBlocked : .isDown }
    guard keeper?.isRegistered == true else { return .isNotAnnounced }
    return usable.contains(where: \.isDiscoverable) ? nil : .isNotDiscoverable
  }

  // MARK: Connections that come in

  /// Begins to listen, once there is something to listen at, and anew where that has another address. The socket outlives its
  /// adapter.
  private func listen() {
    guard let id, let ownAddress, listened != ownAddress else { return }
    stopListening()
    do throws(SystemError) {
      let socket = try system.listeningForRFCOMM(at: ownAddress)
      let channel = try system.channel(of: socket)
      accepting = try reactor.register(socket, for: .readable) { [unowned self] _ in accept() }
      listener = consume socket
      listened = ownAddress
      keeper = RecordKeeper(HostRecord(id, channel: channel), by: system, overBusAt: busPath, on: reactor) {
        [unowned self] in
        updateSoon()
      }
    } catch {
      // The next look tries again; until then the host is not announced.
    }
  }

  private func stopListening() {
    keeper = nil
    if let accepting { reactor.deregister(accepting) }
    accepting = nil
    listener = nil
    listened = nil
  }

  private func accept() {
    for _ in 0..<Self.acceptsPerTurnMax {
      do throws(SystemError) {
        guard let socket = try listener?.acceptLocal() else { return }
        // One that has gone again has no address.
        if let device = try? system.device(of: socket) { host.send(.accepted(device), passing: socket.number) }
      } catch {
        // One that has gone again. Anything else would come at once again, so it waits.
        if error.code == ECONNABORTED { continue }
        return pauseAccepting()
      }
    }
  }

  private func pauseAccepting() {
    guard let accepting else { return }
    reactor.update(accepting, to: [])
    // It does nothing to one that has ended.
    reactor.schedule(after: .seconds(1)) { [unowned self] in reactor.update(accepting, to: .readable) }
  }

  // MARK: Commands

  private func inquire(_ units: UInt8) {
    guard !isInquiring, !usable.isEmpty else { return host.send(.inquired(succeeded: false)) }
    isInquiring = true
    system.inquire(on: usable.prefix(Self.inquiringMax).map(\.number), units: units) { [weak self] devices in
      guard let self else { return }
      isInquiring = false
      var seen: Set<BluetoothAddress> = []
      for device in devices ?? [] where seen.count < Self.seenMax && seen.insert(device.address).inserted {
        host.send(.seen(device.address, deviceClass: device.deviceClass))
      }
      host.send(.inquired(succeeded: devices != nil))
    }
  }

  private func search(_ device: BluetoothAddress) {
    guard searches[device] == nil, searches.count < Self.searchesMax, let ownAddress else {
      return host.send(.searched(device, nil))
    }
    searches[device] = HostSearch(of: device, from: ownAddress, by: system, on: reactor) { [unowned self] records in
      searches[device] = nil
      host.send(.searched(device, records?.map(\.host)))
    }
  }

  private func searchForHosts(of device: BluetoothAddress, done: @escaping (Bool) -> Void) -> HostSearch {
    HostSearch(of: device, from: ownAddress ?? .any, by: system, on: reactor) { done($0?.isEmpty == false) }
  }

  private func connect(_ ticket: UInt64, to device: BluetoothAddress, of id: HostID) {
    guard connects[ticket] == nil, connects.count < Self.connectsMax, let ownAddress else {
      return host.send(.failed(ticket: ticket, code: EBUSY))
    }
    connects[ticket] = HostConnect(to: device, of: id, from: ownAddress, by: system, on: reactor) {
      [unowned self] socket, code in
      connects[ticket] = nil
      if let socket {
        host.send(.connected(ticket: ticket), passing: socket)
      } else {
        host.send(.failed(ticket: ticket, code: code))
      }
    }
  }
}
