import Wire

/// The durable state of a host, and its recovery after a restart.
///
/// Invariant: nothing that depends on unstored state leaves this host. Records are sent, and records of others
/// acknowledged, only after the batch that holds them; the outputs of a mutation stand before its batch, and belong to
/// it.
struct Store {
  /// Batches in flight, oldest first.
  var batches = Deque<Batch>()
  var lastBatch: UInt64 = 0
  /// Whether the batch is held open for more changes.
  var isHeld = false
  /// Sessions of peers that have not been added again.
  var unclaimed = OrderedDictionary<EndpointID, EndpointRow>()
  /// Stored refusals of people whose peers have not been added again.
  var refusals = OrderedDictionary<PeerID, RefusalsRow<EndpointID>>()
  /// Transfers that wait for their sessions.
  var resources = OrderedDictionary<ResourceID, ResourceRow>()
  var isRestoring = false

  struct Batch {
    var number: UInt64
    var positions: [Position]
    /// How much of each incoming resource the batch stores.
    var stored: [(ResourceReceiver, UInt64)]
  }

  /// How far a bond has come with the batch.
  struct Position {
    var bond: Bond
    var next: UInt64
    var received: UInt64
    var strands: [(IncomingStrand, UInt64)]
  }
}

extension Engine {
  // MARK: Storing

  /// Collects all changes into one batch until `releaseStore`.
  public func holdStore() {
    precondition(!store.isHeld, "one hold within another")
    store.isHeld = true
  }

  public func releaseStore(at now: Instant) {
    precondition(store.isHeld, "a release without a hold")
    beginMutation(now)
    store.isHeld = false
    finishMutation()
  }

  func flushStore() {
    // Group commit: changes during a write go into the next batch, however slow the disk is.
    guard dirty.isKept, !dirty.isEmpty, store.batches.isEmpty, !store.isHeld else { return }
    store.lastBatch += 1
    var facts: [Fact] = []
    func put(_ key: RowKey, _ row: (some Part)?) {
      facts.append(
        Fact(
          key: key.bytes,
          value: row.map { row in
            var sink = ArraySink()
            row.encode(into: &sink)
            return sink.bytes
          }))
    }
    for id in dirty.endpoints.keys { put(.endpoint(id), endpoints[id].map(EndpointRow.init)) }
    for serial in dirty.groups.keys { put(.group(serial), groups[serial].map(GroupRow.init)) }
    for key in dirty.members.keys {
      let member = groups[key.group]?.members[key.endpoint]
      put(.member(key.group, key.endpoint), member.flatMap { $0.host.isSelf ? nil : MemberRow($0) })
    }
    for key in dirty.formerCohorts { put(.cohort(key.group, key.number), CohortRow?.none) }
    for key in dirty.cohorts.keys {
      // One that has come and gone since the last batch never had a row.
      guard let cohort = dirty.cohorts[key], cohort.isStored || !cohort.members.isEmpty else { continue }
      cohort.isStored = !cohort.members.isEmpty
      put(.cohort(key.group, key.number), cohort.isStored ? CohortRow(cohort) : nil)
    }
    for id in dirty.peers.keys {
      put(.refusals(id), peers[id].flatMap { $0.refusals.isEmpty ? nil : RefusalsRow($0.refusals) })
    }
    for key in dirty.chains.keys {
      let member = groups[key.group]?.members[key.endpoint]
      put(.chain(key.group, key.endpoint), member.flatMap { $0.chain.isEmpty ? nil : ChainRow($0) })
    }
    for key in dirty.presences.keys {
      let announced = groups[key.group]?.presences[key.host]?.announcedSlots
      put(.presence(key.group, key.host), announced.flatMap { $0.isEmpty ? nil : $0 })
    }
    for key in dirty.records.keys {
      let sendQueue = hosts[key.host]?.bond?.sendQueue
      put(.record(key.host, key.ordinal), sendQueue?.row(of: key.ordinal))
    }
    var stored: [(ResourceReceiver, UInt64)] = []
    for id in dirty.resources.keys {
      put(.resource(id), flows.senders[id].map(ResourceRow.init) ?? flows.receivers[id].map(ResourceRow.init))
      if let receiver = flows.receivers[id] { stored.append((receiver, receiver.stored)) }
    }
    var positions: [Store.Position] = []
    for id in dirty.bonds.keys {
      guard let bond = hosts[id]?.bond, bond.hasBeenOpen, let key = bond.host.key else {
        put(.bond(id), BondRow?.none)
        if let bond = hosts[id]?.bond { positions.append(position(of: bond)) }
        continue
      }
      put(.bond(id), BondRow(bond, key: key))
      positions.append(position(of: bond))
    }
    dirty.clear()
    store.batches.append(Store.Batch(number: store.lastBatch, positions: positions, stored: stored))
    emit(.persist(batch: store.lastBatch, facts: facts))
  }

  private func position(of bond: Bond) -> Store.Position {
    Store.Position(
      bond: bond, next: bond.sendQueue.next, received: bond.received,
      strands: bond.incoming.values.map { ($0, $0.received) })
  }

  /// A batch is stored, and all before it.
  public func persisted(_ batch: UInt64, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    while let first = store.batches.first, first.number <= batch {
      store.batches.removeFirst()
      for (receiver, offset) in first.stored { settle(receiver, through: offset) }
      for position in first.positions {
        let bond = position.bond
        bond.sendQueue.release(through: position.next - 1)
        bond.stored = max(bond.stored, position.received)
        for (strand, received) in position.strands { strand.stored = max(strand.stored, received) }
        guard bond.isOpen, let link = bond.link else { continue }
        if bond.sendQueue.hasUnsent { wake(link) }
        if bond.acknowledgesAt == nil { scheduleAcknowledgement(bond) }
      }
    }
  }

  // MARK: Restoring

  /// Restores the stored state; the sessions wait for their peers.
  func restore(_ facts: [Fact]) {
    var groupRows = OrderedDictionary<Int, GroupRow>()
    var memberRows: [(Int, MemberRow)] = []
    var cohortRows: [DirtySet.CohortKey: CohortRow] = [:]
    var chainRows: [(Int, EndpointID, ChainRow)] = []
    var announced: [(Int, HostID, SlotSet)] = []
    var bondRows: [(HostID, BondRow)] = []
    var recordRows: [HostID: [(UInt64, RecordRow)]] = [:]
    for fact in facts.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
      guard let key = RowKey(bytes: fact.key), let value = fact.value else { continue }
      switch key {
      case .endpoint(let id): store.unclaimed[id] = row(value)
      case .group(let serial): groupRows[serial] = row(value)
      case .member(let serial, _): if let row: MemberRow = row(value) { memberRows.append((serial, row)) }
      case .cohort(let serial, let number): cohortRows[.init(group: serial, number: number)] = row(value)
      case .refusals(let id): store.refusals[id] = row(value)
      case .chain(let serial, let id): if let row: ChainRow = row(value) { chainRows.append((serial, id, row)) }
      case .presence(let serial, let host): if let row: SlotSet = row(value) { announced.append((serial, host, row)) }
      case .bond(let host): if let row: BondRow = row(value) { bondRows.append((host, row)) }
      case .record(let host, let ordinal):
        if let row: RecordRow = row(value) { recordRows[host, default: []].append((ordinal, row)) }
      case .resource(let id):
        skipNumbers(through: id.rawValue)
        store.resources[id] = row(value)
      }
    }
    guard !store.unclaimed.isEmpty || !store.refusals.isEmpty else { return }
    store.isRestoring = true
    groupRows.forEach { serial, row in restore(row, serial) }
    // Members come back in cohorts of their own, until alike ones are merged.
    for key in cohortRows.keys.sorted(by: { ($0.group, $0.number) < ($1.group, $1.number) }) {
      dirty.touch(formerCohort: key)
      groups[key.group]?.skipCohorts(through: key.number)
    }
    // A host uses each number once: contradictory rows are left out.
    var owners: [HostID: [UInt32: EndpointID]] = [:]
    for (serial, row) in memberRows {
      let (host, endpoint) = (row.entry.host, row.entry.endpoint)
      guard row.index == 0 || owners[host]?[row.index] ?? endpoint == endpoint else { continue }
      owners[host, default: [:]][row.index] = endpoint
      let state = row.cohort == 0 ? row.ownState : cohortRows[.init(group: serial, number: row.cohort)]
      if let state { restore(row, state, in: serial) }
    }
    for (serial, id, row) in chainRows { groups[serial]?.members[id]?.restore(row) }
    for (host, row) in bondRows { restore(row, records: recordRows[host] ?? [], with: host) }
    for (serial, host, slots) in announced {
      guard let presence = groups[serial]?.presences[host], let bond = presence.host.bond else { continue }
      presence.restore(announced: slots, through: bond.fence)
    }
    // The driver comes back at once, after it has added its peers.
    timers.set(.restoring, now)
  }

  private func row<R: Part>(_ bytes: [UInt8]) -> R? {
    // A UInt8 has no padding to show.
    var reader = Reader(unsafe bytes.span.bytes)
    guard let row = try? R(from: &reader), reader.atEnd else { return nil }
    return row
  }

  private func restore(_ row: GroupRow, _ serial: Int) {
    let group = Group(serial: serial, label: row.label, dirty: dirty)
    for departed in row.departed { group.noteDeparture(of: departed.endpoint, departed.incarnation) }
    groups[serial] = group
    skipNumbers(through: UInt64(serial))
  }

  private func restore(_ row: MemberRow, _ state: CohortRow, in serial: Int) {
    guard let group = groups[serial], row.entry.host != hostID, group.members[row.entry.endpoint] == nil,
      !store.unclaimed.contains(row.entry.endpoint)
    else { return }
    let host = host(row.entry.host)
    host.learn(byHearsay: row.entry.addresses)
    let member = enter(row.entry, host, group)
    member.index = row.index == 0 ? nil : row.index
    let cohort = alone(member)
    if member.index != nil { cohort.strand = state.strand }
    cohort.relations = state.relations
    member.restore(row)
    if !cohort.isConnected { cohort.forgottenAt = now + Self.forgottenAfterRestart }
  }

  /// The default time for which hosts look for each other.
  private static let forgottenAfterRestart: Duration = .seconds(600)

  private func restore(_ row: BondRow, records: [(UInt64, RecordRow)], with id: HostID) {
    guard id != hostID, id == HostID(digest: crypto.hash(HostID.preimage(of: row.key))) else { return }
    let host = host(id)
    host.key = row.key
    host.incarnation = row.incarnation
    host.learn(byHearsay: row.addresses)
    let suspension = row.suspension == 0 ? longestSuspension : .milliseconds(Int(row.suspension))
    let bond = Bond(host: host, nonce: row.nonce, suspensionMax: suspension, at: now)
    bond.restore(row)
    for (serial, presence) in host.presences.keys.map({ ($0, host.presences[$0]) }) {
      let strand = row.strands.first { $0.group == UInt64(serial) }
      presence?.strand = strand.flatMap { bond.strand($0.id) }
    }
    for incoming in row.incoming { bond.incoming[incoming.id]?.group = Int(incoming.group) }
    for presence in host.presences.values {
      for member in presence.members.values {
        if let index = member.index { bond.members[index, default: []].append(member) }
      }
    }
    bond.sendQueue.restore(first: row.first)
    for (ordinal, record) in records.sorted(by: { $0.0 < $1.0 }) where ordinal == bond.sendQueue.next {
      guard let strand = bond.strand(record.strand) else { break }
      bond.sendQueue.restore(record, of: strand, at: now)
      bond.behind[strand.id] = strand
      skipNumbers(through: record.message)
    }
    guard bond.sendQueue.next == row.next else { return }  // Contradictory rows: the bond begins anew.
    bond.fence = row.next - 1
    host.bond = bond
    timers.set(.bond(id), now + bond.suspensionMax)
  }

  /// Restores the refusals of a peer that was added again.
  func restoreRefusals(of peer: LocalPeer) {
    guard let row = store.refusals[peer.id] else { return }
    store.refusals[peer.id] = nil
    if sabotage.contains(.forgetsAnswers) { return }
    peer.refusals = Refusals(row, restingUntil: now + settings.adhocUnansweredPause)
  }

  /// Restores the sessions of a peer that was added again.
  func restoreSessions(of peer: LocalPeer) {
    for id in store.unclaimed.keys {
      guard let row = store.unclaimed[id], row.peer == peer.id, let group = groups[Int(row.group)],
        group.local(at: Int(row.slot)) == nil, endpointsByIndex[row.index] == nil
      else { continue }
      store.unclaimed[id] = nil
      let local = LocalEndpoint(
        id: id, peer: peer, settings: row.settings, incarnation: row.incarnation, index: row.index, group: group,
        slot: Int(row.slot))
      local.restore(row)
      if !sabotage.contains(.forgetsAnswers) {
        local.refusals = Refusals(row.refusals, restingUntil: now + settings.adhocUnansweredPause)
      }
      group.place(local, at: Int(row.slot))
      endpoints[id] = local
      peer.endpoints.append(id)
      endpointsByIndex[local.index] = local
      skipIndexes(through: local.index)
    }
  }

  /// All returning peers have been added: reports to their programs where they stand.
  func finishRestoring() {
    store.isRestoring = false
    store.unclaimed.forEach { id, row in
      dirty.touch(id)
      sendGone(row)
    }
    store.unclaimed.removeAll()
    store.refusals.forEach { id, _ in dirty.touch(peer: id) }
    store.refusals.removeAll()
    for group in groups.values {
      guard group.localCount > 0 else {
        dissolve(group)
        continue
      }
      for presence in group.presences.values {
        for cohort in cohorts(of: presence) { cohort.relations.keepOnly(group.localSlots) }
        emitRestored(presence)
      }
      for local in group.allLocals { mirror(local) }
      for presence in group.presences.values {
        for cohort in cohorts(of: presence) { meet(cohort, group.localSlots.subtracting(cohort.relations.met)) }
      }
    }
    store.resources.forEach { id, row in restore(row, id) }
    store.resources.removeAll()
    for host in hosts.values where !host.isSelf {
      if host.bond == nil {
        for presence in host.presences.values {
          for cohort in cohorts(of: presence) { lost(cohort, .lost) }
        }
      }
      ensureLink(host)
    }
  }

  /// Restores a transfer, if its two ends still exist.
  private func restore(_ row: ResourceRow, _ id: ResourceID) {
    guard let member = member(of: row.pair), let tree = row.tree else {
      dirty.touch(resource: id)
      if row.ending == nil { emit(.resourceEnded(id, .gone)) }
      return
    }
    // A transfer whose pair is not connected is offered again.
    let lanes = connectedMember(of: row.pair)?.host.bond?.lanes
    if row.isIncoming {
      let receiver = ResourceReceiver(
        id: id, flow: row.flow, pair: row.pair, host: member.host.id, info: row.info, isAccepted: row.isAccepted,
        at: now)
      if !sabotage.contains(.forgetsStored) { receiver.restore(stored: row.stored, tree: tree, at: now) }
      receiver.ending = row.ending
      flows.add(receiver)
      lanes?.receivers[row.flow] = receiver
      schedule(receiver)
      if row.ending == nil {
        if row.isAccepted, !sabotage.contains(.trustsFiles) { receiver.beginRereading() }
        emit(.resource(id, receiver.view))
        reread(receiver)
      }
      // All of it was received, and nothing more will come.
      finishIfWhole(receiver)
    } else {
      let sender = ResourceSender(
        id: id, flow: row.flow, pair: row.pair, host: member.host.id, info: row.info, at: now)
      sender.wasRestored = true
      sender.hasSaidEnd = row.info.size != nil && row.info.root != nil
      sender.ending = row.ending
      flows.add(sender)
      lanes?.senders[row.flow] = sender
      schedule(sender)
      if row.ending == nil { emit(.resource(id, sender.view)) }
    }
    if let ordinal = row.ending?.ordinal { member.host.bond?.lanes.expectAcknowledgement(of: id, at: ordinal) }
  }

  /// Tells the other hosts that an endpoint did not come back.
  private func sendGone(_ row: EndpointRow) {
    for presence in groups[Int(row.group)]?.presences.values ?? [] where presence.isAnnounced(Int(row.slot)) {
      record(presence) {
        Leave(record: $0, index: row.index, reason: .gone, seen: presence.host.bond?.received ?? 0)
      }
    }
  }

  private func emitRestored(_ presence: Presence) {
    for cohort in presence.cohorts {
      emitState(cohort, cohort.relations.connected, .connecting)
      emitState(cohort, cohort.relations.connected, .connected)
      emitSuspended(cohort, cohort.relations.connected, true)
    }
  }
}
