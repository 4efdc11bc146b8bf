import Wire

/// Endpoints that are joined, as this host knows them: its own, in slots, and all others.
final class Group {
  /// This host's own number for it.
  let serial: Int
  let label: GroupID
  let dirty: DirtySet
  private(set) var locals: [LocalEndpoint?] = []
  private(set) var localSlots = SlotSet()
  /// Local slots whose endpoints show a security identity, and those that admit everybody they may.
  private(set) var identified = SlotSet()
  private(set) var open = SlotSet()
  private(set) var localCount = 0
  /// Local slots whose programs are behind.
  private var behindCount = 0
  var isBehind: Bool { behindCount > 0 }
  private var remoteCount = 0
  /// A count of the members with each limit and need.
  private var constraints: [Constraint: Int] = [:]
  private var knownBounds: (peersMax: UInt32, needs: Needs)?
  /// The highest rank that anybody here has had.
  private(set) var rankMax: UInt32 = 0
  /// A digest of the roster, equal for all hosts with the same members.
  private(set) var digest: (count: UInt32, sum: UInt64) = (0, 0)
  private var knownLocals: [EndpointID]?
  private(set) var members = OrderedDictionary<EndpointID, RemoteMember>()
  private var membersByPeer = OrderedDictionary<PeerID, [RemoteMember]>()
  var presences = OrderedDictionary<HostID, Presence>()
  /// Tombstones: endpoints that left, with their incarnation, so that late introductions do not bring them back.
  private(set) var departed = OrderedDictionary<EndpointID, EndpointIncarnation>()
  /// Departed endpoints for which there was no room, with the rank that they lost: they still exist, and may come back
  /// to another.
  var overflowed: [EndpointID: (rank: UInt32, inviter: EndpointID)] = [:]
  /// Introductions that name local endpoints, newest last: shown to hosts that do not know them.
  var tickets: [Introduction] = []
  /// The shared clock, once it was read here or by another host.
  var clock: GroupClock?
  /// When ad hoc mode invites the peers of each place that are not connected with all local endpoints.
  var turns = OrderedDictionary<Discovery.Place, AdhocTurn>()
  /// The number of its latest cohort.
  private var lastCohort: UInt64 = 0
  /// The group into which this one was merged.
  private var successor: Group?

  init(serial: Int, label: GroupID, dirty: DirtySet) {
    self.serial = serial
    self.label = label
    self.dirty = dirty
    dirty.touch(group: serial)
  }

  /// A host's part of a message.
  struct Share {
    var presence: Presence
    var addressing: Presence.Addressing
  }

  /// A cache: the shares of each local slot's messages to all, at a state of the pairs.
  private var shares: [(state: UInt64, shares: [Share])] = []
  private var pairsState: UInt64 = 1

  func shares(for slot: Int) -> [Share] {
    if slot < shares.count, shares[slot].state == pairsState { return shares[slot].shares }
    var made: [Share] = []
    presences.forEach { _, presence in
      for addressing in presence.addressings(for: slot) {
        made.append(Share(presence: presence, addressing: addressing))
      }
    }
    while shares.count <= slot { shares.append((0, [])) }
    shares[slot] = (pairsState, made)
    return made
  }

  func pairsChanged() { pairsState += 1 }

  func numberOfCohort() -> UInt64 {
    lastCohort += 1
    return lastCohort
  }

  func skipCohorts(through number: UInt64) { lastCohort = max(lastCohort, number) }

  /// This group, or the one into which it was merged.
  var current: Group { successor?.current ?? self }

  func noteDeparture(of endpoint: EndpointID, _ incarnation: EndpointIncarnation) {
    if let known = departed[endpoint], known >= incarnation { return }
    if departed.count >= Self.departedMax {
      // Removes the older half, so that many go at the cost of one.
      for old in departed.keys.prefix(Self.departedMax / 2) { departed[old] = nil }
    }
    departed[endpoint] = incarnation
    dirty.touch(group: serial)
  }

  func forgetDeparture(of endpoint: EndpointID) {
    departed[endpoint] = nil
    dirty.touch(group: serial)
  }

  /// An introduction that was in flight when its endpoint left is late by seconds; fewer leave in that time.
  private static let departedMax = 4_096

  var allLocals: [LocalEndpoint] { locals.compactMap { $0 } }
  var firstLocal: LocalEndpoint? { locals.lazy.compactMap { $0 }.first }

  func local(at slot: Int) -> LocalEndpoint? { slot < locals.count ? locals[slot] : nil }

  func note(_ local: LocalEndpoint, isBehind: Bool) {
    guard local.isBehind != isBehind else { return }
    local.isBehind = isBehind
    behindCount += isBehind ? 1 : -1
  }

  func add(_ local: LocalEndpoint) {
    place(local, at: freeSlot)
  }

  private var freeSlot: Int {
    localCount == locals.count ? locals.count : locals.firstIndex { $0 == nil } ?? locals.count
  }

  func place(_ local: LocalEndpoint, at slot: Int) {
    while locals.count <= slot { locals.append(nil) }
    locals[slot] = local
    local.slot = slot
    local.group = self
    localSlots.insert(slot)
    if local.settings.identity != nil { identified.insert(slot) }
    choiceChanged(of: local)
    localCount += 1
    if local.isBehind { behindCount += 1 }
    count(Constraint(local))
    rankMax = max(rankMax, local.rank)
    countInDigest(local.id, 1)
    knownLocals = nil
    dirty.touch(local.id)
  }

  func remove(_ local: LocalEndpoint) {
    locals[local.slot] = nil
    localSlots.remove(local.slot)
    identified.remove(local.slot)
    open.remove(local.slot)
    localCount -= 1
    if local.isBehind { behindCount -= 1 }
    discount(Constraint(local))
    countInDigest(local.id, -1)
    knownLocals = nil
    presences.forEach { _, presence in presence.forget(slot: local.slot) }
    guard constraints.contains(where: { $0.key.showsIdentity }) else { return }
    members.forEach { _, member in member.forgetChain(shownTo: local.slot) }
  }

  func empty(into successor: Group? = nil) {
    self.successor = successor
    members.removeAll()
    membersByPeer.removeAll()
    presences.forEach { _, presence in presence.empty() }
    presences.removeAll()
    locals = []
    shares = []
  }

  func add(_ member: RemoteMember) {
    members[member.id] = member
    membersByPeer[member.peer, default: []].append(member)
    if !member.host.isSelf { remoteCount += 1 }
    member.counted = Constraint(member)
    count(Constraint(member))
    rankMax = max(rankMax, member.entry.rank)
    if member.index != nil { countInDigest(member) }
  }

  func remove(_ member: RemoteMember) {
    guard members[member.id] != nil else { return }
    if !member.host.isSelf { remoteCount -= 1 }
    members[member.id] = nil
    membersByPeer[member.peer]?.removeAll { $0.id == member.id }
    if membersByPeer[member.peer]?.isEmpty == true { membersByPeer[member.peer] = nil }
    if let counted = member.counted { discount(counted) }
    member.counted = nil
    if member.index != nil, !member.host.isSelf { countInDigest(member.id, -1) }
  }

  func countOfPeers(before peer: PeerID) -> Int {
    var count = 0
    membersByPeer.forEach { other, _ in if other < peer { count += 1 } }
    return count
  }

  /// Its endpoints here: one, or several where it takes part with several sessions.
  func members(of peer: PeerID) -> [RemoteMember] { membersByPeer[peer] ?? [] }

  /// The slots that are connected with a peer, or about to be.
  func fellows(of peer: PeerID) -> SlotSet {
    let members = members(of: peer)
    if members.count == 1 { return members[0].cohort.relations.fellows }
    return members.reduce(into: SlotSet()) { $0.formUnion($1.cohort.relations.fellows) }
  }

  func choiceChanged(of local: LocalEndpoint) {
    guard self.local(at: local.slot) === local else { return }
    if local.isOpen { open.insert(local.slot) } else { open.remove(local.slot) }
  }

  /// Local slots that no rule keeps from the cohort, and that need no decision; others may turn out the same.
  func plain(_ slots: SlotSet, with cohort: Cohort) -> SlotSet {
    let needs = cohort.only.map { Needs($0.entry.terms.encryption) } ?? bounds.needs
    guard bounds.needs.agrees(with: needs) else { return SlotSet() }
    var plain = slots.intersection(open).subtracting(cohort.relations.refused)
    if let own = cohort.only?.own { plain.remove(own.slot) }
    return plain
  }

  var size: Int { localCount + remoteCount }

  /// Members for whom there is no room, where all are admitted by rank as long as no limit is exceeded.
  var overflowing: [EndpointID] {
    var turns = allLocals.map { ($0.rank, $0.inviter, $0.id, $0.settings.peersMax) }
    members.forEach { _, member in
      guard !member.host.isSelf, !member.isHearsay else { return }
      turns.append((member.entry.rank, member.entry.inviter, member.id, member.entry.terms.peersMax))
    }
    turns.sort { ($0.0, $0.1, $0.2) < ($1.0, $1.1, $1.2) }
    var (count, limit) = (0, UInt32.max)
    var over: [EndpointID] = []
    for (_, _, endpoint, own) in turns {
      guard count < Int(min(limit, own)) else {
        over.append(endpoint)
        continue
      }
      count += 1
      limit = min(limit, own)
    }
    return over
  }

  /// The offset of another group's slots when it is merged into this one.
  func offset(for other: Group) -> Int {
    // A session that others come to one by one uses their slots again.
    guard other.localCount == 1, let only = other.firstLocal else { return locals.count }
    return freeSlot - only.slot
  }

  // MARK: Constraints

  /// One member's limit and needs.
  struct Constraint: Hashable {
    var peersMax: UInt32
    var encryption: Encryption
    var showsIdentity: Bool

    init(_ local: LocalEndpoint) { self.init(local.terms, isHearsay: false) }
    init(_ member: RemoteMember) { self.init(member.entry.terms, isHearsay: member.isHearsay) }

    /// An endpoint that is hearsay has no limit.
    private init(_ terms: Terms, isHearsay: Bool) {
      peersMax = isHearsay ? .max : terms.peersMax
      encryption = terms.encryption
      showsIdentity = terms.showsIdentity
    }
  }

  private func count(_ demand: Constraint) {
    if let count = constraints[demand] { return constraints[demand] = count + 1 }
    constraints[demand] = 1
    knownBounds = nil
  }

  private func discount(_ demand: Constraint) {
    guard let count = constraints[demand] else { return }
    constraints[demand] = count == 1 ? nil : count - 1
    if count == 1 { knownBounds = nil }
  }

  /// A member has changed, and its limit and needs may have.
  func recount(_ member: RemoteMember) {
    guard let counted = member.counted else { return }
    rankMax = max(rankMax, member.entry.rank)
    let demand = Constraint(member)
    guard demand != counted else { return }
    discount(counted)
    count(demand)
    member.counted = demand
  }

  /// A local endpoint's rank is higher now; ranks do not fall.
  func rankRose(to rank: UInt32) { rankMax = max(rankMax, rank) }

  var bounds: (peersMax: UInt32, needs: Needs) {
    if let knownBounds { return knownBounds }
    var bounds = (peersMax: UInt32.max, needs: Needs())
    for demand in constraints.keys {
      bounds.peersMax = min(bounds.peersMax, demand.peersMax)
      bounds.needs.formUnion(Needs(demand.encryption))
    }
    knownBounds = bounds
    return bounds
  }

  var standing: Standing { Standing(size: UInt32(size), peersMax: bounds.peersMax, needs: bounds.needs) }

  // MARK: Rosters

  private var rostersSent: (count: Int, since: Instant) = (0, .init(nanoseconds: 0))

  /// Rate limit: where very many know little of each other, each host introduces a few at a time, and some of those
  /// introduce the next.
  func mayTellRoster(at now: Instant, within pause: Duration) -> Bool {
    if now - rostersSent.since >= pause { rostersSent = (0, now) }
    rostersSent.count += 1
    return rostersSent.count <= Self.rostersSentMax
  }

  private static let rostersSentMax = 4

  /// A member of another host has joined, or has left.
  func countInDigest(_ member: RemoteMember) {
    if !member.host.isSelf { countInDigest(member.id, member.index == nil ? -1 : 1) }
  }

  private func countInDigest(_ endpoint: EndpointID, _ change: Int) {
    digest.count = UInt32(Int(digest.count) + change)
    digest.sum ^= (endpoint.raw.high &* 0x9E37_79B9_7F4A_7C15) ^ endpoint.raw.low
  }
}

extension Group {
  func locals(in slots: SlotSet) -> Locals? {
    if let slot = slots.only { return local(at: slot).map { .one($0.id) } }
    if slots == localSlots, let knownLocals { return knownLocals.isEmpty ? nil : .many(knownLocals) }
    var ids: [EndpointID] = []
    slots.forEach { slot in if let local = local(at: slot) { ids.append(local.id) } }
    if slots == localSlots { knownLocals = ids }
    return ids.isEmpty ? nil : ids.count == 1 ? .one(ids[0]) : .many(ids)
  }
}

extension Locals {
  func without(_ endpoint: EndpointID) -> Locals? {
    guard case .many(var endpoints) = self else { return all[0] == endpoint ? nil : self }
    endpoints.removeAll { $0 == endpoint }
    return endpoints.isEmpty ? nil : endpoints.count == 1 ? .one(endpoints[0]) : .many(endpoints)
  }
}

extension UInt32 {
  var saturatingSuccessor: UInt32 { self == .max ? self : self + 1 }
}

/// The next turn of a group in ad hoc mode to invite peers of one host.
struct AdhocTurn {
  var due: Instant
  /// How many turns there were since all of the peers were connected.
  var round = 0
  /// The peers that have been invited since all had their turn.
  var tried = OrderedDictionary<PeerID, Bool>()
}
