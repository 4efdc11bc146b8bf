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
  private let inquiries: Inquiries
  private var searches: [Search: HostSearch] = [:]
  private var connects: [UInt64: HostConnect] = [:]

  private struct Search: Hashable {
    let device: BluetoothAddress
    let adapter: BluetoothAddress
  }

  /// The bus is the system's, unless a path names another one.
  public init(
    by system: any BluetoothSystem, overBusAt busPath: String? = nil, reporting host: HostConnection,
    on reactor: Reactor
  ) {
    self.host = host
    self.reactor = reactor
    self.system = system
    self.busPath = busPath ?? BusConnection.systemPath
    inquiries = Inquiries(by: system, on: reactor)
  }

  public func handle(_ command: BluetoothCommand) {
    switch command {
    case .serve(let id, let adapter):
      guard self.id == nil else { break }
      self.id = id
      adapterName = adapter
      update()
      agent = PairingAgent(
        of: id, overBusAt: busPath, on: reactor,
        search: { [unowned self] in searchForHosts(of: $0, fromAdapterNamed: $1, done: $2) },
        report: { [unowned self] in self.host.send($0) })
    case .inquire(let units): inquire(units)
    case .search(let device, let adapter): search(device, from: adapter)
    case .connect(let ticket, let device, let id, let adapter): connect(ticket, to: device, of: id, from: adapter)
    case .cancel(let ticket): connects.removeValue(forKey: ticket)?.cancel()
    case .answerPairing(let id, let isAccepted): agent?.answer(id, isAccepted: isAccepted)
    }
  }

  // MARK: Adapters

  private var usable: [Adapter] { adapters.filter(\.isUp) }

  /// The address at which it should listen: of the adapter that was named, else of all.
  private var listeningAddress: BluetoothAddress? { adapterName == nil ? .any : adapters.first?.address }

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
    guard let id, let listeningAddress, listened != listeningAddress else { return }
    stopListening()
    do throws(SystemError) {
      let socket = try system.listeningForRFCOMM(at: listeningAddress)
      let channel = try system.channel(of: socket)
      accepting = try reactor.register(socket, for: .readable) { [unowned self] _ in accept() }
      listener = consume socket
      listened = listeningAddress
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
        // One that has gone again has no addresses.
        guard let device = try? system.device(of: socket), let adapter = try? system.adapter(of: socket) else {
          continue
        }
        host.send(.accepted(device, at: adapter), passing: socket.number)
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
    inquiries.begin(on: usable, units: units) { [unowned self] devices in
      for device in devices?.prefix(Self.seenMax) ?? [] {
        host.send(.seen(device.address, deviceClass: device.deviceClass, at: device.adapters))
      }
      host.send(.inquired(succeeded: devices != nil))
    }
  }

  /// From an address that is none of an adapter here, the kernel would choose one by itself, or none.
  private func isUsable(_ adapter: BluetoothAddress) -> Bool { usable.contains { $0.address == adapter } }

  private func search(_ device: BluetoothAddress, from adapter: BluetoothAddress) {
    let search = Search(device: device, adapter: adapter)
    // The report of one that goes on is for both.
    guard searches[search] == nil else { return }
    guard isUsable(adapter), searches.count < Self.searchesMax else {
      return host.send(.searched(device, from: adapter, nil))
    }
    searches[search] = HostSearch(of: device, from: adapter, by: system, on: reactor) { [unowned self] records in
      searches[search] = nil
      host.send(.searched(device, from: adapter, records?.map(\.host)))
    }
  }

  /// From the adapter with which the device wants to be paired, whether or not the host uses that.
  private func searchForHosts(
    of device: BluetoothAddress, fromAdapterNamed name: String, done: @escaping (Bool) -> Void
  ) -> HostSearch {
    let adapter = system.adapters.first { $0.name == name }?.address ?? .any
    return HostSearch(of: device, from: adapter, by: system, on: reactor) { done($0?.isEmpty == false) }
  }

  private func connect(
    _ ticket: UInt64, to device: BluetoothAddress, of id: HostID, from adapter: BluetoothAddress
  ) {
    guard isUsable(adapter) else { return host.send(.failed(ticket: ticket, code: ENODEV)) }
    guard connects[ticket] == nil, connects.count < Self.connectsMax else {
      return host.send(.failed(ticket: ticket, code: EBUSY))
    }
    connects[ticket] = HostConnect(to: device, of: id, from: adapter, by: system, on: reactor) {
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
