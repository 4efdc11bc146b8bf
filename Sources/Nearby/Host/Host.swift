internal import Media
internal import Wire

/// This program on the network: it carries peers, finds others and connects with them, on a thread of its own.
///
/// ```swift
/// let host = try await Host.start()
/// let ada = try await host.peer(named: "Ada")
/// for await condition in host.conditions { print(ada.name, condition) }
/// ```
public final class Host: Sendable {
  public let id: HostID
  /// The conditions of discovery, addresses and keys. It has one reader.
  public let conditions: Events<Condition>
  /// Warnings about things that work less well than was meant: long names, large info, large unreliable messages. It
  /// has one reader; without one, the first few are kept.
  public let advice: Events<Advice>
  /// Bluetooth devices that want to be paired with this machine, where nobody else on it is asked. It has one reader;
  /// without an answer in time, a device is refused.
  public let bluetoothPairings: Events<BluetoothPairing>
  let keys: KeyStore
  let loop: Loop

  private init(
    _ id: HostID, _ keys: KeyStore, _ conditions: Mailbox<Condition>, _ advice: Mailbox<Advice>,
    _ pairings: Mailbox<BluetoothPairing>, _ loop: Loop
  ) {
    self.id = id
    self.keys = keys
    self.conditions = Events(mailbox: conditions)
    self.advice = Events(mailbox: advice)
    bluetoothPairings = Events(mailbox: pairings)
    self.loop = loop
  }

  deinit {
    loop.post { $0.stop() }
  }

  public static func start(_ options: HostOptions = HostOptions()) async throws(NearbyError) -> Host {
    try await start(options, carrying: nil)
  }

  static func start(
    _ options: HostOptions, with keys: KeyStore? = nil, carrying hostExtension: HostExtension?
  ) async throws(NearbyError) -> Host {
    do {
      let keys = try keys ?? KeyStore(options.keys)
      let store =
        if let writer = hostExtension?.writer { try await HostStore(writer, keys) } else {
          try await HostStore.open(options.store, with: keys)
        }
      let loop = try Loop(pollsBusily: options.pollsBusily)
      let conditions = Mailbox<Condition>(weightMax: HostDriver.conditionsMax)
      let advice = Mailbox<Advice>(weightMax: HostDriver.adviceMax)
      let pairings = Mailbox<BluetoothPairing>(weightMax: HostDriver.pairingsMax)
      let id = try await loop.begin(keys, store, hostExtension, conditions, advice, pairings, options)
      return Host(id, keys, conditions, advice, pairings, loop)
    } catch {
      throw NearbyError(wrapping: error)
    }
  }

  /// The executor of this host's own work. A task that prefers it sends and receives without a change of threads, which
  /// is most of the time that a message and its answer take; while it computes, this host serves nobody. The host
  /// outlives it.
  ///
  /// ```swift
  /// await withTaskExecutorPreference(host.executor) {
  ///   for await event in session.events {
  ///     if case .message(let message) = event { try? await session.send(message.bytes) }
  ///   }
  /// }
  /// ```
  public var executor: any TaskExecutor { loop.reactor }

  /// The addresses at which other hosts reach this one.
  public var addresses: [String] {
    get async { (try? await loop.run { $0.addresses }) ?? [] }
  }

  /// Browses for the service types that peers nearby advertise.
  public func browseTypes() async throws(NearbyError) -> TypeBrowser {
    let types = Mailbox<[String]>(weightMax: 1)
    let number = try await loop.run { $0.browseTypes(types) }
    return TypeBrowser(number, types, loop)
  }

  /// The peer with the identity that is stored under this name, or a new one.
  public func peer(named text: String) async throws(NearbyError) -> Peer {
    let (name, key): (DisplayName, SigningKey)
    do {
      try Peer.check(name: text)
      name = try DisplayName(text)
      let keys = keys
      let checked = name
      key = try await loop.run { $0.disk }.attempt { try keys.peerKey(named: checked) }.get()
    } catch {
      throw NearbyError(wrapping: error)
    }
    let id = try await loop.run { $0.addPeer(key, named: name) }
    return Peer(id: id, name: text, loop)
  }

  /// Leaves all sessions, withdraws all advertisements, and ends.
  public func stop() async {
    await loop.stop(leaving: true)
  }

  /// Ends without leaving, as if it had been killed: a host with a store resumes when it is started again. To the
  /// others its peers are suspended, and lost after a while.
  public func suspend() async {
    await loop.stop(leaving: false)
  }
}
