import Wire

@testable import Engine

/// Hosts that report their peers over a link, as the others see them.
extension TestNetwork {
  struct Roster {
    var host: Host
    var type: ServiceType
  }

  func publishRoster(_ type: ServiceType, by host: Host) {
    let roster = Roster(host: host, type: type)
    rosters.append(roster)
    for other in hosts where other.looks.contains(type) { show(roster, to: other) }
  }

  func withdrawRoster(_ type: ServiceType, by host: Host) {
    for roster in rosters where roster.host === host && roster.type == type {
      for other in hosts { forget(roster, by: other) }
    }
    rosters.removeAll { $0.host === host && $0.type == type }
  }

  func showRosters(of type: ServiceType, to host: Host) {
    for roster in rosters where roster.type == type { show(roster, to: host) }
  }

  func forget(_ roster: Roster, by host: Host) {
    if host !== roster.host { host.engine.sightingGone(sighting(of: spot(of: roster, by: host)), at: now) }
  }

  private func show(_ roster: Roster, to host: Host) {
    guard host !== roster.host, hears(host, roster.host) else { return }
    let engine = roster.host.engine
    host.engine.sightedRoster(
      sighting(of: spot(of: roster, by: host)), of: engine.hostID, type: roster.type,
      addresses: engine.settings.addresses, at: now)
  }

  private func spot(of roster: Roster, by host: Host) -> String {
    "\(host.name) sees the roster of \(roster.type) at \(roster.host.name)"
  }
}
