import Wire

/// Members of one presence that are in the same state with every local slot: one change covers all of them, and costs
/// as much for thousands as for one.
///
/// Invariant: an operation on a cohort applies to all its members; a member that changes alone is taken out before
/// (`Engine.alone`). At the end of a mutation alike cohorts are merged (`Presence.mergeAlike`). Where its members are
/// local endpoints, the bits of their own slots mean nothing: nobody is its own member.
final class Cohort {
  let presence: Presence
  /// Its number in its group, by which the rows of its members name its own.
  let number: UInt64
  private let group: Group
  private(set) var members: [RemoteMember] = []
  var relations = Relations() {
    didSet {
      cachedLocals = nil
      changed()
    }
  }
  /// The strand that they joined on; nil until they have joined on the present bond.
  var strand: UInt32? { didSet { changed() } }
  /// When pairs that are connecting become unreachable.
  var connectingUntil: Instant?
  /// When members that were lost are forgotten.
  var forgottenAt: Instant?
  /// Whether it has changed since alike cohorts were last merged.
  var isDirty = false
  /// Whether there is a row for it.
  var isStored = false

  // Caches of all members, in their order, for outputs to all.
  private var cachedViews: [MemberView]?
  private var cachedIDs: [EndpointID]?
  private var cachedIndexes: [UInt32]?
  private var cachedLocals: Locals??

  init(in presence: Presence) {
    self.presence = presence
    group = presence.group
    number = group.numberOfCohort()
  }

  /// An empty cohort of the same state; in another group, its slots are moved.
  init(like other: Cohort, in presence: Presence? = nil, offset: Int = 0) {
    self.presence = presence ?? other.presence
    group = self.presence.group
    number = group.numberOfCohort()
    relations = presence == nil ? other.relations : other.relations.shifted(by: offset)
    strand = other.strand
    connectingUntil = other.connectingUntil
    forgottenAt = other.forgottenAt
  }

  var only: RemoteMember? { members.count == 1 ? members[0] : nil }

  /// Whether its only member is a local endpoint as the others see it.
  func isOnly(_ local: LocalEndpoint) -> Bool { only.map { $0.own === local } ?? false }

  var isConnected: Bool {
    guard let own = only?.own else { return !relations.connected.isEmpty }
    return !relations.connected.subtracting(SlotSet(own.slot)).isEmpty
  }

  func add(_ member: RemoteMember) {
    if members.isEmpty { rowChanged() }
    member.place = members.count
    members.append(member)
    cachedViews?.append(member.view)
    cachedIDs?.append(member.id)
    if let index = member.index, let place = placeOfIndex(from: index) { cachedIndexes?.insert(index, at: place) }
    // From this size on the caches grow with it, so that nobody ever waits while they are rebuilt.
    if members.count == Self.manyMin { _ = (views, ids, indexes) }
  }

  private static let manyMin = 16

  /// The last member takes its place.
  func remove(_ member: RemoteMember) {
    let place = member.place
    members[place] = members[members.count - 1]
    members[place].place = place
    members.removeLast()
    if members.isEmpty { rowChanged() }
    cachedViews?.replaceWithLast(at: place)
    cachedIDs?.replaceWithLast(at: place)
    if let index = member.index, let place = placeOfIndex(from: index) { cachedIndexes?.remove(at: place) }
  }

  /// The position of the first number that is not below this one.
  private func placeOfIndex(from index: UInt32) -> Int? {
    guard let indexes = cachedIndexes else { return nil }
    var (low, high) = (0, indexes.count)
    while low < high {
      let middle = (low + high) / 2
      if indexes[middle] < index { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func empty() {
    members = []
    rowChanged()
  }

  // MARK: Caches

  var views: [MemberView] {
    if cachedViews == nil { cachedViews = members.map(\.view) }
    return cachedViews ?? []
  }

  var ids: [EndpointID] {
    if cachedIDs == nil { cachedIDs = members.map(\.id) }
    return cachedIDs ?? []
  }

  /// In ascending order.
  var indexes: [UInt32] {
    if cachedIndexes == nil { cachedIndexes = members.compactMap(\.index).sorted() }
    return cachedIndexes ?? []
  }

  /// The local endpoints that they are connected with.
  var locals: Locals? {
    if let cachedLocals { return cachedLocals }
    let locals = group.locals(in: relations.connected)
    cachedLocals = .some(locals)
    return locals
  }

  func viewsChanged() { cachedViews = nil }

  func indexesChanged() {
    cachedIndexes = nil
    group.pairsChanged()
  }

  private func changed() {
    group.pairsChanged()
    rowChanged()
  }

  private func rowChanged() { if !presence.host.isSelf { group.dirty.touch(self) } }

  // MARK: Merging

  /// The common state of the two where they are alike.
  func common(with other: Cohort) -> Relations? {
    guard strand == other.strand, forgottenAt == other.forgottenAt,
      relations.connecting.isEmpty || connectingUntil == other.connectingUntil
    else { return nil }
    var (mine, theirs) = (relations, other.relations)
    if let own = only?.own { mine.copy(own.slot, from: other.relations) }
    if let own = other.only?.own { theirs.copy(own.slot, from: relations) }
    return mine == theirs ? mine : nil
  }

  /// Moves the other's members into this one.
  func absorb(_ other: Cohort, as common: Relations) {
    if relations != common { relations = common }
    for member in other.members {
      member.cohort = self
      add(member)
    }
    other.empty()
  }
}

/// The state of local slots with a member.
struct Relations: Equatable {
  /// The last reported state, where it was not `notConnected`.
  var connected = SlotSet()
  var connecting = SlotSet()
  /// Local slots that it admits, that admit it, and the part of these whose admission has been sent: until the other
  /// side is known to have read that, it cannot mean them by "all".
  var admitted = SlotSet()
  var admits = SlotSet()
  var announced = SlotSet()
  /// Pairs that either has refused; and the part of these that only the other side has refused, and may admit yet.
  var refused = SlotSet()
  var refusedThere = SlotSet()
  /// Local slots that know of it; and the part of these that trust it by decision.
  var met = SlotSet()
  var trusted = SlotSet()

  /// The slots that are connected with it, or about to be.
  var fellows: SlotSet { connected.union(connecting.subtracting(refused)) }

  private static var all: [WritableKeyPath<Relations, SlotSet>] {
    [\.connected, \.connecting, \.admitted, \.admits, \.announced, \.refused, \.refusedThere, \.met, \.trusted]
  }

  mutating func forget(_ slot: Int) {
    connected.remove(slot)
    connecting.remove(slot)
    admitted.remove(slot)
    admits.remove(slot)
    announced.remove(slot)
    refused.remove(slot)
    refusedThere.remove(slot)
    met.remove(slot)
    trusted.remove(slot)
  }

  mutating func keepOnly(_ slots: SlotSet) {
    for set in Self.all { self[keyPath: set] = self[keyPath: set].intersection(slots) }
  }

  func shifted(by offset: Int) -> Relations {
    var moved = Relations()
    for set in Self.all { moved[keyPath: set] = self[keyPath: set].shifted(by: offset) }
    return moved
  }

  mutating func formUnion(_ other: Relations) {
    for set in Self.all { self[keyPath: set].formUnion(other[keyPath: set]) }
  }

  fileprivate mutating func copy(_ slot: Int, from other: Relations) {
    for set in Self.all where self[keyPath: set].contains(slot) != other[keyPath: set].contains(slot) {
      if other[keyPath: set].contains(slot) { self[keyPath: set].insert(slot) } else { self[keyPath: set].remove(slot) }
    }
  }
}

extension Array {
  fileprivate mutating func replaceWithLast(at place: Int) {
    swapAt(place, count - 1)
    removeLast()
  }
}
