internal import Engine
internal import Reactor
internal import Wire

/// A shared folder as a medium, for programs of one machine that see it, in several containers or of several users:
/// each host has a socket and a record there.
///
/// It belongs to its reactor's thread.
final class FolderMedium: Medium {
  /// The beginning of each address.
  static let scheme = "folder:"
  private static let dialTimeMax: Duration = .seconds(10)

  let id: MediumID
  private let reactor: Reactor
  private let host: HostID
  private let context: LinkContext
  private let handshakes: HandshakeQueue
  private weak var owner: (any MediumOwner)?
  private var thread: FolderThread?
  /// The name of this host in the folder; nil while there is no folder.
  private var name: FolderName?
  private var listener: Listener?
  private var trouble: DiscoveryStanding?
  private var published: [ServiceRecord.Key: FolderRecord.Entry] = [:]
  private var mustPublish = false
  private var browsed: Set<ServiceType> = []
  private var records: [FolderName: FolderRecord] = [:]
  private var shown: [FolderName: [FolderRecord.Entry: SeenID]] = [:]
  private var names: [SeenID: FolderName] = [:]
  private var lastID: UInt64 = 0
  private var dials: [UInt64: PlaceDial<UInt32>] = [:]
  private var lastTicket: UInt64 = 0

  init(
    _ path: String, as id: MediumID, host: HostID, _ context: LinkContext, on reactor: Reactor, owner: any MediumOwner
  ) throws(SystemError) {
    self.id = id
    self.reactor = reactor
    self.host = host
    self.context = context
    self.owner = owner
    handshakes = HandshakeQueue(context, on: reactor)
    thread = try FolderThread(path, host, on: reactor) { [unowned self] in handle($0) }
  }

  deinit { close() }

  /// Throws where no host could meet others there: a dry run.
  static func check(_ path: String) throws(Trouble) { _ = try FolderPlace(path) }

  func close() {
    thread?.close()
    thread = nil
    listener = nil
    handshakes.close()
    for dial in dials.values { dial.cancel() }
  }

  // MARK: Addresses

  func owns(_ address: Address) -> Bool { Self.nonce(of: address) != nil }

  var addresses: [Address] { name.map { [Self.address(of: $0)] } ?? [] }

  /// The number alone, since a dial names the host. It stays the same when the folder goes and comes back, and is tried
  /// in each folder that the other host has.
  private static func address(of name: FolderName) -> Address {
    // It has fifteen bytes.
    try! Address(text: scheme + name.nonceText)
  }

  private static func nonce(of address: Address) -> UInt32? {
    let text = address.description
    return text.hasPrefix(scheme) ? FolderName.nonce(text.dropFirst(scheme.count)) : nil
  }

  // MARK: Discovery

  func publish(_ announcement: Announcement, as type: ServiceType) {
    let entry = FolderRecord.Entry(type: type, announcement: announcement)
    published[entry.key] = entry
    publishSoon()
  }

  func withdraw(_ key: ServiceRecord.Key) {
    if published.removeValue(forKey: key) != nil { publishSoon() }
  }

  /// Changes that come together are one.
  private func publishSoon() {
    if mustPublish { return }
    mustPublish = true
    reactor.soon { [weak self] in
      guard let self else { return }
      mustPublish = false
      var record = FolderRecord()
      record.entries = published.values.sorted { ($0.type.text, $0.key.name) < ($1.type.text, $1.key.name) }
      thread?.publish(record)
    }
  }

  func browse(for type: ServiceType) {
    if browsed.insert(type).inserted { reactor.soon { [weak self] in self?.showAll() } }
  }

  func stopBrowsing(for type: ServiceType) {
    if browsed.remove(type) != nil { reactor.soon { [weak self] in self?.showAll() } }
  }

  func standing(of key: ServiceRecord.Key) -> DiscoveryStanding? { trouble ?? (name == nil ? nil : .active) }

  func standing(ofSearchFor type: ServiceType) -> DiscoveryStanding? {
    if case .failed(_, isOutage: true)? = trouble { return trouble }
    return name == nil ? nil : .active
  }

  func probe(_ record: SeenID) {
    if let name = names[record] { thread?.check(name) }
  }

  private func handle(_ event: FolderEvent) {
    switch event {
    case .opened(let name, let socket):
      self.name = name
      trouble = nil
      listen(at: socket)
      owner?.addressesChanged(of: self)
      owner?.outageChanged(to: nil, of: self)
      owner?.standingChanged(of: nil)
    case .failed(let trouble):
      name = nil
      self.trouble = .failed(trouble, isOutage: true)
      listener = nil
      for name in records.keys { forget(name) }
      owner?.cut(over: self)
      owner?.addressesChanged(of: self)
      owner?.outageChanged(to: trouble, of: self)
      owner?.standingChanged(of: nil)
    case .published(let trouble):
      let standing = trouble.map { DiscoveryStanding.failed($0, isOutage: false) }
      if standing == self.trouble { break }
      self.trouble = standing
      owner?.standingChanged(of: nil)
    case .seen(let name, let record):
      if name.host == host {
        // A dead host's record is not reported: another one has this host's key.
        owner?.suspectsTwin(at: Self.address(of: name), by: self)
        break
      }
      records[name] = record
      show(name)
    case .gone(let name):
      forget(name)
    case .alive(let name):
      for id in shown[name]?.values ?? [:].values { owner?.answered(id, by: self) }
    case .connected(let ticket, let socket):
      dials.removeValue(forKey: ticket)?.connected(socket?.take())
    }
  }

  private func showAll() {
    for name in records.keys { show(name) }
  }

  /// Reports the records of a host that somebody here looks for, and those that are gone.
  private func show(_ name: FolderName) {
    let wanted = Set(records[name]?.entries.filter { browsed.contains($0.type) } ?? [])
    let old = shown[name] ?? [:]
    var now: [FolderRecord.Entry: SeenID] = [:]
    for entry in wanted {
      // The same peer or host, whatever it says of itself by now.
      let id = old.first { $0.key.key == entry.key }?.value ?? nextID()
      now[entry] = id
      if old[entry] != nil { continue }
      names[id] = name
      owner?.seen(id, entry.announcement, as: entry.type, at: [Self.address(of: name)], by: self)
    }
    for id in Set(old.values).subtracting(now.values) { remove(id) }
    shown[name] = now.isEmpty ? nil : now
  }

  private func forget(_ name: FolderName) {
    records[name] = nil
    for id in shown.removeValue(forKey: name)?.values ?? [:].values { remove(id) }
  }

  private func remove(_ id: SeenID) {
    names[id] = nil
    owner?.gone(id, by: self)
  }

  private func nextID() -> SeenID {
    lastID += 1
    return SeenID(rawValue: lastID)
  }

  // MARK: Links

  private func listen(at box: DescriptorBox) {
    guard let socket = box.take() else { return }
    listener = try? Listener(takingLocal: socket, on: reactor) { [unowned self] in take($0) }
  }

  private func take(_ socket: consuming Descriptor) {
    guard let owner else { return }
    // One that left before it could be watched is ignored.
    try? handshakes.take(socket, for: owner.linkOwner(over: self))
  }

  func dial(
    _ host: HostID, at addresses: [Address], for owner: any SecureLinkOwner, failed: @escaping () -> Void
  ) -> any MediumDial {
    PlaceDial(
      of: host, at: addresses.compactMap(Self.nonce(of:)), within: Self.dialTimeMax, context, on: reactor, owner: owner,
      connect: { [weak self] dial, nonce in self?.connect(FolderName(host, nonce: nonce), for: dial) },
      joining: { Self.nonce(of: $0).map { [$0] } ?? [] }, failed: failed)
  }

  private func connect(_ name: FolderName, for dial: PlaceDial<UInt32>) {
    lastTicket += 1
    dials[lastTicket] = dial
    thread?.connect(to: name, ticket: lastTicket)
  }

  func datagrams(of link: SecureLink, for owner: any DatagramPathOwner) -> DatagramPath? { nil }
}
