import Wire

/// A remote endpoint in a group; its cohort has its state with local slots.
final class RemoteMember {
  let id: EndpointID
  let peer: PeerID
  var entry: Entry {
    didSet {
      changed()
      if (entry.name, entry.terms, entry.inviter) != (oldValue.name, oldValue.terms, oldValue.inviter) {
        cohort.viewsChanged()
      }
      presence.group.recount(self)
    }
  }
  /// Whether only others have mentioned it: it has not joined here, nor invited or been invited by anybody here.
  var isHearsay = true { didSet { presence.group.recount(self) } }
  /// The constraint as which its group counts it; nil while it is not in.
  var counted: Group.Constraint?
  let host: RemoteHost
  let presence: Presence
  /// The local endpoint that it is, as the others of this host see it.
  let own: LocalEndpoint?
  /// Its number on the present bond; nil until it has joined there.
  var index: UInt32? {
    didSet {
      changed()
      cohort.indexesChanged()
      if counted != nil, (index == nil) != (oldValue == nil) { presence.group.countInDigest(self) }
    }
  }
  /// The members in the same state, and its position among them.
  var cohort: Cohort { didSet { changed() } }
  var place = 0
  /// Admissions in flight: the records that carried them, or the last that the member had read before them. Until the
  /// other side is known to have read one, it cannot mean these slots by "all", as far as their endpoints' numbers go
  /// no further than at that time.
  private(set) var unsettled: [(ordinal: UInt64, indexLast: UInt32, slots: SlotSet)] = []
  /// The last of those that the other side is known to have read.
  private var settledThrough: UInt64 = 0

  /// The member whose introduction made it known here, if one did.
  var introducer: EndpointID?
  /// Its next incarnation, announced before all records of this one were read, and waiting for them.
  var successor: Successor?
  /// The security identity that it has shown, leaf first; one for all local slots, so that a host stores one for each
  /// endpoint.
  private(set) var chain: [[UInt8]] = []
  /// The local slots that it has shown it to.
  private(set) var shownTo = SlotSet()

  init(entry: Entry, peer: PeerID, own: LocalEndpoint?, index: UInt32? = nil, in cohort: Cohort) {
    id = entry.endpoint
    self.index = index
    self.own = own
    self.peer = peer
    self.entry = entry
    self.cohort = cohort
    presence = cohort.presence
    host = presence.host
    cohort.add(self)
  }

  /// The same endpoint, in the group into which its own was merged.
  convenience init(movedFrom old: RemoteMember, to cohort: Cohort, offset: Int) {
    // An initializer calls no observers: the cohort has to see the number as it adds the member.
    self.init(entry: old.entry, peer: old.peer, own: old.own, index: old.index, in: cohort)
    isHearsay = old.isHearsay
    takeOver(old, offset: offset)
  }

  /// The state between local peers is not stored: it follows from their being here.
  func changed() { if !host.isSelf { presence.group.dirty.touch(member: id, of: presence.group.serial) } }

  var view: MemberView {
    MemberView(
      endpoint: id, peer: peer, host: host.id, name: entry.name, awaySince: awaySince,
      encryption: entry.terms.encryption, inviter: inviter == id ? nil : inviter, chain: chain)
  }

  private var inviter: EndpointID { own?.inviter ?? entry.inviter }
  private var awaySince: Instant? { own.map(\.peer.awaySince) ?? host.away[peer]?.since }

  // MARK: Its security identity

  /// It has proved to a local slot that it holds the key of this chain, and has shown the same one to all others.
  func showed(_ chain: [[UInt8]], to slot: Int) {
    if self.chain != chain {
      self.chain = chain
      cohort.viewsChanged()
    }
    shownTo.insert(slot)
    chainChanged()
  }

  func forgetChain(shownTo slot: Int) {
    guard shownTo.contains(slot) else { return }
    shownTo.remove(slot)
    if shownTo.isEmpty { forgetChain() } else { chainChanged() }
  }

  /// On the next bond it shows it again.
  func forgetChain() {
    guard !chain.isEmpty else { return }
    (chain, shownTo) = ([], SlotSet())
    cohort.viewsChanged()
    chainChanged()
  }

  func restore(_ row: ChainRow) { (chain, shownTo) = (row.chain, row.shownTo) }

  func chainChanged() { if !host.isSelf { presence.group.dirty.touch(chainOf: id, in: presence.group.serial) } }

  // MARK: State

  var connected: SlotSet { withoutItself(cohort.relations.connected) }
  var connecting: SlotSet { withoutItself(cohort.relations.connecting) }

  private func withoutItself(_ slots: SlotSet) -> SlotSet { own.map { slots.subtracting(SlotSet($0.slot)) } ?? slots }

  func isConnected(with slot: Int) -> Bool { own?.slot != slot && cohort.relations.connected.contains(slot) }
  func isConnecting(with slot: Int) -> Bool { own?.slot != slot && cohort.relations.connecting.contains(slot) }
  func isRefused(by slot: Int) -> Bool { own?.slot != slot && cohort.relations.refused.contains(slot) }

  // MARK: Settled admissions

  /// Their admission is in this record, or followed from it.
  func settle(_ slots: SlotSet, at ordinal: UInt64, indexLast: UInt32) {
    if let last = unsettled.last, last.ordinal == ordinal, last.indexLast == indexLast {
      unsettled[unsettled.count - 1].slots.formUnion(slots)
    } else {
      unsettled.append((ordinal, indexLast, slots))
    }
    changed()
  }

  func clearUnsettled() {
    unsettled = []
    settledThrough = 0
  }

  /// The connected locals as the other side saw them when it had read through `seen`; a message out of order may be
  /// older than what came before it, and no older state is known.
  func connected(asSeenAt seen: UInt64, inOrder: Bool) -> Locals? {
    if inOrder, !unsettled.isEmpty {
      for (ordinal, _, _) in unsettled where ordinal <= seen { settledThrough = max(settledThrough, ordinal) }
      unsettled.removeAll { $0.ordinal <= seen }
    }
    guard inOrder || seen >= settledThrough else { return nil }
    let later = unsettled.filter { $0.ordinal > seen }
    if later.isEmpty, presence.lastAnnouncement <= seen {
      return own == nil ? cohort.locals : cohort.locals?.without(id)
    }
    var heard = connected.subtracting(presence.announced(after: seen, onlyFirst: true))
    for (_, indexLast, slots) in later {
      slots.forEach { slot in
        if let local = presence.group.local(at: slot), local.index <= indexLast { heard.remove(slot) }
      }
    }
    return presence.group.locals(in: heard)
  }

  // MARK: Taking over

  func restore(_ row: MemberRow) {
    unsettled = row.unsettled.map { ($0.ordinal, $0.indexLast, $0.slots) }
    isHearsay = row.index == 0
  }

  /// Takes over the state of the same endpoint in a group that was merged into this one; it is alone in its cohort, as
  /// far as that is concerned.
  func absorb(_ other: RemoteMember, offset: Int) {
    if index == nil {
      index = other.index
      cohort.strand = other.cohort.strand
    }
    if !other.isHearsay { isHearsay = false }
    if (other.entry.rank, other.entry.inviter) > (entry.rank, entry.inviter) { entry = other.entry }
    cohort.relations.formUnion(other.cohort.relations.shifted(by: offset))
    cohort.connectingUntil = [cohort.connectingUntil, other.cohort.connectingUntil].compactMap { $0 }.max()
    cohort.forgottenAt = cohort.isConnected ? nil : cohort.forgottenAt ?? other.cohort.forgottenAt
    takeOver(other, offset: offset)
  }

  /// The state that the cohort does not have.
  private func takeOver(_ other: RemoteMember, offset: Int) {
    settledThrough = max(settledThrough, other.settledThrough)
    for (ordinal, indexLast, slots) in other.unsettled {
      unsettled.append((ordinal, indexLast, slots.shifted(by: offset)))
    }
    guard !other.chain.isEmpty else { return }
    if chain.isEmpty { chain = other.chain }
    shownTo.formUnion(other.shownTo.shifted(by: offset))
    cohort.viewsChanged()
    chainChanged()
  }
}

enum Successor {
  case invite(InvitationRequest)
  case answer(Acceptance, OutgoingInvitation)
  case introduced(Entry)
}
