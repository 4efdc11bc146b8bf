import Engine
import Wire

/// The model's knowledge of the shared clock that an endpoint reads.
struct ClockRecord {
  /// When its program last read it; nil where only another host has requested it.
  var readAt: Int64?
  var last: ClockReading
  /// When its source or its steps last changed.
  var changedAt: Int64
}

extension World {
  func readClock(_ ref: PeerRef, _ endpoint: EndpointID, _ host: SimHost, _ engine: Engine) {
    do {
      let reading = try engine.readClock(of: endpoint, at: host.local(now))
      log(host, "\(ref) reads its shared clock: \(reading.time), within \(reading.bound)")
      model.reads(endpoint, reading)
    } catch {
      model.violate(.callsThatMakeSenseWork, "\(ref) cannot read its shared clock: \(error)")
    }
  }
}

extension Model {
  func reads(_ endpoint: EndpointID, _ reading: ClockReading) {
    if clocks[endpoint]?.readAt == nil { clocks[endpoint] = nil }
    note(reading, of: endpoint)
    clocks[endpoint]?.readAt = now
  }

  private func note(_ reading: ClockReading, of endpoint: EndpointID) {
    guard let known = clocks[endpoint] else {
      clocks[endpoint] = ClockRecord(readAt: nil, last: reading, changedAt: now)
      return
    }
    check(
      .clockNeverGoesBack, known.readAt == nil || reading.steps != known.last.steps || reading.time >= known.last.time
    ) {
      "\(label(endpoint)) reads \(reading.time) after \(known.last.time)"
    }
    let isSame = reading.steps == known.last.steps && reading.source == known.last.source
    clocks[endpoint] = ClockRecord(
      readAt: known.readAt, last: reading, changedAt: isSame ? known.changedAt : now)
  }

  /// Each clock is as near to the one that it follows as it says.
  func checkClocks(_ world: World) {
    for here in order where clocks[here.id] != nil {
      if isRunning(here), let reading = peek(here, world) { note(reading, of: here.id) } else { clocks[here.id] = nil }
    }
    for here in order {
      guard let reading = clocks[here.id]?.last, let source = reading.source, let host = world.hostsByID[source],
        !isMalicious[host],
        let there = member(of: here, at: host), let other = peek(there, world),
        !wereDisturbed(here.ref.host, host, within: Self.clockSettling)
      else { continue }
      if clocks[there.id] == nil { note(other, of: there.id) }
      guard isSettled(here), isSettled(there) else { continue }
      let apart = reading.time - other.time
      let allowed = reading.bound + other.bound
      check(.clockWithinBound, max(apart, .zero - apart) <= allowed) {
        "\(here.label) reads \(reading.time), and \(there.label), which it follows, \(other.time): over \(allowed)"
      }
    }
  }

  /// In a healed world members who read the clock are synchronized, and read about the same.
  func checkClocksAgree(_ world: World, _ standing: [EndpointRecord]) {
    for here in standing {
      guard let record = clocks[here.id], isRead(record), let reading = peek(here, world),
        !here.pairOrder.contains(where: { here.pairs[$0]?.state == .connected && isMaliciousEndpoint($0) })
      else { continue }
      check(.clocksAgree, reading.isSynchronized) { "\(here.label) has a clock that is not synchronized" }
      for remote in here.pairOrder where here.pairs[remote]?.state == .connected {
        guard let there = endpoints[remote], standing.contains(where: { $0 === there }), let other = clocks[remote],
          isRead(other), let theirs = peek(there, world)
        else { continue }
        let apart = reading.time - theirs.time
        check(.clocksAgree, max(apart, .zero - apart) <= .seconds(2) + reading.bound + theirs.bound) {
          "\(here.label) reads \(reading.time), and \(there.label), with which it is connected, \(theirs.time)"
        }
      }
    }
  }

  /// Whether it is still kept synchronized.
  private func isRead(_ record: ClockRecord) -> Bool { record.readAt.map { now - $0 < 55_000_000_000 } ?? false }

  private func isMaliciousEndpoint(_ endpoint: EndpointID) -> Bool {
    endpoints[endpoint].map { isMalicious[$0.ref.host] } ?? true
  }

  private func isRunning(_ record: EndpointRecord) -> Bool {
    record.isOpen && record.isWatched && !record.isGone && isHostUp[record.ref.host]
  }

  private func peek(_ record: EndpointRecord, _ world: World) -> ClockReading? {
    let host = world.hosts[record.ref.host]
    return host.engine?.peekClock(of: record.id, at: host.local(now))
  }

  /// An endpoint of that host with which this one is connected.
  private func member(of here: EndpointRecord, at host: Int) -> EndpointRecord? {
    for remote in here.pairOrder {
      guard let pair = here.pairs[remote], pair.state == .connected, pair.suspendedAt == nil,
        now - pair.since > Int64(Self.clockSettling) * 1_000_000, let there = endpoints[remote],
        there.ref.host == host, isRunning(there)
      else { continue }
      return there
    }
    return nil
  }

  /// Whether it has been unchanged for so long that others have learned of it.
  private func isSettled(_ record: EndpointRecord) -> Bool {
    clocks[record.id].map { now - $0.changedAt > Int64(Self.clockSettling) * 1_000_000 } ?? false
  }

  /// Milliseconds after a change in which a follower may not know of it.
  private static let clockSettling = 6_000
}
