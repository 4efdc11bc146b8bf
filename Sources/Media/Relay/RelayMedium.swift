internal import Engine
internal import Reactor
internal import Wire

/// Circuits through relays as a medium: links, with TLS from end to end, to hosts that no other medium leads to.
///
/// It finds nobody: the engine asks relays for the hosts that they receive. A circuit is a pipe of the engine, and here a pair of
/// sockets, since a link runs over a socket.
///
/// It belongs to its reactor's thread.
final class RelayMedium: Medium {
  /// The beginning of each address; the relay's ID follows.
  static let scheme = "via:"
  /// The time for all relays of a dial. Each has six seconds to open a circuit, by the engine, and then those of a handshake.
  private static let dialTimeMax: Duration = .seconds(20)
  private static var linkLimits: SecureLink.Limits {
    var limits = SecureLink.Limits()
    limits.handshakeTime = .seconds(5)
    // So that a message does not wait behind more than a window of a file.
    limits.unsentBytesMax = 16 << 10
    limits.batchBytesMax = 8 << 10
    return limits
  }

  private enum Event {
    case opened(CircuitID, isDialed: Bool)
    case bytes(CircuitID, [UInt8])
    case writable(CircuitID)
    case ended(CircuitID)
  }

  let id: MediumID
  private let reactor: Reactor
  private let context: LinkContext
  private let handshakes: HandshakeQueue
  private weak var owner: (any MediumOwner)?
  private weak var driver: (any EngineDriver)?
  private var dials: [CircuitID: (dial: PlaceDial<HostID>, owner: any SecureLinkOwner)] = [:]
  private var pipes: [CircuitID: CircuitPipe] = [:]
  /// The engine's outputs of this turn: what they lead to calls the engine.
  private var events: [Event] = []
  private var isClosed = false

  init(
    as id: MediumID, _ context: LinkContext, on reactor: Reactor, owner: any MediumOwner, driver: any EngineDriver
  ) {
    self.id = id
    self.reactor = reactor
    self.context = context
    self.owner = owner
    self.driver = driver
    handshakes = HandshakeQueue(context, on: reactor, linkLimits: Self.linkLimits)
  }

  func close() {
    isClosed = true
    handshakes.close()
    for (dial, _) in dials.values { dial.cancel() }
    dials = [:]
  }

  // MARK: Addresses

  func owns(_ address: Address) -> Bool { Self.relay(of: address) != nil }

  /// No other host is told by which relays this one is reached: it asks its own.
  var addresses: [Address] { [] }

  private static func relay(of address: Address) -> HostID? {
    let text = address.description
    return text.hasPrefix(scheme) ? try? HostID(text: String(text.dropFirst(scheme.count))) : nil
  }

  // MARK: Discovery

  func publish(_ announcement: Announcement, as type: ServiceType) {}
  func withdraw(_ key: ServiceRecord.Key) {}
  func browse(for type: ServiceType) {}
  func stopBrowsing(for type: ServiceType) {}
  func standing(of key: ServiceRecord.Key) -> DiscoveryStanding? { nil }
  func standing(ofSearchFor type: ServiceType) -> DiscoveryStanding? { nil }
  func probe(_ record: SeenID) {}

  // MARK: Circuits

  /// Takes the engine's outputs of circuits.
  func handle(_ output: Output) {
    if events.isEmpty { reactor.soon { [weak self] in self?.proceed() } }
    switch output {
    case .circuitOpened(let id, let isDialed): events.append(.opened(id, isDialed: isDialed))
    case .circuitBytes(let id, let payload): events.append(.bytes(id, payload.bytes))
    case .circuitWritable(let id): events.append(.writable(id))
    case .circuitEnded(let id, _): events.append(.ended(id))
    default: preconditionFailure("\(output) is none of a circuit")
    }
  }

  private func proceed() {
    let due = events
    events = []
    for event in due {
      switch event {
      case .opened(let id, let isDialed): opened(id, isDialed: isDialed)
      case .bytes(let id, let bytes): pipes[id]?.receive(bytes)
      case .writable(let id): pipes[id]?.resume()
      case .ended(let id):
        pipes[id]?.end()
        dials.removeValue(forKey: id)?.dial.connected(nil)
      }
    }
  }

  private func opened(_ id: CircuitID, isDialed: Bool) {
    let dialed = dials.removeValue(forKey: id)
    do throws(SystemError) {
      guard !isClosed, isDialed == (dialed != nil), let owner = dialed?.owner ?? owner?.linkOwner(over: self) else {
        return end(id)
      }
      let pair = try Descriptor.pair()
      let pipe = try CircuitPipe(id, pair.ours, on: reactor, driver: driver) { [weak self] in self?.pipes[$0.id] = nil }
      for former in pipes.values where former.owner === owner { former.owner = nil }
      pipe.owner = owner
      pipes[id] = pipe
      if let dialed { dialed.dial.connected(pair.theirs) } else { try handshakes.take(pair.theirs, for: owner) }
    } catch {
      // No descriptor is left.
      pipes[id] = nil
      end(id)
      dialed?.dial.connected(nil)
    }
  }

  private func end(_ id: CircuitID) { driver?.call { $0.endCircuit(id, at: $1) } }

  func circuit(of owner: any SecureLinkOwner) -> CircuitID? { pipes.values.first { $0.owner === owner }?.id }

  // MARK: Links

  func dial(
    _ host: HostID, at addresses: [Address], for owner: any SecureLinkOwner, failed: @escaping () -> Void
  ) -> any MediumDial {
    PlaceDial(
      of: host, at: addresses.compactMap(Self.relay(of:)), within: Self.dialTimeMax, context, limits: Self.linkLimits,
      on: reactor, owner: owner,
      connect: { [weak self] dial, relay in
        guard let self, !isClosed, let driver,
          let id = driver.call({ $0.openCircuit(to: host, through: relay, at: $1) })
        else { return dial.connected(nil) }
        dials[id] = (dial, owner)
      },
      joining: { Self.relay(of: $0).map { [$0] } ?? [] }, failed: failed)
  }

  func datagrams(of link: SecureLink, for owner: any DatagramPathOwner) -> DatagramPath? { nil }
}
