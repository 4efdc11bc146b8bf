import Engine
import Wire

/// Discovery by level: a host's view of another is brought in line with the other's records, each time when something
/// may have changed and the announcement has come through.
extension World {
  func publish(_ host: SimHost, _ peer: PeerID, _ type: ServiceType, _ name: DisplayName, _ info: DiscoveryInfo) {
    let sighting = Sighting(
      peer: peer, host: host.id, type: type, name: name, info: info, addresses: addresses(of: host))
    publish(host, SimHost.Record(type: type, sighting: sighting, rosterAddresses: [], run: host.run))
  }

  func publishRoster(_ host: SimHost, _ type: ServiceType) {
    publish(host, SimHost.Record(type: type, sighting: nil, rosterAddresses: addresses(of: host), run: host.run))
  }

  func publishRelay(_ host: SimHost, _ medium: Int) {
    transcript.add(now, host.index) { "says\(words(of: medium)) that it relays" }
    publish(
      host,
      SimHost.Record(type: .relays, sighting: nil, rosterAddresses: addresses(of: host), run: host.run, only: medium))
  }

  func withdrawRelay(_ host: SimHost, _ medium: Int) {
    host.published.removeAll { $0.type == .relays && $0.only == medium }
    announce(host)
  }

  /// Adds a record of the host itself to its others, as real hosts do; relays look for it.
  private func publishSelf(_ host: SimHost) {
    guard relayMedium != nil, !host.published.contains(where: { $0.type == .hosts }) else { return }
    host.published.append(
      SimHost.Record(type: .hosts, sighting: nil, rosterAddresses: addresses(of: host), run: host.run))
  }

  private func publish(_ host: SimHost, _ record: SimHost.Record) {
    publishSelf(host)
    if let place = host.published.firstIndex(where: { $0.replaces(record) }) {
      host.published[place] = record
    } else {
      host.published.append(record)
    }
    announce(host)
  }

  func withdraw(_ host: SimHost, _ peer: PeerID?, _ type: ServiceType) {
    host.published.removeAll { $0.sighting?.peer == peer && $0.type == type }
    announce(host)
  }

  func look(_ host: SimHost, _ type: ServiceType) {
    if !host.looksFor.contains(type) { host.looksFor.append(type) }
    for other in hosts { refresh(viewer: host.index, publisher: other.index) }
  }

  func announce(_ host: SimHost) {
    // Its own records come back to it too, as they do from a real daemon.
    for viewer in hosts where !viewer.looksFor.isEmpty { refresh(viewer: viewer.index, publisher: host.index) }
  }

  func refresh(viewer: Int, publisher: Int) {
    let delay = Int64(wires.below(faults.discoveryDelay + 1)) * 1_000_000 + 1_000_000
    events.push(.discovery(viewer: viewer, publisher: publisher), at: now + delay)
  }

  func discover(viewer: SimHost, publisher: SimHost) {
    guard viewer.isUp, viewer.isMalicious == false else { return }
    for medium in mediumDownUntil.indices { discover(viewer: viewer, publisher: publisher, by: medium) }
  }

  private func discover(viewer: SimHost, publisher: SimHost, by medium: Int) {
    let place = publisher.index * hosts.count + viewer.index
    let isThere = publisher.isUp || publisher.isMalicious
    var isSeen = isThere && has(medium, publisher) && has(medium, viewer)
    if isThere {
      guard hiddenUntil[place] <= now else { return }
      // A medium without probes itself withdraws the records of hosts that it does not reach.
      if viewer.index != publisher.index, !isUp(from: publisher.index, to: viewer.index, by: medium) {
        guard !isProbed(medium) else { return }
        isSeen = false
      }
    }
    let wanted =
      isSeen
      ? publisher.published.filter { viewer.looksFor.contains($0.type) && ($0.only ?? medium) == medium }.map {
        record($0, by: medium)
      } : []
    let run = viewer.run
    for seen in viewer.sightings[publisher.index]
    where seen.medium == medium && !wanted.contains(where: { $0.replaces(seen.record) }) {
      viewer.sightings[publisher.index].removeAll { $0.id == seen.id }
      viewer.sightingOwners[seen.id] = nil
      with(viewer.index, run) { host, engine in engine.sightingGone(seen.id, at: host.local(now)) }
    }
    for record in wanted {
      let known = viewer.sightings[publisher.index].firstIndex {
        $0.medium == medium && $0.record.replaces(record)
      }
      let id: SightingID
      if let known {
        guard viewer.sightings[publisher.index][known].record != record else { continue }
        id = viewer.sightings[publisher.index][known].id
        viewer.sightings[publisher.index][known].record = record
      } else {
        viewer.sightingLast += 1
        id = SightingID(rawValue: viewer.sightingLast)
        viewer.sightings[publisher.index].append(SimHost.Seen(id: id, medium: medium, record: record))
        viewer.sightingOwners[id] = (publisher.index, medium)
      }
      with(viewer.index, run) { host, engine in
        if let sighting = record.sighting {
          engine.sighted(id, sighting, at: host.local(now))
        } else {
          engine.sightedRoster(
            id, of: publisher.id, type: record.type, addresses: record.rosterAddresses,
            medium: MediumID(rawValue: medium), at: host.local(now))
        }
      }
    }
  }

  // MARK: Probes

  func probe(_ host: SimHost, _ id: SightingID) {
    guard let (target, medium) = host.sightingOwners[id], !wires.chance(perMille: faults.probeLoss) else { return }
    guard isUp(from: host.index, to: target, by: medium) else { return }
    let time = Int64(wires.within(faults.latencyMin...max(faults.latencyMin, faults.latencyMax))) * 1_000_000 + 20_000
    events.push(.probe(host: host.index, run: host.run, id), at: now + time)
  }

  func probeArrives(from host: Int, _ run: Int, _ id: SightingID) {
    guard let (target, medium) = hosts[host].sightingOwners[id], hosts[target].isUp || hosts[target].isMalicious else {
      return
    }
    guard isUp(from: target, to: host, by: medium), !wires.chance(perMille: faults.probeLoss) else { return }
    events.push(.probed(host: host, run: run, id), at: now + Int64(faults.latencyMin) * 1_000_000 + 20_000)
  }
}
