import Wire

/// The rows that have changed since the last batch for the store; always empty where there is no store.
///
/// The host's bond with itself has no rows: records between local peers change both sides at once, so that a batch has
/// all of their effects, or none.
final class DirtySet {
  let isKept: Bool
  private let host: HostID
  private(set) var endpoints = OrderedDictionary<EndpointID, Bool>()
  private(set) var groups = OrderedDictionary<Int, Bool>()
  private(set) var members = OrderedDictionary<MemberKey, Bool>()
  private(set) var presences = OrderedDictionary<PresenceKey, Bool>()
  private(set) var bonds = OrderedDictionary<HostID, Bool>()
  private(set) var records = OrderedDictionary<RecordKey, Bool>()
  private(set) var resources = OrderedDictionary<ResourceID, Bool>()
  private(set) var chains = OrderedDictionary<MemberKey, Bool>()
  /// Cohorts of other hosts' members; one without any has no row.
  private(set) var cohorts = OrderedDictionary<CohortKey, Cohort>()
  /// Cohorts of an earlier run.
  private(set) var formerCohorts: [CohortKey] = []
  /// Local peers whose people have answered an invitation.
  private(set) var peers = OrderedDictionary<PeerID, Bool>()

  struct MemberKey: Hashable {
    var group: Int
    var endpoint: EndpointID
  }

  struct CohortKey: Hashable {
    var group: Int
    var number: UInt64
  }

  struct PresenceKey: Hashable {
    var group: Int
    var host: HostID
  }

  struct RecordKey: Hashable {
    var host: HostID
    var ordinal: UInt64
  }

  init(isKept: Bool, of host: HostID) { (self.isKept, self.host) = (isKept, host) }

  var isEmpty: Bool {
    endpoints.isEmpty && groups.isEmpty && members.isEmpty && presences.isEmpty && bonds.isEmpty && records.isEmpty
      && resources.isEmpty && chains.isEmpty && peers.isEmpty && cohorts.isEmpty && formerCohorts.isEmpty
  }

  func touch(_ endpoint: EndpointID) { if isKept { endpoints[endpoint] = true } }
  func touch(group serial: Int) { if isKept { groups[serial] = true } }
  func touch(member: EndpointID, of group: Int) {
    if isKept { members[MemberKey(group: group, endpoint: member)] = true }
  }
  func touch(presence host: HostID, of group: Int) {
    if isKept, host != self.host { presences[PresenceKey(group: group, host: host)] = true }
  }
  func touch(bond host: HostID) { if isKept, host != self.host { bonds[host] = true } }
  func touch(record ordinal: UInt64, of host: HostID) {
    if isKept, host != self.host { records[RecordKey(host: host, ordinal: ordinal)] = true }
  }

  func touch(_ cohort: Cohort) {
    if isKept { cohorts[CohortKey(group: cohort.presence.group.serial, number: cohort.number)] = cohort }
  }
  func touch(formerCohort key: CohortKey) { if isKept { formerCohorts.append(key) } }

  func touch(peer: PeerID) { if isKept { peers[peer] = true } }
  func touch(resource: ResourceID) { if isKept { resources[resource] = true } }

  func touch(chainOf member: EndpointID, in group: Int) {
    if isKept { chains[MemberKey(group: group, endpoint: member)] = true }
  }

  func clear() {
    endpoints.removeAll()
    groups.removeAll()
    members.removeAll()
    presences.removeAll()
    bonds.removeAll()
    records.removeAll()
    resources.removeAll()
    chains.removeAll()
    cohorts.removeAll()
    formerCohorts.removeAll()
    peers.removeAll()
  }
}
