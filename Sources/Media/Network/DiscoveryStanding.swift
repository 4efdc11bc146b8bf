/// Whether an announcement or a browser works.
public enum DiscoveryStanding: Hashable, Sendable {
  case active
  /// It fails for now, and is tried again. An outage affects everything.
  case failed(Trouble, isOutage: Bool)

  /// Over several media: one that works is enough. Nil where that is not known yet.
  init?(of media: [DiscoveryStanding?]) {
    if media.contains(.active) {
      self = .active
    } else if !media.contains(nil), let first = media.first, let first {
      self = first
    } else {
      return nil
    }
  }
}
