internal import DBus
internal import Reactor

/// Makes networks without an access point on this machine's Wi-Fi radios, and ends them; on a thread of its own.
///
/// Invariants:
/// - A radio that is connected, or that another program manages, is left alone unless the plan is forced.
/// - A network lasts as long as the program that made it. One that a killed program has left is known by its name or mark,
///   and is ended before the next one on its radio begins, or by a gateway that starts.
/// - One change at a time: another one meanwhile is refused.
package actor RadioControl {
  /// A group takes some seconds, of which the driver's setup is most.
  static let startTimeMax: Duration = .seconds(20)
  private static let endTimeMax: Duration = .seconds(5)
  /// The most frequent look at wpa_supplicant while something is awaited; it also looks after each signal.
  private static let pause: Duration = .milliseconds(250)

  /// A network that this object has made.
  private final class Own {
    let mark: RadioMark
    /// The interface, where wpa_supplicant has it for this network only.
    let taken: String?
    /// Networks to enable again.
    let disabled: [String]
    var addresses: AddressServer?
    /// The password, kept here since wpa_supplicant does not report that of a mesh.
    let password: String?

    init(_ mark: RadioMark, taken: String?, disabled: [String], password: String?) {
      self.mark = mark
      self.taken = taken
      self.disabled = disabled
      self.password = password
    }
  }

  private nonisolated let reactor: Reactor
  private let busPath: String
  private let system: SystemRadios
  private let givesAddresses: Bool
  private let startTimeMax: Duration
  private var supplicant: Supplicant?
  /// The number of requests that use the connection with the bus, and whether the last one closes it: a call that waits on a closed
  /// connection fails.
  private var userCount = 0
  private var isStale = false
  private var own: [String: Own] = [:]
  private var isChanging = false
  private var waiters: [CheckedContinuation<Void, Never>] = []

  package init() throws {
    try self.init(busPath: BusConnection.systemPath, system: SystemRadios(), givesAddresses: true)
  }

  init(
    busPath: String, system: SystemRadios, givesAddresses: Bool, startTimeMax: Duration = RadioControl.startTimeMax
  ) throws {
    self.startTimeMax = startTimeMax
    self.busPath = busPath
    self.system = system
    self.givesAddresses = givesAddresses
    reactor = try Reactor()
    reactor.start()
  }

  /// On the loop, where the connection with the bus ends.
  isolated deinit {
    supplicant?.close()
    supplicant = nil
    reactor.stop()
  }

  package nonisolated var unownedExecutor: UnownedSerialExecutor { reactor.asUnownedSerialExecutor() }

  // MARK: Seeing

  /// Whether this machine has radios at all.
  package static var hasRadios: Bool { !SystemRadios().names.isEmpty }

  /// All radios; and the error, where wpa_supplicant could not be asked for the rest of what is known about them.
  package func radios() async -> (radios: [Radio], error: RadioError?) {
    let names = system.names
    guard !names.isEmpty else { return ([], nil) }
    userCount += 1
    defer { leaveConnection() }
    var radios: [Radio] = []
    do throws(RadioError) {
      let supplicant = try connection()
      // Looking starts no daemon.
      guard try await supplicant.isRunning() else { throw .noSupplicant }
      let interfaces = try await supplicant.interfaces()
      for name in names { radios.append(await radio(name, interfaces, supplicant)) }
      return (radios, nil)
    } catch {
      isStale = true
      return (names.map { Radio(name: $0, state: state(of: $0, isInUse: system.isUp($0), nil)) }, error)
    }
  }

  private func radio(_ name: String, _ all: [Supplicant.Interface], _ supplicant: Supplicant) async -> Radio {
    let interfaces = parts(of: name, all)
    let main = interfaces.first { $0.name == name }
    var network: RadioNetwork?
    if let seen = await supplicant.network(on: interfaces) { network = await shown(seen, on: name, supplicant) }
    var radio = Radio(
      name: name, state: state(of: name, isInUse: main?.isInUse == true || system.isUp(name), network),
      kinds: main?.kinds)
    radio.isManaged = await supplicant.isManaged(name)
    radio.network = network
    return radio
  }

  /// The interfaces of one radio.
  private func parts(of name: String, _ all: [Supplicant.Interface]) -> [Supplicant.Interface] {
    guard let device = system.device(of: name) else { return all.filter { $0.name == name } }
    return all.filter { $0.name == name || system.device(of: $0.name) == device }
  }

  private func state(of name: String, isInUse: Bool, _ network: RadioNetwork?) -> Radio.State {
    system.block(of: name) != nil ? .blocked : network != nil ? .network : isInUse ? .connected : .idle
  }

  private func shown(
    _ network: Supplicant.Network, on name: String, _ supplicant: Supplicant
  ) async -> RadioNetwork {
    let stations = await supplicant.stations(in: network)
    let own = own[name]
    let neighbours = NeighbourTable(network.interface.name)
    return RadioNetwork(
      kind: network.kind, interface: network.interface.name, name: network.name,
      password: network.password ?? own?.password, frequency: network.frequency,
      members: stations?.count ?? network.members,
      isAbandoned: isAbandoned(network, on: name),
      addressing: own?.addresses == nil ? .linkLocal : .dhcp,
      stations: (stations ?? []).compactMap { RadioStation($0, own?.addresses?.holding(of: $0), neighbours) },
      addresses: (SocketAddress.byInterface[network.interface.name] ?? []).compactMap {
        if case .v4 = $0.host { $0.hostText } else { nil }
      })
  }

  private func isAbandoned(_ network: Supplicant.Network, on name: String) -> Bool {
    network.isOwn && own[name] == nil && RadioMark.isFree(name)
  }

  // MARK: Changing

  /// Makes a network, and returns it once it is up.
  package func start(_ plan: RadioPlan) async throws(RadioError) -> (radio: String, network: RadioNetwork) {
    try plan.check()
    let names = system.names
    if names.isEmpty { throw .noRadio }
    if let name = plan.radio, !names.contains(name) { throw .unknownRadio(name, names) }
    guard !isChanging else { throw .busy }
    beginChange()
    defer { endChange() }
    do throws(RadioError) {
      let supplicant = try connection()
      let (name, interface, isNew) = try await choose(plan, among: plan.radio.map { [$0] } ?? names, supplicant)
      do throws(RadioError) {
        return (name, try await make(plan, name, interface, isNew: isNew, supplicant))
      } catch {
        if isNew { await supplicant.release(interface.path) }
        throw error
      }
    } catch {
      isStale = true
      throw error
    }
  }

  private func beginChange() {
    isChanging = true
    userCount += 1
  }

  private func endChange() {
    isChanging = false
    leaveConnection()
  }

  /// The first radio that can do it.
  private func choose(
    _ plan: RadioPlan, among names: [String], _ supplicant: Supplicant
  ) async throws(RadioError) -> (name: String, interface: Supplicant.Interface, isNew: Bool) {
    var failure = RadioError.noRadio
    for name in names {
      do throws(RadioError) {
        let (interface, isNew) = try await take(name, plan, supplicant)
        return (name, interface, isNew)
      } catch {
        failure = error
      }
    }
    throw failure
  }

  private func take(
    _ name: String, _ plan: RadioPlan, _ supplicant: Supplicant
  ) async throws(RadioError) -> (interface: Supplicant.Interface, isNew: Bool) {
    if let block = system.block(of: name) { throw .blocked(name, byHardware: block == .hardware) }
    // A network that a killed program has left would look like a connection.
    let parts = parts(of: name, try await supplicant.interfaces())
    if let network = await supplicant.network(on: parts) {
      let shown = await shown(network, on: name, supplicant)
      guard shown.isAbandoned else { throw .taken(name, shown) }
      try await end(network, on: name, supplicant)
    }
    if !plan.isForced {
      if await supplicant.isManaged(name) { throw .managed(name) }
      if parts.isEmpty, system.isUp(name) { throw .connected(name) }
    }
    let (interface, isNew) = try await supplicant.take(name)
    do throws(RadioError) {
      guard interface.kinds.contains(plan.kind) else { throw .unsupported(name, plan.kind) }
      if !plan.isForced, interface.isInUse { throw .connected(name) }
    } catch {
      if isNew { await supplicant.release(interface.path) }
      throw error
    }
    return (interface, isNew)
  }

  private func make(
    _ plan: RadioPlan, _ name: String, _ interface: Supplicant.Interface, isNew: Bool, _ supplicant: Supplicant
  ) async throws(RadioError) -> RadioNetwork {
    guard let mark = RadioMark.claim(name) else { throw .busy }
    var disabled: [String] = []
    var added: String?
    switch plan.kind {
    case .group:
      try await supplicant.addGroup(on: interface, frequency: plan.frequency)
    case .mesh:
      disabled = await supplicant.enabledNetworks(of: interface)
      added = try await supplicant.joinMesh(plan, on: interface)
    }
    let own = Own(mark, taken: isNew ? interface.path : nil, disabled: disabled, password: plan.password)
    let made = await waitFor(startTimeMax) { () -> Supplicant.Network? in
      let parts = parts(of: name, (try? await supplicant.interfaces()) ?? [])
      guard let network = await supplicant.network(on: parts), network.isOwn, network.kind == plan.kind else {
        return nil
      }
      return network
    }
    guard let made else {
      if let added { await supplicant.removeNetwork(added, of: interface) }
      await supplicant.enable(disabled)
      throw .late(name, plan.kind)
    }
    if plan.kind == .group, givesAddresses { own.addresses = AddressServer(on: made.interface.name, reactor) }
    self.own[name] = own
    return await shown(made, on: name, supplicant)
  }

  /// Ends the network of a radio, whoever has made it; or all of this program's that there are, and those that killed ones
  /// have left. Returns the radios.
  package func stop(_ radio: String?) async throws(RadioError) -> [String] {
    guard !isChanging else { throw .busy }
    beginChange()
    defer { endChange() }
    let names = system.names
    if let radio, !names.contains(radio) { throw .unknownRadio(radio, names) }
    if names.isEmpty { throw .noRadio }
    let supplicant = try connection()
    let interfaces = try await supplicant.interfaces()
    var stopped: [String] = []
    for name in radio.map({ [$0] }) ?? names {
      guard let network = await supplicant.network(on: parts(of: name, interfaces)), radio != nil || network.isOwn
      else {
        continue
      }
      try await end(network, on: name, supplicant)
      stopped.append(name)
    }
    isStale = true
    return stopped
  }

  /// Ends networks that killed programs have left, and returns their radios. It is silent where it cannot: whoever makes a network
  /// is told.
  package func stopAbandoned() async -> [String] {
    guard !isChanging else { return [] }
    beginChange()
    defer { endChange() }
    var stopped: [String] = []
    if let supplicant = try? connection(), (try? await supplicant.isRunning()) == true,
      let interfaces = try? await supplicant.interfaces()
    {
      for name in system.names {
        guard let network = await supplicant.network(on: parts(of: name, interfaces)), isAbandoned(network, on: name),
          (try? await end(network, on: name, supplicant)) != nil
        else { continue }
        stopped.append(name)
      }
    }
    isStale = true
    return stopped
  }

  /// Ends what this object has made.
  package func stopOwn() async {
    userCount += 1
    defer { leaveConnection() }
    for name in own.keys { _ = try? await stop(name) }
    isStale = true
  }

  private func end(
    _ network: Supplicant.Network, on name: String, _ supplicant: Supplicant
  ) async throws(RadioError) {
    try await supplicant.end(network)
    _ = await waitFor(Self.endTimeMax) { () -> Bool? in
      let parts = parts(of: name, (try? await supplicant.interfaces()) ?? [])
      return await supplicant.network(on: parts) == nil ? true : nil
    }
    await forget(name, supplicant)
  }

  private func forget(_ name: String, _ supplicant: Supplicant) async {
    guard let own = own.removeValue(forKey: name) else { return }
    own.addresses?.close()
    await supplicant.enable(own.disabled)
    if let path = own.taken { await supplicant.release(path) }
  }

  // MARK: Waiting

  /// Returns once a network that this object has made is gone: ended by others, or with wpa_supplicant.
  package func waitForEnd(of name: String) async {
    userCount += 1
    defer { leaveConnection() }
    while own[name] != nil, !Task.isCancelled, let supplicant {
      let parts = parts(of: name, (try? await supplicant.interfaces()) ?? [])
      if await supplicant.network(on: parts)?.isOwn != true {
        if !isChanging { await forget(name, supplicant) }
        return
      }
      await waitForChange(.seconds(5))
    }
  }

  /// The first answer that is not nil, or nil after the time.
  private func waitFor<Value>(_ time: Duration, _ look: () async -> Value?) async -> Value? {
    let end = Reactor.now + UInt64(time / .nanoseconds(1))
    while true {
      if let value = await look() { return value }
      if Reactor.now >= end { return nil }
      await waitForChange(Self.pause)
    }
  }

  /// Returns after the next signal of wpa_supplicant, or after the time.
  private func waitForChange(_ time: Duration) async {
    let timer = reactor.schedule(after: time) { [weak self] in self?.assumeIsolated { $0.wake() } }
    await withCheckedContinuation { waiters.append($0) }
    reactor.cancel(timer)
  }

  private func wake() {
    let woken = waiters
    waiters = []
    for waiter in woken { waiter.resume() }
  }

  private func connection() throws(RadioError) -> Supplicant {
    if let supplicant { return supplicant }
    let new = try Supplicant(at: busPath, on: reactor)
    new.onChange = { [weak self] in self?.assumeIsolated { $0.wake() } }
    supplicant = new
    return new
  }

  /// The last one closes it, where something has failed or ended and no network of this object needs it.
  private func leaveConnection() {
    userCount -= 1
    guard userCount == 0, isStale, own.isEmpty else { return }
    isStale = false
    supplicant?.close()
    supplicant = nil
  }
}
