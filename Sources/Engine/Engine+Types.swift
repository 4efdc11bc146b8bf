import Wire

/// The service types in use nearby: those of local peers, and those that hosts report over links when asked.
///
/// Invariant: a host reports the types of its peers, which it tells any browser, and nothing else. It asks only hosts
/// that know the question, and waits for none: a silent one adds nothing. A report replaces the one before, and goes
/// with the host.
extension Engine {
  /// Looks for service types, until `stopBrowsingTypes` was called as often.
  public func startBrowsingTypes(at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    browse(for: .hosts)
    reviewTypes()
  }

  public func stopBrowsingTypes(at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    stopBrowsing(for: .hosts)
    guard discovery.browsers[.hosts] == nil else { return }
    for host in hosts.values { host.types = [] }
    discovery.reportedTypes = []
  }

  /// Reports the types to their browsers where they have changed.
  func reviewTypes() {
    guard discovery.browsers[.hosts] != nil else { return }
    var types = Set(ownTypes)
    for host in hosts.values { types.formUnion(host.types) }
    let now = Array(types.sorted().prefix(Self.typesMax))
    guard now != discovery.reportedTypes else { return }
    discovery.reportedTypes = now
    emit(.types(now))
  }

  /// Far more than a person reads through, whatever liars send.
  private static let typesMax = 256

  // MARK: Sending

  func handle(_ browse: BrowseTypes, from link: Link) {
    guard link.browsesTypes != browse.isOn else { return }
    link.browsesTypes = browse.isOn
    if browse.isOn { sendTypes(over: link) }
  }

  private func sendTypes(over link: Link) {
    send(AdvertisedTypes(types: Array(ownTypes.prefix(Limits.advertisedTypesMax))), on: link)
  }

  /// The first peer advertises a type, or the last one stops.
  func ownTypesChanged() {
    for link in links.values where link.browsesTypes { sendTypes(over: link) }
    reviewTypes()
  }

  private var ownTypes: [ServiceType] {
    discovery.advertisers.keys.filter { discovery.advertisers[$0, default: 0] > 0 && $0 != .hosts }.sorted()
  }

  // MARK: Receiving

  func handle(_ answer: AdvertisedTypes, from link: Link) {
    // It may have been sent before the question was taken back.
    guard link.rosterTypes[.hosts] == true else { return }
    link.host.types = answer.types.filter { $0 != .hosts }
    reviewTypes()
  }

  /// The host is gone, or is not asked any more.
  func forgetTypes(of host: RemoteHost) {
    if host.types.isEmpty { return }
    host.types = []
    reviewTypes()
  }
}
