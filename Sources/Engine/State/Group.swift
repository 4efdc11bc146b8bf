import Wire

/// What this host knows of endpoints that are joined: its own, in slots, and everybody else's.
final class Group {
  /// This host's own number for it.
  let serial: Int
  let label: GroupID
  let ledger: Ledger
  private(set) var locals: [LocalEndpoint?] = []
  private(set) var localSlots = SlotSet()
  /// Of these, those whose endpoints show a security identity, and those that take whomever they may.
  private(set) var identified = SlotSet()
  private(set) var open = SlotSet()
  private(set) var localCount = 0
  private var remoteCount = 0
  private var knownBounds: Bounds?
  private(set) var members = Table<EndpointID, Member>()
  private var membersByPeer: [PeerID: [Member]] = [:]
  var presences = Table<HostID, Presence>()
  /// Endpoints that left, with the incarnation that did.
  private(set) var departed = Table<EndpointID, EndpointIncarnation>()
  /// Of these, those for whom there was no room, with the place that they lost: they are still there, and may come
  /// back to another.
  var overflowed: [EndpointID: (rank: UInt32, inviter: EndpointID)] = [:]
  /// Introductions that name local endpoints, newest last: to be shown to who has not heard of them.
  var tickets: [Introduction] = []

  init(serial: Int, label: GroupID, ledger: Ledger) {
    self.serial = serial
    self.label = label
    self.ledger = ledger
    ledger.touch(group: serial)
  }

  /// A host's part of a message.
  struct Share {
    var presence: Presence
    var addressing: Presence.Addressing
  }

  /// What each local slot says to everybody, until a pair changes.
  private var shares: [[Share]?] = []

  func shares(for slot: Int) -> [Share] {
    if slot < shares.count, let known = shares[slot] { return known }
    var made: [Share] = []
    presences.forEach { _, presence in
      let addressing = presence.addressing(for: slot)
      if !addressing.recipients.isEmpty { made.append(Share(presence: presence, addressing: addressing)) }
    }
    while shares.count <= slot { shares.append(nil) }
    shares[slot] = made
    return made
  }

  func pairsChanged() { shares = [] }

  func noteDeparture(of endpoint: EndpointID, _ incarnation: EndpointIncarnation) {
    if let known = departed[endpoint], known >= incarnation { return }
    if departed.count >= Self.departedMax {
      // The older half, so that many go at the cost of one.
      for old in departed.keys.prefix(Self.departedMax / 2) { departed[old] = nil }
    }
    departed[endpoint] = incarnation
    ledger.touch(group: serial)
  }

  func forgetDeparture(of endpoint: EndpointID) {
    departed[endpoint] = nil
    ledger.touch(group: serial)
  }

  /// An introduction that was under way when its endpoint left is late by seconds; in that time fewer leave.
  private static let departedMax = 4_096

  var allLocals: [LocalEndpoint] { locals.compactMap { $0 } }

  func local(at slot: Int) -> LocalEndpoint? { slot < locals.count ? locals[slot] : nil }

  func add(_ local: LocalEndpoint) {
    let free = localCount == locals.count ? nil : locals.firstIndex { $0 == nil }
    place(local, at: free ?? locals.count)
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
    knownBounds?.include(local)
    ledger.touch(local.id)
  }

  func remove(_ local: LocalEndpoint) {
    locals[local.slot] = nil
    localSlots.remove(local.slot)
    identified.remove(local.slot)
    open.remove(local.slot)
    localCount -= 1
    boundsChanged()
    members.forEach { _, member in member.forget(slot: local.slot) }
    presences.forEach { _, presence in presence.forget(slot: local.slot) }
  }

  /// Lets go of everybody.
  func empty() {
    members.removeAll()
    membersByPeer = [:]
    presences.forEach { _, presence in presence.members.removeAll() }
    presences.removeAll()
    locals = []
    pairsChanged()
  }

  func add(_ member: Member) {
    members[member.id] = member
    membersByPeer[member.peer, default: []].append(member)
    if !member.host.isSelf { remoteCount += 1 }
    knownBounds?.include(member)
  }

  func remove(_ member: Member) {
    guard members[member.id] != nil else { return }
    if !member.host.isSelf { remoteCount -= 1 }
    members[member.id] = nil
    membersByPeer[member.peer]?.removeAll { $0.id == member.id }
    if membersByPeer[member.peer]?.isEmpty == true { membersByPeer[member.peer] = nil }
    boundsChanged()
  }

  /// Its endpoints here: one, but where it takes part with several sessions of its own.
  func members(of peer: PeerID) -> [Member] { membersByPeer[peer] ?? [] }

  func choiceChanged(of local: LocalEndpoint) {
    guard self.local(at: local.slot) === local else { return }
    if local.isOpen { open.insert(local.slot) } else { open.remove(local.slot) }
  }

  /// Local slots with which no rule stands against the member, and nobody is to be asked; others may have none either.
  func plain(_ slots: SlotSet, with member: Member) -> SlotSet {
    guard bounds.needs.agrees(with: Needs(member.entry.terms.encryption)) else { return SlotSet() }
    var plain = slots.intersection(open).subtracting(member.refused)
    if let own = member.own { plain.remove(own.slot) }
    return plain
  }

  func boundsChanged() { knownBounds = nil }

  /// A member's own host has spoken of it, or its place is further back now; places do not move forward.
  func include(_ member: Member) { knownBounds?.include(member) }

  /// The same of a local endpoint's place.
  func rankRose(to rank: UInt32) {
    if let known = knownBounds { knownBounds?.rankMax = max(known.rankMax, rank) }
  }

  /// Everybody: local endpoints, and members of other hosts.
  var size: Int { localCount + remoteCount }

  /// Those for whom there is no room, where everybody is let in by turn as long as that breaks nobody's limit.
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

  /// How far another group's slots are moved where it becomes part of this one.
  func offset(for other: Group) -> Int {
    // A session that others come to one by one uses their slots again.
    guard other.localCount == 1, let only = other.allLocals.first else { return locals.count }
    return (locals.firstIndex { $0 == nil } ?? locals.count) - only.slot
  }

  /// What all who are in put together allow and ask for.
  struct Bounds {
    var peersMax = UInt32.max
    var needs = Needs()
    var rankMax: UInt32 = 0

    mutating func include(_ local: LocalEndpoint) {
      include(local.settings.peersMax, local.needs, local.rank)
    }

    /// Who is only heard of has no limit.
    mutating func include(_ member: Member) {
      let entry = member.entry
      include(member.isHearsay ? .max : entry.terms.peersMax, Needs(entry.terms.encryption), entry.rank)
    }

    private mutating func include(_ peersMax: UInt32, _ needs: Needs, _ rank: UInt32) {
      self.peersMax = min(self.peersMax, peersMax)
      self.needs.formUnion(needs)
      rankMax = max(rankMax, rank)
    }
  }

  var bounds: Bounds {
    if let knownBounds { return knownBounds }
    var bounds = Bounds()
    for case let local? in locals { bounds.include(local) }
    members.forEach { _, member in bounds.include(member) }
    knownBounds = bounds
    return bounds
  }

  var standing: Standing { Standing(size: UInt32(size), peersMax: bounds.peersMax, needs: bounds.needs) }

  /// The same for everybody who hears the same members.
  var digest: (count: UInt32, sum: UInt64) {
    var count: UInt32 = 0
    var sum: UInt64 = 0
    func add(_ endpoint: EndpointID) {
      count += 1
      sum ^= (endpoint.raw.high &* 0x9E37_79B9_7F4A_7C15) ^ endpoint.raw.low
    }
    for local in allLocals { add(local.id) }
    members.forEach { _, member in if !member.host.isSelf, member.index != nil { add(member.id) } }
    return (count, sum)
  }
}

/// Another host as part of a group.
final class Presence {
  let host: RemoteHost
  let group: Group
  var members = Table<EndpointID, Member>()
  /// On the present bond; nil until something was sent.
  var strand: Strand?
  /// Local slots that have been announced on the present bond, and the records that did, in order.
  private(set) var announcedSlots = SlotSet()
  private var announcements: [Announcement] = []
  private(set) var lastAnnouncement: UInt64 = 0

  private struct Announcement {
    var ordinal: UInt64
    var slot: Int
    /// Whether nobody here had heard of the slot before: then it tells its admission too.
    var isFirst: Bool
  }
  /// When those who were not known there are announced again, and how often they have been.
  var announcesAgain: Instant?
  var announcedInVain = 0
  /// What was last heard of, and told about, the roster.
  var myDigest: (count: UInt32, sum: UInt64)?
  var theirDigest: (count: UInt32, sum: UInt64)?
  var rosterSentFor: (mine: UInt64, theirs: UInt64)?
  private var addressings: [Addressing?] = []

  /// Who of the members here is connected with a local slot.
  struct Addressing {
    var audience: Audience
    var recipients: [EndpointID]
  }

  init(host: RemoteHost, group: Group) {
    self.host = host
    self.group = group
  }

  /// Whether all who are here came with others of the introducer's, and so hear of those from there.
  func isIntroduced(by introducer: EndpointID) -> Bool { !members.contains { $0.introducer != introducer } }

  /// Slots that are to be announced again, though the host knows of them.
  var repeats = SlotSet()

  func isAnnounced(_ slot: Int) -> Bool { announcedSlots.contains(slot) }
  var unannounced: SlotSet { group.localSlots.subtracting(announcedSlots) }

  func setAnnounced(_ slot: Int, at ordinal: UInt64, isFirst: Bool) {
    announcements.append(Announcement(ordinal: ordinal, slot: slot, isFirst: isFirst))
    lastAnnouncement = max(lastAnnouncement, ordinal)
    announcedSlots.insert(slot)
    announcementsChanged()
  }

  /// Whom the other side had not heard of when it had read this host's records through `seen`.
  func announced(after seen: UInt64, onlyFirst: Bool = false) -> SlotSet {
    var slots = SlotSet()
    for announcement in announcements.reversed().prefix(while: { $0.ordinal > seen })
    where announcement.isFirst || !onlyFirst {
      slots.insert(announcement.slot)
    }
    return slots
  }

  /// Nothing that was said to the host of this group counts any more.
  func forgetBond() {
    strand = nil
    announcements = []
    lastAnnouncement = 0
    announcedSlots = SlotSet()
    repeats = SlotSet()
    theirDigest = nil
    rosterSentFor = nil
    announcementsChanged()
  }

  private func announcementsChanged() { group.ledger.touch(presence: host.id, of: group.serial) }

  /// After a restart it is not known by which record, but that it was one of those through `last`. All is said again.
  func restore(announced slots: SlotSet, through last: UInt64) {
    slots.forEach { setAnnounced($0, at: last, isFirst: false) }
    repeats = slots
  }

  func absorbAnnouncements(of other: Presence, offset: Int) {
    for old in other.announcements { setAnnounced(old.slot + offset, at: old.ordinal, isFirst: old.isFirst) }
    announcements.sort { $0.ordinal < $1.ordinal }
    repeats.formUnion(other.repeats.shifted(by: offset))
    announcesAgain = [announcesAgain, other.announcesAgain].compactMap { $0 }.min()
    announcedInVain = max(announcedInVain, other.announcedInVain)
  }

  func forget(slot: Int) {
    if isAnnounced(slot) {
      announcedSlots.remove(slot)
      announcements.removeAll { $0.slot == slot }
      announcementsChanged()
    }
    repeats.remove(slot)
    if slot < addressings.count { addressings[slot] = nil }
    group.pairsChanged()
  }

  func pairsChanged() {
    addressings = []
    group.pairsChanged()
  }

  func addressing(for slot: Int) -> Addressing {
    if slot < addressings.count, let known = addressings[slot] { return known }
    var indexes: [UInt32] = []
    var recipients: [EndpointID] = []
    var isAll = true
    members.forEach { _, member in
      // Nobody speaks to itself.
      guard let index = member.index, member.own?.slot != slot else { return }
      if member.connected.contains(slot) {
        indexes.append(index)
        recipients.append(member.id)
      } else {
        isAll = false
      }
    }
    let made = Addressing(audience: isAll ? .all : .only(indexes.sorted()), recipients: recipients)
    while addressings.count <= slot { addressings.append(nil) }
    addressings[slot] = made
    return made
  }
}

extension Group {
  func locals(in slots: SlotSet) -> Locals? {
    if let slot = slots.only { return local(at: slot).map { .one($0.id) } }
    var ids: [EndpointID] = []
    slots.forEach { slot in if let local = local(at: slot) { ids.append(local.id) } }
    return ids.isEmpty ? nil : ids.count == 1 ? .one(ids[0]) : .many(ids)
  }
}

extension UInt32 {
  var saturatingSuccessor: UInt32 { self == .max ? self : self + 1 }
}
