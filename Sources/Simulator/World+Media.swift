import Engine
import Wire

/// Several media between the hosts of a world: who has which, who receives from whom by it, and when it fails.
extension World {
  // MARK: Queries

  /// Whether a host has a medium, and its interface is on as far as it knows.
  func has(_ medium: Int, _ host: SimHost) -> Bool {
    plan.media.isEmpty || host.plan.media.contains(medium) && host.offUntil[medium, default: 0] <= now
  }

  func isProbed(_ medium: Int) -> Bool { plan.media.isEmpty || plan.media[medium].profile.isProbed }

  func datagramBytesMax(of link: SimLink) -> Int {
    plan.media.isEmpty ? faults.datagramBytesMax : plan.media[link.medium].datagramBytesMax
  }

  func words(of medium: Int) -> String { plan.media.isEmpty ? "" : " by \(plan.media[medium].profile.name)" }

  /// A host's record as one medium sees it: with the addresses of that alone.
  func record(_ record: SimHost.Record, by medium: Int) -> SimHost.Record {
    if plan.media.isEmpty { return record }
    func own(_ addresses: [Address]) -> [Address] {
      addresses.filter { address in
        let name = address.description.prefix { $0 != ":" }
        return (plan.media.firstIndex { $0.profile.name == name } ?? 0) == medium
      }
    }
    var seen = record
    seen.rosterAddresses = own(record.rosterAddresses)
    if let sighting = record.sighting {
      seen.sighting?.addresses = own(sighting.addresses)
      seen.sighting?.medium = MediumID(rawValue: medium)
    }
    return seen
  }

  // MARK: Ways

  /// Marks the media that lead from one host to another and back since now.
  func findWays(_ a: Int, _ b: Int) {
    for medium in waySince.indices where waySince[medium][a * hosts.count + b] == .max {
      guard isUp(from: a, to: b, by: medium), isUp(from: b, to: a, by: medium) else { continue }
      setWay(a, b, by: medium, since: now)
    }
  }

  func lostWay(_ a: Int, _ b: Int, by medium: Int) { setWay(a, b, by: medium, since: .max) }

  private func setWay(_ a: Int, _ b: Int, by medium: Int, since: Int64) {
    waySince[medium][a * hosts.count + b] = since
    waySince[medium][b * hosts.count + a] = since
    model.mediaChanged(a, b)
    if since == .max { model.losses.append(MediumLoss(at: now, medium: medium, hosts: [a, b])) }
  }

  /// Whether a medium has led from one host to the other for long enough that a link by it stands.
  func hasLastingWay(_ a: Int, _ b: Int) -> Bool {
    waySince.indices.contains { medium in
      guard medium != relayMedium else { return false }
      let since = waySince[medium][a * hosts.count + b]
      return since < .max && now - since >= Model.mediumSettles && plan.hosts[a].media.contains(medium)
        && plan.hosts[b].media.contains(medium)
    }
  }

  // MARK: Faults

  func fail(_ medium: Int, between a: Int, _ b: Int, for time: Int, _ notice: Notice) {
    transcript.add(now, nil) {
      "\(plan.media[medium].profile.name) between h\(a) and h\(b) fails for \(time) ms (\(notice) notice)"
    }
    bringDown(medium, a, b, until: now + Int64(time) * 1_000_000)
    resetLinks(a, b, medium, notice)
  }

  private func bringDown(_ medium: Int, _ a: Int, _ b: Int, until: Int64) {
    for (from, to) in [(a, b), (b, a)] {
      let place = from * hosts.count + to
      mediumDownUntil[medium][place] = max(mediumDownUntil[medium][place], until)
      events.push(.pathUp(from: from, to: to), at: until)
    }
    lostWay(a, b, by: medium)
    if !hasLastingWay(a, b) {
      model.disturbed(a, b, until: until)
      model.disturbed(b, a, until: until)
    }
    if !isProbed(medium) {
      forgetUnprobed(viewer: a, publisher: b)
      forgetUnprobed(viewer: b, publisher: a)
    }
  }

  /// A medium without probes takes records back after a time.
  func forgetUnprobed(viewer: Int, publisher: Int) {
    if plan.media.allSatisfy(\.profile.isProbed) { return }
    events.push(.discovery(viewer: viewer, publisher: publisher), at: now + Model.unprobedRecordLife)
  }

  func turnOff(_ medium: Int, at host: SimHost, for time: Int, isNoticed: Bool) {
    transcript.add(now, host.index) {
      "loses its \(plan.media[medium].profile.name) for \(time) ms\(isNoticed ? "" : ", unnoticed")"
    }
    let until = now + Int64(time) * 1_000_000
    for other in hosts where other.index != host.index { bringDown(medium, host.index, other.index, until: until) }
    guard isNoticed else { return }
    host.offUntil[medium] = until
    for link in links where link.medium == medium {
      for side in 0...1 where link.ends[side].host == host.index { lose(link, side) }
    }
    interfacesChanged(host)
    events.push(.turnedOn(host: host.index, run: host.run), at: until)
  }

  func turnedOn(_ host: SimHost, _ run: Int) {
    guard host.run == run else { return }
    transcript.add(now, host.index) { "has its media again" }
    interfacesChanged(host)
  }

  /// A host notices that its addresses have changed.
  private func interfacesChanged(_ host: SimHost) {
    guard host.isUp else { return }
    for place in host.published.indices {
      host.published[place].sighting?.addresses = addresses(of: host)
      if host.published[place].sighting == nil { host.published[place].rosterAddresses = addresses(of: host) }
    }
    announce(host)
    for other in hosts { refresh(viewer: host.index, publisher: other.index) }
    with(host.index, host.run) { host, engine in engine.setAddresses(addresses(of: host), at: host.local(now)) }
  }

  func healMedia() {
    for medium in mediumDownUntil.indices {
      for place in mediumDownUntil[medium].indices {
        if mediumDownUntil[medium][place] > now {
          events.push(.pathUp(from: place / hosts.count, to: place % hosts.count), at: now)
        }
        mediumDownUntil[medium][place] = now
      }
    }
    for host in hosts where !host.offUntil.isEmpty {
      host.offUntil = [:]
      interfacesChanged(host)
    }
  }

  // MARK: Outputs

  func changed(_ medium: MediumID, to other: HostID, _ host: SimHost) {
    guard let there = hostsByID[other] else { return }
    transcript.add(now, host.index) { "reaches h\(there)\(words(of: medium.rawValue)) now" }
    model.changedMedium(host.index, there)
  }
}
