internal import CAvahi
internal import Reactor
internal import Wire

/// The records of the browsed types that the daemon shows. Hosts on the network choose their contents, so all of it has
/// limits; records beyond them wait until something goes.
final class AvahiSightings {
  /// Interfaces and protocols on which one record is known. Beyond these, another would add nothing.
  private static let waysMax = 16
  /// More addresses of one host are of no use.
  private static let addressesMax = 8
  /// Each may take a call that waits for the daemon.
  private static let noticesPerTurnMax = 32
  /// The time that a restarted daemon has to show its records again: its first answers come within two seconds.
  private static let returnTime: Duration = .seconds(5)

  /// The delay of the other paths once the first is queried: hosts that come up together query the same of each, and
  /// half of that is as good.
  private static let courtesy: Duration = .seconds(2)

  /// Concurrent queries: a slow daemon is asked no more than it answers. A query without an answer for this time, in
  /// nanoseconds, holds up no other.
  private static let underWayMax = 4
  private static let answerTime: UInt64 = 1_000_000_000

  private struct RecordPath {
    let path: AvahiBrowser.Path
    /// The latest round in which it was shown.
    var round: Int
    var resolver: AvahiResolver?
    /// The answer of the resolver before this one.
    var earlier: AvahiResolver.Answer?

    var answer: AvahiResolver.Answer? { resolver?.answer ?? earlier }
  }

  /// A path that is to be resolved, is being resolved, or was.
  private struct Question {
    let visible: VisibleRecord
    let path: AvahiBrowser.Path
    var askedAt: UInt64 = 0

    /// Nil once it is gone.
    var place: Int? { visible.paths.firstIndex { $0.path == path } }
    var resolver: AvahiResolver? { place.flatMap { visible.paths[$0].resolver } }
    var isUnanswered: Bool { resolver.map { $0.answer == nil } ?? false }
  }

  private final class VisibleRecord {
    let instance: AvahiBrowser.Instance
    /// In the order in which they were noticed.
    var paths: [RecordPath] = []
    /// The reported record; nil while it is not visible.
    var shown: (id: SeenID, record: SeenRecord)?
    /// Left over from before the daemon went, until it is seen again.
    var isLeftOver = false
    var isReviewDue = false

    init(_ instance: AvahiBrowser.Instance) { self.instance = instance }
  }

  private final class TypeSearch {
    var browser: AvahiBrowser?
    /// Whether the browser was reported as working.
    var isTold = false
    var failures = 0
    var retry: Timer?
    /// How often the type was browsed anew, and when records that were not shown again are dropped.
    var round = 0
    var roundEnd: Timer?
  }

  private let reactor: Reactor
  private let tell: (DirectoryEvent) -> Void
  private var client: OpaquePointer?
  private var searches: [ServiceType: TypeSearch] = [:]
  private var visibleRecords: [AvahiBrowser.Instance: VisibleRecord] = [:]
  private var lastID: UInt64 = 0
  private var notices: [AvahiBrowser.Notice] = []
  private var toReview: [VisibleRecord] = []
  /// Resolvers that are not needed, to be freed a few at a time.
  private var discarded: [AvahiResolver] = []
  private var isTurnDue = false
  private var returnEnd: Timer?
  /// Backpressure: whether nobody takes events now; only the state afterwards is then reported.
  var isHeldBack = false {
    didSet { if !isHeldBack, !toReview.isEmpty { turnSoon() } }
  }

  private let limits: AvahiDirectory.Limits
  /// The open ones, and those that wait to be freed.
  private var resolverCount = 0
  /// The daemon may allow fewer than we would have.
  private var resolversMax: Int
  /// The first paths to records that are to be resolved, then the others, some of them again.
  private var first: [Question] = []
  private var further: [Question] = []
  /// Other paths, whose delay has not passed.
  private var later: [Question] = []
  private var laterEnd: Timer?
  /// Paths with a resolver, and those that had one: the longest without comes first.
  private var asked: [Question] = []
  private var rested: [Question] = []
  private var refresh: Timer?
  private var patience: Timer?
  /// Whether records were dropped for lack of room.
  private var hasOverflowed = false

  init(_ limits: AvahiDirectory.Limits, on reactor: Reactor, tell: @escaping (DirectoryEvent) -> Void) {
    self.limits = limits
    resolversMax = limits.resolversMax
    self.reactor = reactor
    self.tell = tell
  }

  // MARK: Browsers

  func browse(for type: ServiceType) {
    guard searches[type] == nil else { return }
    searches[type] = TypeSearch()
    browse(type)
  }

  func stopBrowsing(for type: ServiceType) {
    guard let search = searches.removeValue(forKey: type) else { return }
    end(search)
    for visible in visibleRecords.values where visible.instance.type == type {
      for place in visible.paths.indices { discard(&visible.paths[place].resolver) }
      visible.paths = []
      hide(visible)
      visibleRecords[visible.instance] = nil
    }
  }

  func begin(with client: OpaquePointer) {
    self.client = client
    for type in searches.keys { browse(type) }
    guard visibleRecords.values.contains(where: \.isLeftOver) else { return }
    returnEnd = reactor.schedule(after: Self.returnTime) { [unowned self] in
      returnEnd = nil
      for visible in visibleRecords.values where visible.isLeftOver {
        visible.isLeftOver = false
        hide(visible)
        reviewSoon(visible)
      }
    }
  }

  /// The daemon is gone; the client still exists, for freeing its objects. Visible records stay.
  func end() {
    for timer in [returnEnd, laterEnd, refresh, patience].compactMap(\.self) { reactor.cancel(timer) }
    (returnEnd, laterEnd, refresh, patience) = (nil, nil, nil, nil)
    for search in searches.values { end(search) }
    for visible in visibleRecords.values {
      visible.paths = []
      visible.isLeftOver = visible.shown != nil
      visible.isReviewDue = false
    }
    visibleRecords = visibleRecords.filter { $0.value.isLeftOver }
    (notices, toReview, discarded) = ([], [], [])
    (first, further, later, asked, rested) = ([], [], [], [], [])
    (resolverCount, resolversMax, hasOverflowed) = (0, limits.resolversMax, false)
    client = nil
  }

  private func end(_ search: TypeSearch) {
    for timer in [search.retry, search.roundEnd].compactMap(\.self) { reactor.cancel(timer) }
    (search.retry, search.roundEnd) = (nil, nil)
    (search.browser, search.isTold) = (nil, false)
  }

  private func browse(_ type: ServiceType) {
    guard let client, let search = searches[type] else { return }
    do throws(AvahiError) {
      search.browser = try AvahiBrowser(type, of: client) { [unowned self] notice in
        notices.append(notice)
        turnSoon()
      }
      if search.isTold { return }
      search.isTold = true
      tell(.looking(type))
    } catch {
      failed(type, error)
    }
  }

  private func failed(_ type: ServiceType, _ error: AvahiError) {
    guard let search = searches[type] else { return }
    (search.browser, search.isTold) = (nil, false)
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
    while !isHeldBack, let visible = toReview.popLast() {
      visible.isReviewDue = false
      review(visible)
    }
    let freed = min(discarded.count, Self.noticesPerTurnMax)
    discarded.removeLast(freed)
    resolverCount -= freed
    browseForMore()
    ask()
    closeResolversInCrowd()
    if !notices.isEmpty || !discarded.isEmpty { turnSoon() }
  }

  private func take(_ notice: AvahiBrowser.Notice) {
    switch notice {
    case .new(let instance, let path):
      guard let search = searches[instance.type], search.browser != nil else { return }
      search.failures = 0
      if visibleRecords[instance] == nil {
        guard visibleRecords.count < limits.recordsMax else { return hasOverflowed = true }
        visibleRecords[instance] = VisibleRecord(instance)
      }
      guard let visible = visibleRecords[instance] else { return }
      if let place = visible.paths.firstIndex(where: { $0.path == path }) {
        visible.paths[place].round = search.round
      } else if visible.paths.count < Self.waysMax {
        visible.paths.append(RecordPath(path: path, round: search.round))
        let question = Question(visible: visible, path: path)
        if visible.paths.count == 1 { first.append(question) } else { askLater(question) }
      }
    case .removed(let instance, let path):
      guard let visible = visibleRecords[instance], let place = visible.paths.firstIndex(where: { $0.path == path })
      else { return }
      remove(place, from: visible)
    case .failed(let type, let error):
      failed(type, error)
    }
  }

  private func remove(_ place: Int, from visible: VisibleRecord) {
    discard(&visible.paths[place].resolver)
    visible.paths.remove(at: place)
    reviewSoon(visible)
  }

  /// Browses a type anew. A removal while one browser replaces the other may be reported by neither; those records are
  /// the ones that are not shown again.
  private func browseAnew(_ type: ServiceType) {
    guard let search = searches[type] else { return }
    if let roundEnd = search.roundEnd { reactor.cancel(roundEnd) }
    search.round += 1
    browse(type)
    search.roundEnd = reactor.schedule(after: Self.returnTime) { [unowned self] in
      search.roundEnd = nil
      for visible in visibleRecords.values where visible.instance.type == type {
        for place in visible.paths.indices.reversed() where visible.paths[place].round < search.round {
          remove(place, from: visible)
        }
      }
      turnSoon()
    }
  }

  // MARK: Resolvers

  private func ask() {
    guard let client else { return }
    let now = Reactor.now
    var left = Self.noticesPerTurnMax
    var underWay = asked.count { $0.isUnanswered && now - $0.askedAt < Self.answerTime }
    while var question = first.first ?? further.first {
      guard left > 0 else { return turnSoon() }
      guard underWay < Self.underWayMax else { return askAgainSoon() }
      left -= 1
      if let place = question.place, question.visible.paths[place].resolver == nil {
        guard resolverCount < resolversMax else { return removeStaleRecords() }
        do throws(AvahiError) {
          question.visible.paths[place].resolver = try resolver(for: question, of: client)
          resolverCount += 1
          underWay += 1
          question.askedAt = now
          if asked.count >= 2 * resolversMax { asked.removeAll { $0.resolver == nil } }
          asked.append(question)
        } catch {
          // Other failures are the daemon's end, which is reported, or a name that it does not take.
          if error.isTooMany { return resolversMax = max(1, resolverCount) }
        }
      }
      if first.isEmpty { further.removeFirst() } else { first.removeFirst() }
    }
  }

  /// Each answer makes room for the next query, and so does the timeout of one.
  private func askAgainSoon() {
    removeStaleRecords()
    guard patience == nil else { return }
    patience = reactor.schedule(after: .nanoseconds(Int64(Self.answerTime))) { [unowned self] in
      patience = nil
      turnSoon()
    }
  }

  private func resolver(for question: Question, of client: OpaquePointer) throws(AvahiError) -> AvahiResolver {
    try AvahiResolver(question.visible.instance, on: question.path, of: client) {
      [unowned self, weak visible = question.visible] in
      // A discarded resolver may still call back, until it is freed.
      if let visible { reviewSoon(visible) }
    }
  }

  private func askLater(_ question: Question) {
    later.append(question)
    guard laterEnd == nil else { return }
    laterEnd = reactor.schedule(after: Self.courtesy) { [unowned self] in
      laterEnd = nil
      further += later
      later = []
      turnSoon()
    }
  }

  /// An open resolver queries the network again and again, on every host. In a crowd it is closed once it has its
  /// answer, which is mostly from the daemon's cache, and before it has queried: the answer stands, and is renewed in
  /// its turn.
  private func closeResolversInCrowd() {
    guard visibleRecords.values.reduce(0, { $0 + $1.paths.count }) > min(limits.watchedMax, resolversMax) else {
      return
    }
    asked.removeAll { question in
      guard let place = question.place, let answer = question.resolver?.answer else { return question.resolver == nil }
      question.visible.paths[place].earlier = answer
      discard(&question.visible.paths[place].resolver)
      rested.append(question)
      return true
    }
    if !rested.isEmpty { refreshSoon() }
  }

  /// Bounds the queues, since records that come and go may be many.
  private func removeStaleRecords() {
    first.removeAll { $0.place == nil }
    further.removeAll { $0.place == nil }
  }

  private func refreshSoon() {
    guard refresh == nil else { return }
    refresh = reactor.schedule(after: limits.refresh) { [unowned self] in
      refresh = nil
      rested.removeAll { $0.place == nil }
      if !rested.isEmpty { further.append(rested.removeFirst()) }
      if !rested.isEmpty { refreshSoon() }
      turnSoon()
    }
  }

  private func discard(_ resolver: inout AvahiResolver?) {
    guard let freed = resolver else { return }
    resolver = nil
    discarded.append(freed)
    turnSoon()
  }

  /// Some records have gone: there is room for those that were dropped.
  private func browseForMore() {
    guard hasOverflowed, visibleRecords.count * 4 < limits.recordsMax * 3,
      searches.values.allSatisfy({ $0.roundEnd == nil })
    else { return }
    hasOverflowed = false
    for type in searches.keys { browseAnew(type) }
  }

  // MARK: Events

  private func reviewSoon(_ visible: VisibleRecord) {
    guard !visible.isReviewDue else { return }
    visible.isReviewDue = true
    toReview.append(visible)
    turnSoon()
  }

  private func review(_ visible: VisibleRecord) {
    if let record = record(of: visible) {
      visible.isLeftOver = false
      show(visible, record)
    } else if !visible.isLeftOver, visible.paths.allSatisfy({ $0.answer?.hasFailed ?? false }) {
      hide(visible)
      if visible.paths.isEmpty, visibleRecords[visible.instance] === visible { visibleRecords[visible.instance] = nil }
    }
  }

  private func show(_ visible: VisibleRecord, _ record: SeenRecord) {
    if let shown = visible.shown {
      guard shown.record != record else { return }
      visible.shown = (shown.id, record)
      tell(.changed(shown.id, record))
    } else {
      lastID += 1
      visible.shown = (SeenID(rawValue: lastID), record)
      tell(.appeared(SeenID(rawValue: lastID), record))
    }
  }

  private func hide(_ visible: VisibleRecord) {
    guard let shown = visible.shown else { return }
    visible.shown = nil
    tell(.gone(shown.id))
  }

  /// Merges the paths into one record. The first one leads: a host of the same name on another network changes nothing.
  /// Among those of one host the latest answer counts.
  private func record(of visible: VisibleRecord) -> SeenRecord? {
    let findings = visible.paths.compactMap(\.answer?.finding)
    guard let leader = findings.first else { return nil }
    let same = findings.filter { $0.hostName == leader.hostName }
    let latest = same.max { $0.time < $1.time } ?? leader
    var addresses: [SocketAddress] = []
    for address in same.compactMap(\.address) where !addresses.contains(address) { addresses.append(address) }
    addresses.sort { $0.rank < $1.rank }
    return SeenRecord(
      type: visible.instance.type, name: String(decoding: visible.instance.name, as: UTF8.self),
      hostName: latest.hostName,
      port: latest.port, txt: latest.txt, addresses: Array(addresses.prefix(Self.addressesMax)))
  }
}
