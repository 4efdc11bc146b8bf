internal import CAvahi
internal import Reactor
internal import Wire

/// What the daemon shows of the types that are looked for. Hosts on the network choose what stands there, so that all of
/// it has limits; what does not fit waits until something goes.
final class AvahiSightings {
  /// Interfaces and protocols on which one record is known. Beyond these, another would tell nothing new.
  private static let waysMax = 16
  /// More ways to one host are of no use.
  private static let addressesMax = 8
  /// Each may take a call that waits for the daemon.
  private static let noticesPerTurnMax = 32
  /// How long a daemon that came back may take to show again what it had shown: its first answers come within two.
  private static let returnTime: Duration = .seconds(5)

  /// How long the other ways to a record wait once the first is asked: when many hosts come up together they ask for the
  /// same of each, and half of that is as good.
  private static let courtesy: Duration = .seconds(2)

  private struct Way {
    let path: AvahiBrowser.Path
    /// The latest round in which it was shown.
    var round: Int
    var resolver: AvahiResolver?
  }

  private final class Sight {
    let instance: AvahiBrowser.Instance
    /// In the order in which they were noticed.
    var ways: [Way] = []
    /// What was told of it; nil while it is not visible.
    var shown: (id: SeenID, record: SeenRecord)?
    /// Left over from before the daemon went, until it is seen anew.
    var isLeftOver = false
    var isReviewDue = false

    init(_ instance: AvahiBrowser.Instance) { self.instance = instance }

    var resolverCount: Int { ways.count { $0.resolver != nil } }
  }

  private final class Search {
    var browser: AvahiBrowser?
    var failures = 0
    var retry: Timer?
    /// How often everything was asked for anew, and when what was not shown again is over.
    var round = 0
    var roundEnd: Timer?
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
  /// Of which only the first way is asked yet, and when the others are.
  private var waiting: [Sight] = []
  private var waitingEnd: Timer?
  /// Whether nobody takes what would be told: what changes meanwhile is told as it is afterwards.
  var isHeldBack = false {
    didSet { if !isHeldBack, !toReview.isEmpty { turnSoon() } }
  }

  private let limits: AvahiDirectory.Limits
  private var resolverCount = 0
  /// The daemon may allow fewer than we would have.
  private var resolversMax: Int
  /// Whether somebody goes without a resolver, or was not noted at all.
  private var isShort = false
  private var hasOverflowed = false

  init(_ limits: AvahiDirectory.Limits, on reactor: Reactor, tell: @escaping (DirectoryEvent) -> Void) {
    self.limits = limits
    resolversMax = limits.resolversMax
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
    end(search)
    for sight in sights.values where sight.instance.type == type {
      for place in sight.ways.indices { discard(&sight.ways[place].resolver) }
      sight.ways = []
      hide(sight)
      sights[sight.instance] = nil
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
        reviewSoon(sight)
      }
    }
  }

  /// The daemon is gone; the client is still there to be let go of. What was shown stands.
  func end() {
    for timer in [returnEnd, waitingEnd].compactMap(\.self) { reactor.cancel(timer) }
    (returnEnd, waitingEnd, waiting) = (nil, nil, [])
    for search in searches.values { end(search) }
    for sight in sights.values {
      sight.ways = []
      sight.isLeftOver = sight.shown != nil
      sight.isReviewDue = false
    }
    sights = sights.filter { $0.value.isLeftOver }
    (notices, toReview, discarded) = ([], [], [])
    (resolverCount, resolversMax) = (0, limits.resolversMax)
    (isShort, hasOverflowed) = (false, false)
    client = nil
  }

  private func end(_ search: Search) {
    for timer in [search.retry, search.roundEnd].compactMap(\.self) { reactor.cancel(timer) }
    (search.retry, search.roundEnd) = (nil, nil)
    search.browser = nil
  }

  private func browse(_ type: ServiceType) {
    guard let client, let search = searches[type] else { return }
    do throws(AvahiError) {
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
      browseAnew(type)
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
    while !isHeldBack, let sight = toReview.popLast() {
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
      guard let search = searches[instance.type], search.browser != nil else { return }
      search.failures = 0
      if sights[instance] == nil {
        guard sights.count < limits.recordsMax else { return hasOverflowed = true }
        sights[instance] = Sight(instance)
      }
      guard let sight = sights[instance] else { return }
      if let place = sight.ways.firstIndex(where: { $0.path == path }) {
        sight.ways[place].round = search.round
      } else if sight.ways.count < Self.waysMax {
        sight.ways.append(Way(path: path, round: search.round))
        if sight.ways.count == 1 { feed(sight) } else { feedLater(sight) }
      }
    case .removed(let instance, let path):
      guard let sight = sights[instance], let place = sight.ways.firstIndex(where: { $0.path == path }) else { return }
      remove(place, from: sight)
    case .failed(let type, let error):
      failed(type, error)
    }
  }

  private func remove(_ place: Int, from sight: Sight) {
    discard(&sight.ways[place].resolver)
    sight.ways.remove(at: place)
    reviewSoon(sight)
  }

  /// Has everything of a type shown again. What goes while one browser takes over from another may be told by neither, and
  /// is what was not shown again.
  private func browseAnew(_ type: ServiceType) {
    guard let search = searches[type] else { return }
    if let roundEnd = search.roundEnd { reactor.cancel(roundEnd) }
    search.round += 1
    browse(type)
    search.roundEnd = reactor.schedule(after: Self.returnTime) { [unowned self] in
      search.roundEnd = nil
      for sight in sights.values where sight.instance.type == type {
        for place in sight.ways.indices.reversed() where sight.ways[place].round < search.round {
          remove(place, from: sight)
        }
      }
      turnSoon()
    }
  }

  // MARK: Resolvers

  /// Opens what resolvers there is room for; a record that has none goes before one that has several.
  private func feed(_ sight: Sight) {
    guard let client else { return }
    for place in sight.ways.indices where sight.ways[place].resolver == nil {
      guard resolverCount < resolversMax || sight.resolverCount == 0 && takeFromTheRich() else {
        isShort = true
        return
      }
      do throws(AvahiError) {
        sight.ways[place].resolver = try AvahiResolver(sight.instance, on: sight.ways[place].path, of: client) {
          [unowned self, weak sight] in
          // One that is discarded may still speak, until it is freed.
          if let sight { reviewSoon(sight) }
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

  private func feedLater(_ sight: Sight) {
    waiting.append(sight)
    guard waitingEnd == nil else { return }
    waitingEnd = reactor.schedule(after: Self.courtesy) { [unowned self] in
      waitingEnd = nil
      let due = waiting
      waiting = []
      for sight in due { feed(sight) }
    }
  }

  private func takeFromTheRich() -> Bool {
    guard let sight = sights.values.first(where: { $0.resolverCount > 1 }),
      let place = sight.ways.lastIndex(where: { $0.resolver != nil })
    else { return false }
    sight.ways[place].resolver = nil
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
    if hasOverflowed, sights.count * 4 < limits.recordsMax * 3, searches.values.allSatisfy({ $0.roundEnd == nil }) {
      hasOverflowed = false
      for type in searches.keys { browseAnew(type) }
    }
    guard isShort, resolverCount < resolversMax else { return }
    isShort = false
    let hungry = sights.values.filter { $0.resolverCount < $0.ways.count }
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
    } else if !sight.isLeftOver, sight.ways.allSatisfy({ $0.resolver?.hasFailed ?? true }) {
      hide(sight)
      if sight.ways.isEmpty, sights[sight.instance] === sight { sights[sight.instance] = nil }
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
    let findings = sight.ways.compactMap(\.resolver?.finding)
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
