internal import CAvahi
internal import Reactor
internal import Wire

/// What the daemon shows of the types that are looked for. Hosts on the network choose what stands there, so that all of
/// it has limits; what does not fit waits until something goes.
final class AvahiSightings {
  /// As many as the daemon itself remembers by default.
  private static let recordsMax = 4_096
  /// The daemon allows a client 1,024 objects by default; what is left is for records of our own and for searches.
  private static let resolversDefaultMax = 768
  /// Interfaces and protocols on which one record is known. Beyond these, another would tell nothing new.
  private static let pathsMax = 16
  /// More ways to one host are of no use.
  private static let addressesMax = 8
  /// Each may take a call that waits for the daemon.
  private static let noticesPerTurnMax = 32
  /// How long a daemon that came back may take to show again what it had shown: its first answers come within two.
  private static let returnTime: Duration = .seconds(5)

  private final class Sight {
    let instance: AvahiBrowser.Instance
    /// In the order in which they were noticed.
    var paths: [(path: AvahiBrowser.Path, resolver: AvahiResolver?)] = []
    /// What was told of it; nil while it is not visible.
    var shown: (id: SeenID, record: SeenRecord)?
    /// Left over from before the daemon went, until it is seen anew.
    var isLeftOver = false
    var isReviewDue = false

    init(_ instance: AvahiBrowser.Instance) { self.instance = instance }

    var resolverCount: Int { paths.count { $0.resolver != nil } }
  }

  private final class Search {
    var browser: AvahiBrowser?
    var failures = 0
    var retry: Timer?
  }

  private let reactor: Reactor
  private let tell: (DirectoryEvent) -> Void
  private var client: OpaquePointer?
  private var searches: [ServiceType: Search] = [:]
  private var sights: [AvahiBrowser.Instance: Sight] = [:]
  private var lastID: UInt64 = 0
  private var notices: [AvahiBrowser.Notice] = []
  private var toReview: [Sight] = []
  /// Resolvers that are not needed, to be freed a few at a time.
  private var discarded: [AvahiResolver] = []
  private var isTurnDue = false
  private var returnEnd: Timer?

  private var resolverCount = 0
  private var resolversMax = resolversDefaultMax
  /// Whether somebody goes without a resolver, or was not noted at all.
  private var isShort = false
  private var hasOverflowed = false

  init(on reactor: Reactor, tell: @escaping (DirectoryEvent) -> Void) {
    self.reactor = reactor
    self.tell = tell
  }

  // MARK: What is looked for

  func look(for type: ServiceType) {
    guard searches[type] == nil else { return }
    searches[type] = Search()
    browse(type)
  }

  func lookNoMore(for type: ServiceType) {
    guard let search = searches.removeValue(forKey: type) else { return }
    if let retry = search.retry { reactor.cancel(retry) }
    for sight in sights.values where sight.instance.type == type {
      sight.isLeftOver = false
      for place in sight.paths.indices { discard(&sight.paths[place].resolver) }
      sight.paths = []
      reviewSoon(sight)
    }
  }

  func begin(with client: OpaquePointer) {
    self.client = client
    for type in searches.keys { browse(type) }
    guard sights.values.contains(where: \.isLeftOver) else { return }
    returnEnd = reactor.schedule(after: Self.returnTime) { [unowned self] in
      returnEnd = nil
      for sight in sights.values where sight.isLeftOver {
        sight.isLeftOver = false
        hide(sight)
        review(sight)
      }
    }
  }

  /// The daemon is gone; the client is still there to be let go of. What was shown stands.
  func end() {
    if let returnEnd { reactor.cancel(returnEnd) }
    returnEnd = nil
    for search in searches.values {
      if let retry = search.retry { reactor.cancel(retry) }
      search.retry = nil
      search.browser = nil
    }
    for sight in sights.values {
      sight.paths = []
      sight.isLeftOver = sight.shown != nil
    }
    sights = sights.filter { $0.value.isLeftOver }
    (notices, toReview, discarded) = ([], [], [])
    (resolverCount, resolversMax) = (0, Self.resolversDefaultMax)
    (isShort, hasOverflowed) = (false, false)
    client = nil
  }

  private func browse(_ type: ServiceType) {
    guard let client, let search = searches[type] else { return }
    do throws(AvahiError) {
      // A callback that is the first thing to come would find nobody.
      search.browser = try AvahiBrowser(type, of: client) { [unowned self] notice in
        notices.append(notice)
        turnSoon()
      }
    } catch {
      failed(type, error)
    }
  }

  private func failed(_ type: ServiceType, _ error: AvahiError) {
    guard let search = searches[type] else { return }
    search.browser = nil
    tell(.notLooking(type, error.looking))
    search.retry = reactor.schedule(after: min(.seconds(60), .seconds(1) * (1 << min(search.failures, 8)))) {
      [unowned self] in
      search.retry = nil
      browse(type)
    }
    search.failures += 1
  }

  // MARK: Turns

  private func turnSoon() {
    guard !isTurnDue else { return }
    isTurnDue = true
    reactor.soon { [weak self] in self?.turn() }
  }

  private func turn() {
    isTurnDue = false
    for notice in notices.prefix(Self.noticesPerTurnMax) { take(notice) }
    notices.removeFirst(min(notices.count, Self.noticesPerTurnMax))
    let due = toReview
    toReview = []
    for sight in due {
      sight.isReviewDue = false
      review(sight)
    }
    let freed = min(discarded.count, Self.noticesPerTurnMax)
    discarded.removeLast(freed)
    resolverCount -= freed
    shareOut()
    if !notices.isEmpty || !discarded.isEmpty { turnSoon() }
  }

  private func take(_ notice: AvahiBrowser.Notice) {
    switch notice {
    case .new(let instance, let path):
      guard searches[instance.type]?.browser != nil else { return }
      if sights[instance] == nil {
        guard sights.count < Self.recordsMax else { return hasOverflowed = true }
        sights[instance] = Sight(instance)
      }
      guard let sight = sights[instance], sight.paths.count < Self.pathsMax,
        !sight.paths.contains(where: { $0.path == path })
      else { return }
      sight.paths.append((path, nil))
      feed(sight)
    case .removed(let instance, let path):
      guard let sight = sights[instance], let place = sight.paths.firstIndex(where: { $0.path == path }) else { return }
      discard(&sight.paths[place].resolver)
      sight.paths.remove(at: place)
      review(sight)
    case .failed(let type, let error):
      failed(type, error)
    }
  }

  // MARK: Resolvers

  /// Opens what resolvers there is room for; a record that has none goes before one that has several.
  private func feed(_ sight: Sight) {
    guard let client else { return }
    for place in sight.paths.indices where sight.paths[place].resolver == nil {
      guard resolverCount < resolversMax || sight.resolverCount == 0 && takeFromTheRich() else {
        isShort = true
        return
      }
      do throws(AvahiError) {
        sight.paths[place].resolver = try AvahiResolver(sight.instance, on: sight.paths[place].path, of: client) {
          [unowned self, unowned sight] in reviewSoon(sight)
        }
        resolverCount += 1
      } catch {
        // What else goes wrong is the daemon's going, which is told, or a name that it does not take.
        guard error.isTooMany else { continue }
        resolversMax = resolverCount
        isShort = true
        return
      }
    }
  }

  private func takeFromTheRich() -> Bool {
    guard let sight = sights.values.first(where: { $0.resolverCount > 1 }),
      let place = sight.paths.lastIndex(where: { $0.resolver != nil })
    else { return false }
    sight.paths[place].resolver = nil
    resolverCount -= 1
    return true
  }

  private func discard(_ resolver: inout AvahiResolver?) {
    guard let freed = resolver else { return }
    resolver = nil
    discarded.append(freed)
    turnSoon()
  }

  /// Some have gone: whoever went without gets what is free.
  private func shareOut() {
    if hasOverflowed, sights.count < Self.recordsMax / 4 * 3 {
      hasOverflowed = false
      for type in searches.keys { browse(type) }
    }
    guard isShort, resolverCount < resolversMax else { return }
    isShort = false
    let hungry = sights.values.filter { $0.resolverCount < $0.paths.count }
    var left = Self.noticesPerTurnMax
    for sight in hungry.filter({ $0.resolverCount == 0 }) + hungry.filter({ $0.resolverCount > 0 }) where !isShort {
      feed(sight)
      left -= 1
      if left == 0, !isShort {
        isShort = true
        turnSoon()
      }
    }
  }

  // MARK: What is told

  private func reviewSoon(_ sight: Sight) {
    guard !sight.isReviewDue else { return }
    sight.isReviewDue = true
    toReview.append(sight)
    turnSoon()
  }

  private func review(_ sight: Sight) {
    if let record = record(of: sight) {
      sight.isLeftOver = false
      show(sight, record)
    } else if !sight.isLeftOver, sight.paths.allSatisfy({ $0.resolver?.hasFailed ?? true }) {
      hide(sight)
      if sight.paths.isEmpty { sights[sight.instance] = nil }
    }
  }

  private func show(_ sight: Sight, _ record: SeenRecord) {
    if let shown = sight.shown {
      guard shown.record != record else { return }
      sight.shown = (shown.id, record)
      tell(.changed(shown.id, record))
    } else {
      lastID += 1
      sight.shown = (SeenID(rawValue: lastID), record)
      tell(.appeared(SeenID(rawValue: lastID), record))
    }
  }

  private func hide(_ sight: Sight) {
    guard let shown = sight.shown else { return }
    sight.shown = nil
    tell(.gone(shown.id))
  }

  /// What the paths say together. The first one leads: who answers to the same name on another network, with another
  /// host behind it, changes nothing. Among those of one host the latest word counts.
  private func record(of sight: Sight) -> SeenRecord? {
    let findings = sight.paths.compactMap(\.resolver?.finding)
    guard let leader = findings.first else { return nil }
    let same = findings.filter { $0.hostName == leader.hostName }
    let latest = same.max { $0.time < $1.time } ?? leader
    var addresses: [SocketAddress] = []
    for address in same.compactMap(\.address) where !addresses.contains(address) { addresses.append(address) }
    addresses.sort { $0.rank < $1.rank }
    return SeenRecord(
      type: sight.instance.type, name: String(decoding: sight.instance.name, as: UTF8.self), hostName: latest.hostName,
      port: latest.port, txt: latest.txt, addresses: Array(addresses.prefix(Self.addressesMax)))
  }
}
