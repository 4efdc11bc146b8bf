internal import Glibc
internal import Reactor
internal import Wire

/// The owner of a shared folder's descriptors, on a loop of its own, where it may wait for the file system.
///
/// Invariants:
/// - A host holds a lock on its record for as long as it lives: the kernel ends it with the process, and says so to all
///   who watch. A record without a lock belongs to nobody, and is removed.
/// - Others may put anything into the folder. Names of no known form are left alone, symlinks are not followed, and no
///   more is read than a record may have.
final class FolderWorker {
  /// More hosts than one machine runs.
  private static let hostsMax = 1_024
  private static let namesMax = 8_192
  /// Changed names that are looked at in one turn, and the pause after it.
  private static let namesPerTurnMax = 64
  private static let pause: Duration = .milliseconds(20)
  /// The number of queued events from which on no name is looked at.
  private static let waitingMax = 256
  private static let retryInterval: Duration = .seconds(1)
  /// The interval of checks of the path, and without notifications of the names.
  private static let watchedInterval: Duration = .seconds(5)
  private static let unwatchedInterval: Duration = .seconds(1)

  private let path: String
  private let host: HostID
  private let reactor: Reactor
  private let deliver: ([FolderEvent]) -> Void
  private var events: [FolderEvent] = []
  private var isDelivering = false
  private var place: FolderPlace?
  private var watch: FolderWatch?
  private let own: FolderName
  /// The open file of the own record, which is locked.
  private var held: Descriptor?
  private var record = FolderRecord()
  private var known: [FolderName: FolderRecord] = [:]
  private var changedNames: Set<String> = []
  private var mustScan = false
  private var looking: Timer?
  private var next: Timer?
  private var isClosed = false

  init(_ path: String, _ host: HostID, on reactor: Reactor, deliver: @escaping ([FolderEvent]) -> Void) {
    self.path = path
    self.host = host
    self.reactor = reactor
    self.deliver = deliver
    own = FolderName(host, nonce: .random(in: 0 ... .max))
    open()
  }

  func close() {
    isClosed = true
    for timer in [looking, next].compactMap(\.self) { reactor.cancel(timer) }
    release()
  }

  // MARK: The folder

  private func open() {
    do throws(Trouble) {
      place = try FolderPlace(path)
    } catch {
      return fail(error)
    }
    do throws(SystemError) {
      try begin()
    } catch {
      fail(Self.trouble(error, path))
    }
  }

  private func begin() throws(SystemError) {
    guard let place else { return }
    // If there is no room for one more watch, the names are read again and again.
    watch = try? FolderWatch(place.folder, on: reactor) { [unowned self] in changed($0) }
    let draft = try writeDraft(in: place)
    // One may be left in a folder that has come back.
    try? place.folder.remove(own.socket)
    let socket = try place.folder.listening(as: own.socket)
    try place.folder.share(own.socket, mode: place.mode, group: place.group)
    try place.folder.rename(own.draft, to: own.record)
    held = consume draft
    tell(.opened(as: own, DescriptorBox(socket)))
    tell(.published(nil))
    mustScan = true
    lookSoon()
    checkLater()
  }

  private func fail(_ trouble: Trouble) {
    release()
    tell(.failed(trouble))
    next = reactor.schedule(after: Self.retryInterval) { [unowned self] in open() }
  }

  /// The own files go, as far as they are still there.
  private func release() {
    if let next { reactor.cancel(next) }
    next = nil
    watch = nil
    for name in [own.socket, own.record, own.draft] { try? place?.folder.remove(name) }
    held = nil
    place = nil
    known = [:]
    changedNames = []
    mustScan = false
  }

  private func checkLater() {
    if let next { reactor.cancel(next) }
    next = reactor.scheduleInCompany(after: watch == nil ? Self.unwatchedInterval : Self.watchedInterval) {
      [unowned self] in
      check()
    }
  }

  /// Whether the path still leads to the folder, and the own files are still in it.
  private func check() {
    guard let place else { return }
    do throws(Trouble) {
      let now = try FolderPlace(path)
      guard now.identity == place.identity, now.mode == place.mode, holdsOwnFiles() else {
        fail(
          Trouble(
            cause: "The folder \(path) is another one than before, or somebody has removed this host's files from it.",
            cure: "It is used again at once; see who changes it, if that was not you."))
        open()
        return
      }
    } catch {
      return fail(error)
    }
    if watch == nil {
      mustScan = true
      lookSoon()
    }
    checkLater()
  }

  private func holdsOwnFiles() -> Bool {
    guard let record = try? place?.folder.status(of: own.record), let mine = try? held?.status() else { return false }
    return record.st_ino == mine.st_ino && (try? place?.folder.status(of: own.socket)) != nil
  }

  private static func trouble(_ error: SystemError, _ path: String) -> Trouble {
    Trouble(
      cause: "This host cannot announce itself in the folder \(path): \(error).",
      cure: error.code == ENOSPC || error.code == EDQUOT
        ? "Make room on its file system." : "See that its file system takes files and sockets, or use another folder.")
  }

  // MARK: The own record

  func publish(_ record: FolderRecord) {
    self.record = record
    guard let place else { return }
    do throws(SystemError) {
      let draft = try writeDraft(in: place)
      try place.folder.rename(own.draft, to: own.record)
      held = consume draft
      tell(.published(nil))
    } catch {
      tell(.published(Self.trouble(error, path)))
    }
  }

  /// Another one than the present record, so that nobody reads half of one.
  private func writeDraft(in place: FolderPlace) throws(SystemError) -> Descriptor {
    guard let bytes = record.bytes else { throw SystemError("write a record of so many peers", code: EFBIG) }
    try? place.folder.remove(own.draft)
    let draft = try place.folder.opened(own.draft, O_RDWR | O_CREAT | O_EXCL)
    try place.folder.share(own.draft, mode: place.mode, group: place.group)
    try draft.lock(exclusively: true)
    try draft.writeAll(bytes)
    return draft
  }

  // MARK: Other hosts

  private func changed(_ change: FolderWatch.Change) {
    switch change {
    case .name(let name):
      if name == own.socket || name == own.record { return checkSoon() }
      if changedNames.count < Self.namesMax { changedNames.insert(name) } else { mustScan = true }
    case .everything:
      mustScan = true
    case .folder:
      return checkSoon()
    }
    lookSoon()
  }

  /// Not at once: the own files change while they are written.
  private func checkSoon() {
    if let next { reactor.cancel(next) }
    next = reactor.schedule(after: Self.pause) { [unowned self] in check() }
  }

  private func lookSoon() {
    guard looking == nil, !isClosed else { return }
    looking = reactor.schedule(after: Self.pause) { [unowned self] in
      looking = nil
      look()
    }
  }

  private func look() {
    guard place != nil, events.count < Self.waitingMax else { return }
    if mustScan { scan() }
    for _ in 0..<Self.namesPerTurnMax {
      guard let name = changedNames.popFirst() else { return }
      if let name = FolderName(name, suffix: FolderName.recordSuffix) { look(at: name) }
    }
    lookSoon()
  }

  /// Marks all that may have changed.
  private func scan() {
    mustScan = false
    guard let names = try? place?.folder.names(atMost: Self.namesMax) else { return }
    changedNames = Set(names)
    for name in known.keys { changedNames.insert(name.record) }
  }

  private func look(at name: FolderName) {
    guard name != own else { return }
    guard let file = try? place?.folder.opened(name.record, O_RDONLY), let status = try? file.status(),
      status.st_mode & S_IFMT == S_IFREG
    else { return forget(name) }
    guard Self.isLocked(file) else {
      forget(name)
      return remove(name)
    }
    guard known[name] != nil || known.count < Self.hostsMax,
      let bytes = try? file.readAll(atMost: FolderRecord.bytesMax), let record = FolderRecord(bytes, of: name.host)
    else { return forget(name) }
    guard known.updateValue(record, forKey: name) != record else { return }
    tell(.seen(name, record))
  }

  private static func isLocked(_ file: borrowing Descriptor) -> Bool {
    do throws(SystemError) {
      try file.lock(exclusively: false)
      return false
    } catch {
      return error.code == EWOULDBLOCK
    }
  }

  private func forget(_ name: FolderName) {
    if known.removeValue(forKey: name) != nil { tell(.gone(name)) }
  }

  private func remove(_ name: FolderName) {
    for file in [name.socket, name.record, name.draft] { try? place?.folder.remove(file) }
  }

  /// Reports the host as alive if it is.
  func check(_ name: FolderName) {
    guard let file = try? place?.folder.opened(name.record, O_RDONLY), Self.isLocked(file) else { return }
    tell(.alive(name))
  }

  func connect(to name: FolderName, ticket: UInt64) {
    guard let place, let socket = try? place.folder.connecting(to: name.socket) else {
      return tell(.connected(ticket: ticket, nil))
    }
    tell(.connected(ticket: ticket, DescriptorBox(socket)))
  }

  // MARK: Events

  func delivered() {
    isDelivering = false
    deliverSoon()
    if mustScan || !changedNames.isEmpty { lookSoon() }
  }

  private func tell(_ event: FolderEvent) {
    events.append(event)
    deliverSoon()
  }

  private func deliverSoon() {
    guard !isDelivering, !events.isEmpty else { return }
    isDelivering = true
    reactor.soon { [weak self] in
      guard let self else { return }
      let events = events
      self.events = []
      deliver(events)
    }
  }
}
