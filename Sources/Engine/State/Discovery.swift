import Wire

/// Peers that advertise, as media see them and hosts report them.
final class Discovery {
  /// A service type and a peer that advertises it.
  struct ServiceInstance: Hashable {
    var type: ServiceType
    var peer: PeerID
  }

  struct Appearance {
    var name: DisplayName
    var info: DiscoveryInfo
    var host: HostID
    var awaySince: Instant?
  }

  /// A host on which peers advertise a service type.
  struct Place: Hashable {
    var type: ServiceType
    var host: HostID
  }

  /// The peers in a place that ad hoc mode invites, in order of discovery.
  struct Invitable {
    var peers = OrderedDictionary<PeerID, Bool>()
    /// No peer that was ever among them is higher.
    var highest: PeerID
  }

  /// A record of a host that reports its peers over a link.
  struct RosterRecord {
    var host: HostID
    var type: ServiceType
    var addresses: [Address]
    var medium: MediumID
  }

  private(set) var sightings = OrderedDictionary<SightingID, Sighting>()
  private(set) var rosters = OrderedDictionary<SightingID, RosterRecord>()
  private var bySpot = OrderedDictionary<ServiceInstance, [SightingID]>()
  private var byHost = OrderedDictionary<HostID, [SightingID]>()
  /// The reports of hosts on their peers, and whether each came over the present link.
  private(set) var reports = OrderedDictionary<
    HostID, OrderedDictionary<ServiceInstance, (appearance: Appearance, isFresh: Bool)>
  >()
  private var reporters = OrderedDictionary<ServiceInstance, [HostID]>()

  /// The peers that browsers have been shown.
  var visible = OrderedDictionary<ServiceInstance, Appearance>()
  /// Those of them that ad hoc mode invites, by type and host: not peers of this host that are in it themselves.
  private(set) var invitable = OrderedDictionary<ServiceType, OrderedDictionary<HostID, Invitable>>()
  private var hostsOfInvitable = OrderedDictionary<ServiceInstance, HostID>()
  /// How many local peers and sessions in ad hoc mode browse for a type.
  var browsers = OrderedDictionary<ServiceType, Int>()
  /// The local peers that browse for a type.
  var browsing = OrderedDictionary<ServiceType, OrderedDictionary<PeerID, LocalPeer>>()
  /// The types in use that were reported last.
  var reportedTypes: [ServiceType] = []
  var advertisers = OrderedDictionary<ServiceType, Int>()
  /// How many local peers that are away advertise a type.
  var awayAdvertisers = OrderedDictionary<ServiceType, Int>()
  /// The types that this host reports over links alone: its peers have no records of their own.
  var ownRosters: Set<ServiceType> = []
  /// The types for which its own record is published: these, and those with an away peer.
  var publishedRosters: Set<ServiceType> = []

  /// Hosts with a record of a relay, in the order of the first ones. The first few are asked.
  private(set) var relays: [HostID] = []
  static let relaysAskedMax = 4
  var relaysAsked: [HostID] { Array(relays.prefix(Self.relaysAskedMax)) }

  var recordCount: Int { sightings.count + rosters.count }

  func add(_ sighting: Sighting, as id: SightingID) {
    remove(id)
    sightings[id] = sighting
    bySpot[sighting.instance, default: []].append(id)
    byHost[sighting.host, default: []].append(id)
  }

  func add(_ roster: RosterRecord, as id: SightingID) {
    remove(id)
    rosters[id] = roster
    byHost[roster.host, default: []].append(id)
    if roster.type == .relays, !relays.contains(roster.host) { relays.append(roster.host) }
  }

  func remove(_ id: SightingID) {
    if let sighting = sightings.removeValue(forKey: id) {
      bySpot.remove(id, from: sighting.instance)
      byHost.remove(id, from: sighting.host)
    }
    if let roster = rosters[id] {
      rosters[id] = nil
      byHost.remove(id, from: roster.host)
      if roster.type == .relays, !(byHost[roster.host] ?? []).contains(where: { rosters[$0]?.type == .relays }) {
        relays.removeAll { $0 == roster.host }
      }
    }
  }

  func host(of id: SightingID) -> HostID? { sightings[id]?.host ?? rosters[id]?.host }

  func addresses(of id: SightingID) -> [Address] { sightings[id]?.addresses ?? rosters[id]?.addresses ?? [] }

  func knows(_ host: HostID) -> Bool { byHost[host] != nil || reports[host] != nil }

  func instances(of host: HostID) -> [ServiceInstance] {
    (byHost[host] ?? []).compactMap { sightings[$0]?.instance } + (reports[host]?.keys ?? [])
  }

  func sightings(of instance: ServiceInstance) -> [Sighting] { (bySpot[instance] ?? []).compactMap { sightings[$0] } }

  /// A record of the host for each medium by which one is seen that somebody here browses for.
  func browsedRecords(of host: HostID) -> [(id: SightingID, medium: MediumID)] {
    var records: [(id: SightingID, medium: MediumID)] = []
    for id in byHost[host] ?? [] {
      guard let type = sightings[id]?.type ?? rosters[id]?.type, isAsked(type, of: host), let medium = medium(of: id),
        !records.contains(where: { $0.medium == medium })
      else { continue }
      records.append((id, medium))
    }
    return records
  }

  /// The media by which records of a host are seen.
  func media(of host: HostID) -> [MediumID] { (byHost[host] ?? []).compactMap(medium) }

  func medium(of id: SightingID) -> MediumID? { sightings[id]?.medium ?? rosters[id]?.medium }

  /// The types that a host is to be asked about.
  func rosterTypes(of host: HostID) -> [ServiceType] {
    (byHost[host] ?? []).compactMap { rosters[$0]?.type }.filter { isAsked($0, of: host) }
  }

  /// Whether the host is asked for the type: of many relays only a few are.
  private func isAsked(_ type: ServiceType, of host: HostID) -> Bool {
    browsers[type] != nil && (type != .relays || relays.prefix(Self.relaysAskedMax).contains(host))
  }

  /// Whether anybody here browses; hosts look for relays only then, and else for sessions.
  var hasBrowsers: Bool { browsers.count > (browsers.contains(.relays) ? 1 : 0) }

  /// The types that somebody browses for.
  var browsedTypes: [ServiceType] { browsers.keys.filter { $0 != .relays } }

  /// The media by which the record of a host for itself is seen, ascending.
  func mediaOfOwnRecord(of host: HostID) -> [MediumID] {
    let media = (byHost[host] ?? []).compactMap { rosters[$0]?.type == .hosts ? rosters[$0]?.medium : nil }
    return Set(media).sorted()
  }

  /// The addresses in a host's records, the latest first.
  func addresses(of host: HostID) -> [Address] {
    var addresses: [Address] = []
    for id in (byHost[host] ?? []).reversed() {
      for address in self.addresses(of: id) where !addresses.contains(address) {
        if addresses.count == Self.addressesMax { return addresses }
        addresses.append(address)
      }
    }
    return addresses
  }

  /// As many as a host says of itself: a forged record must not keep these from being tried.
  private static let addressesMax = Limits.helloAddressesMax

  // MARK: Ad hoc mode

  func invitable(in place: Place) -> Invitable? { invitable[place.type]?[place.host] }

  func setInvitable(_ instance: ServiceInstance, at host: HostID?) {
    guard hostsOfInvitable[instance] != host else { return }
    if let old = hostsOfInvitable[instance] {
      invitable[instance.type]?[old]?.peers[instance.peer] = nil
      if invitable[instance.type]?[old]?.peers.isEmpty == true { invitable[instance.type]?[old] = nil }
      if invitable[instance.type]?.isEmpty == true { invitable[instance.type] = nil }
    }
    hostsOfInvitable[instance] = host
    guard let host else { return }
    let none = Invitable(highest: instance.peer)
    invitable[instance.type, default: OrderedDictionary()][host, default: none].include(instance.peer)
  }

  // MARK: Reports over links

  func addReport(_ instance: ServiceInstance, _ appearance: Appearance) {
    if reports[appearance.host]?.contains(instance) != true { reporters[instance, default: []].append(appearance.host) }
    reports[appearance.host, default: OrderedDictionary()][instance] = (appearance, true)
  }

  func removeReport(_ instance: ServiceInstance, by host: HostID) {
    guard reports[host]?.contains(instance) == true else { return }
    reports[host]?[instance] = nil
    if reports[host]?.isEmpty == true { reports[host] = nil }
    reporters.remove(host, from: instance)
  }

  /// Begins a full report: a peer that is not in it is gone.
  func beginSnapshot(of host: HostID, _ types: [ServiceType]) {
    for instance in reports[host]?.keys ?? [] where types.contains(instance.type) {
      reports[host]?[instance]?.isFresh = false
    }
  }

  func stale(of host: HostID) -> [ServiceInstance] {
    var instances: [ServiceInstance] = []
    reports[host]?.forEach { instance, report in if !report.isFresh { instances.append(instance) } }
    return instances
  }

  func appearances(of instance: ServiceInstance) -> [Appearance] {
    (reporters[instance] ?? []).compactMap { reports[$0]?[instance]?.appearance }
  }
}

extension Discovery.Invitable {
  fileprivate mutating func include(_ peer: PeerID) {
    peers[peer] = true
    highest = max(highest, peer)
  }
}

extension Sighting {
  var instance: Discovery.ServiceInstance { .init(type: type, peer: peer) }
}

extension OrderedDictionary {
  fileprivate mutating func remove<Element: Equatable>(_ element: Element, from key: Key) where Value == [Element] {
    self[key]?.removeAll { $0 == element }
    if self[key]?.isEmpty == true { self[key] = nil }
  }
}
