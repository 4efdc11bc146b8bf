internal import Wire

/// The state of each record and each browser of a directory: a failure of one does not affect others.
struct DirectoryStatus {
  /// Whether the backend announces and browses, and reports when it has begun; else hosts ask each other, at once.
  let announces: Bool
  /// Why nothing is announced and nobody is found, where that is so.
  private var outage: Trouble?
  private var records: [ServiceRecord.Key: DiscoveryStanding] = [:]
  private var searches: [ServiceType: DiscoveryStanding] = [:]

  init(announces: Bool) { self.announces = announces }

  /// The records and browsers that an event may have changed.
  enum Change: Hashable {
    case everything
    case of(ServiceType)
  }

  /// Nil where the event is about something else.
  mutating func take(_ event: DirectoryEvent) -> Change? {
    switch event {
    case .available:
      outage = nil
      return .everything
    case .unavailable(let trouble):
      outage = trouble
      (records, searches) = ([:], [:])
      return .everything
    case .published(let key, _):
      records[key] = .active
      return .of(key.type)
    case .notPublished(let key, let trouble):
      records[key] = .failed(trouble, isOutage: false)
      return .of(key.type)
    case .looking(let type):
      searches[type] = .active
      return .of(type)
    case .notLooking(let type, let trouble):
      searches[type] = .failed(trouble, isOutage: false)
      return .of(type)
    case .appeared, .changed, .gone:
      return nil
    }
  }

  mutating func forget(_ key: ServiceRecord.Key) { records[key] = nil }

  mutating func forget(_ type: ServiceType) { searches[type] = nil }

  /// Nil where the directory has not reported yet.
  func standing(of key: ServiceRecord.Key) -> DiscoveryStanding? {
    guard announces else { return .active }
    return outage.map { .failed($0, isOutage: true) } ?? records[key]
  }

  /// Nil where the directory has not reported yet.
  func standing(of type: ServiceType) -> DiscoveryStanding? {
    outage.map { .failed($0, isOutage: true) } ?? (announces ? searches[type] : .active)
  }
}
