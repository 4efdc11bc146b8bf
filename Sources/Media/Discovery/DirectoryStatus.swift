internal import Wire

/// The state of each record and each search of a directory: a failure of one belongs to no other.
struct DirectoryStatus {
  /// Whether something else announces and looks, and tells when it has begun to; else hosts ask each other, at once.
  let announces: Bool
  /// Why nothing is announced and nobody is found, where that is so.
  private var outage: Trouble?
  private var records: [ServiceRecord.Key: LAN.Standing] = [:]
  private var searches: [ServiceType: LAN.Standing] = [:]

  init(announces: Bool) { self.announces = announces }

  /// The records and searches that an event may have changed.
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

  /// Nil where the directory has not told yet.
  func standing(of key: ServiceRecord.Key) -> LAN.Standing? {
    guard announces else { return .active }
    return outage.map { .failed($0, isOutage: true) } ?? records[key]
  }

  /// Nil where the directory has not told yet.
  func standing(of type: ServiceType) -> LAN.Standing? {
    outage.map { .failed($0, isOutage: true) } ?? (announces ? searches[type] : .active)
  }
}

extension LAN {
  /// Whether others find what is announced, or what is looked for is found.
  public enum Standing: Hashable, Sendable {
    case active
    /// Not now, and why; it is tried again. An outage is everything's.
    case failed(Trouble, isOutage: Bool)
  }
}
