import Wire

/// A resource under way, whichever side of it is here.
class Transfer {
  let id: ResourceID
  let flow: UInt64
  let pair: Pair
  /// The member's.
  let host: HostID
  var info: ResourceInfo
  var meter: ProgressMeter
  /// None while it is under way.
  var ending: TransferEnd?

  init(id: ResourceID, flow: UInt64, pair: Pair, host: HostID, info: ResourceInfo, at now: Instant) {
    self.id = id
    self.flow = flow
    self.pair = pair
    self.host = host
    self.info = info
    meter = ProgressMeter(bytes: 0, at: now)
  }

  /// A new link, or none, knows nothing of what an old one was asked for.
  func beginLink() {}
}
