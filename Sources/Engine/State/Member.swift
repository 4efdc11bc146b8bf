import Wire

/// A remote endpoint in a group, and where each local slot stands with it.
final class Member {
  let id: EndpointID
  let peer: PeerID
  var entry: Entry {
    didSet {
      changed()
      if entry.terms == oldValue.terms { presence.group.include(self) } else { presence.group.boundsChanged() }
    }
  }
  /// Whether only others have spoken of it: it has not joined here, nor invited or been invited by anybody here.
  var isHearsay = true {
    didSet { if isHearsay { presence.group.boundsChanged() } else { presence.group.include(self) } }
  }
  let host: RemoteHost
  let presence: Presence
  /// The local endpoint that it is, as the others of this host see it.
  let own: LocalEndpoint?
  /// Its number on the present bond; nil until it has joined there.
  var index: UInt32? { didSet { changed() } }

  /// The strand that it joined on.
  var strand: UInt32 = 0

  /// Local slots that know of it; of these, those that trust it by decision.
  var met = SlotSet() { didSet { changed() } }
  var trusted = SlotSet() { didSet { changed() } }
  /// Local slots that admit it, that it admits, and pairs that either has refused.
  var admits = SlotSet() { didSet { changed() } }
  var admitted = SlotSet() { didSet { changed() } }
  var refused = SlotSet() { didSet { changed() } }
  /// Of these, those that only the other side has refused, and may admit yet.
  var refusedThere = SlotSet() { didSet { changed() } }
  /// What was last told, where it was not `notConnected`.
  var connecting = SlotSet()
  private(set) var connected = SlotSet()
  /// Local slots whose admission has been told, with the ordinal of the record: until the other side is known to have
  /// read that far, it cannot mean them by "all".
  private(set) var told = SlotSet()
  private(set) var unsettled: [(ordinal: UInt64, slots: SlotSet)] = []
  private var cachedLocals: Locals?

  /// Whose introduction made it known here, if that was how.
  var introducer: EndpointID?
  /// Word of its next incarnation, which came ahead of what this one still has to say, and waits for it.
  var successor: Successor?
  /// When pairs that are connecting are told to be unreachable.
  var connectingUntil: Instant?
  /// When a member that was lost is forgotten.
  var forgottenAt: Instant?
  /// The security identity it has shown to each local slot.
  var shownChains: [Int: [[UInt8]]] = [:]

  init(entry: Entry, peer: PeerID, own: LocalEndpoint?, host: RemoteHost, presence: Presence) {
    id = entry.endpoint
    self.own = own
    self.peer = peer
    self.entry = entry
    self.host = host
    self.presence = presence
  }

  /// What local peers are to each other is not stored: it follows from their being here.
  private func changed() { if !host.isSelf { presence.group.ledger.touch(member: id, of: presence.group.serial) } }

  func restore(_ row: MemberRow) {
    guard row.sets.count == MemberRow.setCount else { return }
    (met, trusted, admits) = (row.sets[0], row.sets[1], row.sets[2])
    (admitted, refused) = (row.sets[3], row.sets[4])
    connect(row.sets[5])
    refusedThere = row.sets[6]
    unsettled = row.unsettled.map { ($0.ordinal, $0.slots) }
    told = admits
    isHearsay = row.index == 0
  }

  /// Forgets slots whose endpoints did not come back.
  func keepOnly(_ slots: SlotSet) {
    met.subtracting(slots).forEach { forget(slot: $0) }
    connected.subtracting(slots).forEach { forget(slot: $0) }
  }

  var view: MemberView { MemberView(endpoint: id, peer: peer, host: host.id, name: entry.name) }

  func connect(_ slots: SlotSet) {
    connected.formUnion(slots)
    pairsChanged()
  }

  func disconnect(_ slots: SlotSet) {
    guard !connected.intersection(slots).isEmpty else { return }
    connected.subtract(slots)
    pairsChanged()
  }

  private func pairsChanged() {
    cachedLocals = nil
    changed()
    presence.pairsChanged()
  }

  /// Their admission is told by this record, if it was not by an earlier one.
  func settle(_ slots: SlotSet, at ordinal: UInt64) {
    let news = slots.subtracting(told)
    guard !news.isEmpty else { return }
    told.formUnion(news)
    unsettled.append((ordinal, news))
    changed()
  }

  /// The record that tells the slot's admission is the one that announces it to everybody at the member's host.
  func settleWithAnnouncement(_ slot: Int) { told.insert(slot) }

  func isTold(_ slot: Int) -> Bool { told.contains(slot) }

  func unsettle(_ slots: SlotSet) { told.subtract(slots) }

  func clearUnsettled() {
    unsettled = []
    told = SlotSet()
  }

  /// The connected locals as the other side saw them when it had read through `seen`.
  func connected(asSeenAt seen: UInt64) -> Locals? {
    if !unsettled.isEmpty { unsettled.removeAll { $0.ordinal <= seen } }
    if unsettled.isEmpty, presence.lastAnnouncement <= seen {
      if let cachedLocals { return cachedLocals }
      cachedLocals = presence.group.locals(in: connected)
      return cachedLocals
    }
    let heard = connected.subtracting(presence.announced(after: seen, onlyFirst: true))
    return presence.group.locals(in: unsettled.reduce(heard) { $0.subtracting($1.slots) })
  }

  /// Takes over what was known of the same endpoint in a group that has become part of this one.
  func absorb(_ other: Member, offset: Int) {
    if index == nil { (index, strand) = (other.index, other.strand) }
    if !other.isHearsay { isHearsay = false }
    if (other.entry.rank, other.entry.inviter) > (entry.rank, entry.inviter) { entry = other.entry }
    met.formUnion(other.met.shifted(by: offset))
    trusted.formUnion(other.trusted.shifted(by: offset))
    admits.formUnion(other.admits.shifted(by: offset))
    admitted.formUnion(other.admitted.shifted(by: offset))
    refused.formUnion(other.refused.shifted(by: offset))
    refusedThere.formUnion(other.refusedThere.shifted(by: offset))
    connecting.formUnion(other.connecting.shifted(by: offset))
    connect(other.connected.shifted(by: offset))
    told.formUnion(other.told.shifted(by: offset))
    for (ordinal, slots) in other.unsettled { unsettled.append((ordinal, slots.shifted(by: offset))) }
    for slot in other.shownChains.keys.sorted() { shownChains[slot + offset] = other.shownChains[slot] }
    connectingUntil = [connectingUntil, other.connectingUntil].compactMap { $0 }.max()
    if connected.isEmpty { forgottenAt = forgottenAt ?? other.forgottenAt } else { forgottenAt = nil }
  }

  func forget(slot: Int) {
    let only = SlotSet(slot)
    met.subtract(only)
    trusted.subtract(only)
    admits.subtract(only)
    admitted.subtract(only)
    refused.subtract(only)
    refusedThere.subtract(only)
    told.subtract(only)
    connecting.subtract(only)
    disconnect(only)
    shownChains[slot] = nil
    for position in unsettled.indices { unsettled[position].slots.subtract(only) }
  }
}

enum Successor {
  case invite(Invite)
  case answer(Acceptance, OutgoingInvitation)
  case introduced(Entry)
}
