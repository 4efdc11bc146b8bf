import Engine

/// Faults of the net: ways that are down for a while, links that are reset, hosts that die.
extension World {
  func bringDown(from: Int, to: Int, until: Int64) {
    let place = from * hosts.count + to
    downUntil[place] = max(downUntil[place], until)
    model.disturbed(from, to, until: until)
    for medium in mediumDownUntil.indices { lostWay(from, to, by: medium) }
    events.push(.pathUp(from: from, to: to), at: until)
  }

  func pathIsUp(from: Int, to: Int) {
    guard mediumDownUntil.indices.contains(where: { isUp(from: from, to: to, by: $0) }) else { return }
    findWays(from, to)
    model.heard(from: from, to: to)
    refresh(viewer: to, publisher: from)
    for link in links {
      for side in 0...1 where link.ends[side].host == to && link.ends[1 - side].host == from {
        guard link.ends[1 - side].held > 0, isUp(from: from, to: to, by: link.medium) else { continue }
        events.push(.heldArrival(link: link.index, side: side), at: now + 200_000_000)
      }
    }
  }

  /// The medium itself notices that a cable is cut.
  func resetLinks(_ a: Int, _ b: Int, _ notice: Notice) {
    model.disturbed(a, b, until: now)
    model.disturbed(b, a, until: now)
    for medium in mediumDownUntil.indices { lostWay(a, b, by: medium) }
    findWays(a, b)
    resetLinks(a, b, nil, notice)
  }

  /// The same for the links of one medium, or of all.
  func resetLinks(_ a: Int, _ b: Int, _ medium: Int?, _ notice: Notice) {
    guard notice != .neither else { return }
    for link in links where medium == nil || medium == link.medium {
      for side in 0...1 where link.ends[side].host == a && link.ends[1 - side].host == b {
        guard link.ends[side].isOpen || link.ends[1 - side].isOpen else { continue }
        if notice != .second { lose(link, side) }
        if notice != .first { lose(link, 1 - side) }
      }
    }
  }

  /// A host's death as seen by the rest of the net: nothing, or resets by its operating system.
  func hostDied(_ host: SimHost) {
    for other in hosts where other.index != host.index {
      model.disturbed(host.index, other.index, until: now)
      model.disturbed(other.index, host.index, until: now)
      forgetUnprobed(viewer: other.index, publisher: host.index)
      events.push(
        .discovery(viewer: other.index, publisher: host.index), at: now + Int64(faults.recordLife) * 1_000_000)
    }
    // A killed process: the system closes its pipes. A power cut: silence.
    let isQuiet = wires.flip()
    for link in links {
      for side in 0...1 where link.ends[side].host == host.index && link.ends[side].isOpen {
        link.ends[side].isOpen = false
        link.ends[side].hasEnded = true
        if !isQuiet, link.medium != relayMedium {
          send(.end, link, side, at: max(now + link.latency, link.ends[side].arrivalLast))
        }
      }
    }
  }
}
