import Wire

/// Another host as part of a group.
final class Presence {
  let host: RemoteHost
  let group: Group
  private(set) var members = OrderedDictionary<EndpointID, RemoteMember>()
  private(set) var cohorts: [Cohort] = []
  /// Whether one of its cohorts has changed since alike ones were last merged.
  var isDirty = false
  /// On the present bond; nil until something was sent.
  var strand: Strand?
  /// Local slots that have been announced on the present bond, and the records that did, in order.
  private(set) var announcedSlots = SlotSet()
  private var announcements: [Announcement] = []
  private(set) var lastAnnouncement: UInt64 = 0
  /// The latest join of each slot: its record, and the endpoint to which it was addressed.
  private var joins: [Int: (ordinal: UInt64, target: EndpointID)] = [:]
  private var lastJoin: UInt64 = 0

  private struct Announcement {
    var ordinal: UInt64
    var slot: Int
    /// Whether the slot is new to this host: then it says its admission too.
    var isFirst: Bool
  }
  /// When those who were not known there are announced again, and how often they have been.
  var announcesAgain: Instant?
  var unansweredAnnouncements = 0
  /// The last digests of the roster, own and received, and the state for which one was sent.
  var myDigest: (count: UInt32, sum: UInt64)?
  var theirDigest: (count: UInt32, sum: UInt64)?
  var rosterSentFor: (mine: UInt64, theirs: UInt64)?

  /// Some of the members here who are connected with a local slot: as many as one message can name.
  struct Addressing {
    var selection: EndpointSelection
    var recipients: [EndpointID]
  }

  init(host: RemoteHost, group: Group) {
    self.host = host
    self.group = group
  }

  /// Adds a new member, of whom no local slot knows yet.
  func add(_ entry: Entry, peer: PeerID, own: LocalEndpoint?) -> RemoteMember {
    let cohort = Cohort(in: self)
    let member = RemoteMember(entry: entry, peer: peer, own: own, in: cohort)
    members[member.id] = member
    cohorts.append(cohort)
    group.pairsChanged()
    return member
  }

  /// Adds a cohort of new members, whom the group knows already.
  func add(_ cohort: Cohort) {
    for member in cohort.members { members[member.id] = member }
    cohorts.append(cohort)
  }

  func remove(_ member: RemoteMember) {
    members[member.id] = nil
    member.cohort.remove(member)
    group.pairsChanged()
  }

  /// Drops all members, which refer to it as it does to them.
  func empty() {
    members.removeAll()
    for cohort in cohorts { cohort.empty() }
    cohorts = []
  }

  /// Whether one of its endpoints is connected with one here.
  var isConnected: Bool { cohorts.contains { $0.isConnected && !$0.members.isEmpty } }

  /// Whether anybody here has joined on the present bond.
  var hasJoined: Bool { cohorts.contains { $0.strand != nil && !$0.members.isEmpty } }

  func mergeAlike() {
    var gathered = cohorts.filter { !$0.isDirty && !$0.members.isEmpty }
    for cohort in cohorts where cohort.isDirty && !cohort.members.isEmpty {
      cohort.isDirty = false
      if let place = place(alike: cohort, among: gathered) {
        let (other, common) = place
        if gathered[other].members.count < cohort.members.count {
          cohort.absorb(gathered[other], as: common)
          gathered[other] = cohort
        } else {
          gathered[other].absorb(cohort, as: common)
        }
      } else {
        gathered.append(cohort)
      }
    }
    cohorts = gathered
    isDirty = false
  }

  private func place(alike cohort: Cohort, among others: [Cohort]) -> (Int, Relations)? {
    for (place, other) in others.prefix(Self.comparedMax).enumerated() {
      if let common = cohort.common(with: other) { return (place, common) }
    }
    return nil
  }

  /// Only a forger has more kinds of members for long; then they stay apart.
  private static let comparedMax = 64

  /// Whether all members here came by the introducer, and so are introduced by it.
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

  func noteJoin(of slot: Int, at ordinal: UInt64, to target: EndpointID) {
    joins[slot] = (ordinal, target)
    lastJoin = max(lastJoin, ordinal)
  }

  /// Slots whose latest join went to an endpoint that had left before its host read that: it reached nobody.
  func joins(to target: EndpointID, after seen: UInt64) -> SlotSet {
    // Nearly all who leave a crowd had read every one of them.
    guard lastJoin > seen else { return SlotSet() }
    return joins.reduce(into: SlotSet()) { slots, join in
      if join.value.target == target, join.value.ordinal > seen { slots.insert(join.key) }
    }
  }

  /// Slots that were announced after the records that the other side had read through `seen`.
  func announced(after seen: UInt64, onlyFirst: Bool = false) -> SlotSet {
    var slots = SlotSet()
    for announcement in announcements.reversed().prefix(while: { $0.ordinal > seen })
    where announcement.isFirst || !onlyFirst {
      slots.insert(announcement.slot)
    }
    return slots
  }

  /// The record that announced a slot first.
  func announcement(of slot: Int) -> UInt64? { announcements.last { $0.slot == slot }?.ordinal }

  /// Forgets all that was sent on the present bond.
  func forgetBond() {
    strand = nil
    announcements = []
    lastAnnouncement = 0
    joins = [:]
    lastJoin = 0
    announcedSlots = SlotSet()
    repeats = SlotSet()
    theirDigest = nil
    rosterSentFor = nil
    announcementsChanged()
  }

  private func announcementsChanged() { group.dirty.touch(presence: host.id, of: group.serial) }

  /// After a restart the record is not known, only that it was one of those through `last`. All is announced again.
  func restore(announced slots: SlotSet, through last: UInt64) {
    slots.forEach { setAnnounced($0, at: last, isFirst: false) }
    repeats = slots
  }

  func absorbAnnouncements(of other: Presence, offset: Int) {
    for old in other.announcements { setAnnounced(old.slot + offset, at: old.ordinal, isFirst: old.isFirst) }
    announcements.sort { $0.ordinal < $1.ordinal }
    for (slot, join) in other.joins { noteJoin(of: slot + offset, at: join.ordinal, to: join.target) }
    repeats.formUnion(other.repeats.shifted(by: offset))
    announcesAgain = [announcesAgain, other.announcesAgain].compactMap { $0 }.min()
    unansweredAnnouncements = max(unansweredAnnouncements, other.unansweredAnnouncements)
  }

  func forget(slot: Int) {
    if isAnnounced(slot) {
      announcedSlots.remove(slot)
      announcements.removeAll { $0.slot == slot }
      joins[slot] = nil
      announcementsChanged()
    }
    repeats.remove(slot)
    for cohort in cohorts { cohort.relations.forget(slot) }
  }

  /// The recipients of a local slot's message to everybody here who is connected with it.
  func addressings(for slot: Int) -> [Addressing] {
    let own = host.isSelf ? group.local(at: slot) : nil
    let joined = cohorts.filter { $0.strand != nil && !$0.members.isEmpty && !(own.map($0.isOnly) ?? false) }
    let connected = joined.filter { $0.relations.connected.contains(slot) }
    guard !connected.isEmpty else { return [] }
    var recipients = connected.count == 1 ? connected[0].ids : connected.flatMap(\.ids)
    if let own { recipients.removeAll { $0 == own.id } }
    if connected.count == joined.count { return [Addressing(selection: .all, recipients: recipients)] }
    return addressings(for: recipients.compactMap { members[$0] })
  }

  /// A message that names its members names so many at most.
  func addressings(for members: [RemoteMember]) -> [Addressing] {
    stride(from: 0, to: members.count, by: Limits.selectedIndexesMax).map { start in
      let some = members[start..<min(start + Limits.selectedIndexesMax, members.count)]
      return Addressing(selection: .only(some.compactMap(\.index).sorted()), recipients: some.map(\.id))
    }
  }

  func connectedCount(with slot: Int) -> Int {
    cohorts.reduce(0) { $0 + ($1.relations.connected.contains(slot) ? $1.members.count : 0) }
  }
}
