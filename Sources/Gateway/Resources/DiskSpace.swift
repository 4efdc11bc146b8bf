internal import Nearby

/// Disk use of each owner, with announced bytes.
struct DiskUse {
  private var bytes: [Owner: UInt64] = [:]

  subscript(owner: Owner) -> UInt64 { bytes[owner, default: 0] }

  /// The sum over all owners.
  var total: UInt64 {
    bytes.values.reduce(0) { sum, more in
      let (sum, isTooLarge) = sum.addingReportingOverflow(more)
      return isTooLarge ? .max : sum
    }
  }

  mutating func change(_ owner: Owner, from old: UInt64, to new: UInt64) {
    let (sum, isTooLarge) = (self[owner] - min(old, self[owner])).addingReportingOverflow(new)
    bytes[owner] = isTooLarge ? .max : sum == 0 ? nil : sum
  }
}

extension ResourceModel {
  /// The bytes that it uses on the disk, or will by its announced size.
  var onDisk: UInt64 {
    switch state {
    case .offered: 0
    case .uploading: max(content.size ?? 0, content.uploaded, content.reservedEnd)
    case .transferring where isIncoming: max(content.size ?? 0, bytes)
    case .transferring, .complete, .declined, .cancelled, .failed, .damaged:
      content.path == nil ? 0 : content.size ?? max(content.uploaded, bytes)
    }
  }
}

extension ResourceModel {
  /// Bytes that are still to be written.
  fileprivate var pendingDiskBytes: UInt64 {
    switch state {
    case .uploading: content.reservedEnd - min(content.reservedEnd, content.uploaded)
    case .transferring where isIncoming: (content.size ?? 0) - min(content.size ?? 0, bytes)
    case .offered, .transferring, .complete, .declined, .cancelled, .failed, .damaged: 0
    }
  }
}

extension SessionParameters.Retention {
  /// The bytes that the history may use on the disk.
  var onDisk: UInt64 { kind == .durable ? UInt64(limits.bytes) : 0 }
}

/// The disk space of the gateway: the part that each owner uses or has reserved, and the free part.
final class DiskSpace {
  /// Disk use by resources, for each owner.
  private(set) var used = DiskUse()
  /// Disk use by the messages that sessions may keep, for each owner.
  private(set) var reservedForHistory = DiskUse()
  var free: FreeDiskSpace
  private let limits: () -> GatewayLimits

  init(_ free: FreeDiskSpace, limits: @escaping () -> GatewayLimits) {
    (self.free, self.limits) = (free, limits)
  }

  /// Counts the content of a resource, once for all that share it.
  func count(_ resource: ResourceModel, of owner: Owner) {
    let content = resource.content
    if content.isUsed(by: resource.id) {
      count(content, of: owner, onDisk: resource.onDisk, awaited: resource.pendingDiskBytes)
    } else if !content.isUsed {
      count(content, of: owner, onDisk: 0, awaited: 0)
    }
  }

  /// Counts a removed resource no more.
  func remove(_ resource: ResourceModel, of owner: Owner) {
    resource.content.leave(resource.id)
    count(resource, of: owner)
  }

  private func count(_ content: ResourceContent, of owner: Owner, onDisk bytes: UInt64, awaited: UInt64) {
    used.change(owner, from: content.quotaBytes, to: bytes)
    content.quotaBytes = bytes
    free.reserve(awaited, insteadOf: content.reservedDiskBytes)
    content.reservedDiskBytes = awaited
  }

  /// Throws if a content may not grow so far: on the disk beyond the bytes present or reserved, or in its owner's
  /// quota.
  func checkRoom(for content: ResourceContent, upTo end: UInt64, of owner: Owner) throws(Problem) {
    try requireFree(for: end - min(end, max(content.uploaded, content.reservedEnd)), "taken any more")
    try checkQuota(for: max(end, content.quotaBytes) - content.quotaBytes, of: owner)
  }

  /// Throws if so many more bytes exceed the disk or the owner's quota.
  func checkRoom(for bytes: UInt64, of owner: Owner) throws(Problem) {
    try requireFree(for: bytes, "taken any more")
    try checkQuota(for: bytes, of: owner)
  }

  private func checkQuota(for bytes: UInt64, of owner: Owner) throws(Problem) {
    let bytesMax = limits().resourceBytesPerClient
    let taken = used[owner]
    guard taken <= bytesMax, bytes <= UInt64(bytesMax) - taken else {
      throw .noSpace(
        "quota exceeded: resources of this client use \(taken) of \(bytesMax) bytes, and this one needs \(bytes) more: delete other resources",
        rule: "resourceBytesPerClient", limit: bytesMax)
    }
  }

  /// Reserves quota for the history of another session while that is open; throws if it is exceeded.
  func reserve(_ retention: SessionParameters.Retention, for owner: Owner) throws(Problem) {
    let (bytes, bytesMax) = (retention.onDisk, limits().historyBytesPerClient)
    let reserved = reservedForHistory[owner]
    guard bytes == 0 || reserved <= bytesMax && bytes <= UInt64(bytesMax) - reserved else {
      throw .noSpace(
        "quota exceeded: sessions of this client have reserved \(reserved) of \(bytesMax) bytes of history, and this one needs \(bytes) more: reduce history.bytes, or end other sessions",
        field: "history.bytes", rule: "historyBytesPerClient", limit: bytesMax)
    }
    reservedForHistory.change(owner, from: 0, to: bytes)
  }

  func release(_ retention: SessionParameters.Retention, of owner: Owner) {
    reservedForHistory.change(owner, from: retention.onDisk, to: 0)
  }

  /// Counts the history of a session from before this start.
  func restore(_ retention: SessionParameters.Retention, of owner: Owner) {
    reservedForHistory.change(owner, from: 0, to: retention.onDisk)
  }

  /// Throws if the disk has no room for more, besides the work in progress.
  func requireFree(for bytes: UInt64 = 0, _ undone: String) throws(Problem) {
    guard let left = free.shortage(of: bytes, at: Instant.now) else { return }
    let freeMin = free.freeMin
    throw .noSpace(
      left < freeMin
        ? "less than \(freeMin) bytes are free on the gateway's disk (without those that are reserved), so nothing was \(undone): make room on it"
        : "\(left) bytes are free on the gateway's disk, \(freeMin) stay so, and this is \(bytes) more: make room on it",
      rule: "diskFreeBytes", limit: Int(clamping: freeMin))
  }
}

extension Core {
  /// Counts a content again; one whose resources were removed uses nothing.
  func recount(_ content: ResourceContent, in session: SessionModel) {
    // All that share an upload count the same.
    if let resource = user(of: content, in: session) { disk.count(resource, of: session.owner) }
  }

  /// Reserves quota and disk space for an upload's bytes before they are written, so that concurrent uploads stay
  /// within the limits.
  func reserveQuota(for content: ResourceContent, upTo end: UInt64, in session: SessionModel) {
    if options.sabotage.contains(.reservesNothing) { return }
    content.reservedEnd = max(content.reservedEnd, end)
    recount(content, in: session)
  }

  /// Releases the bytes that the upload did not use.
  func uploadEnded(to content: ResourceContent, in session: SessionModel) {
    (content.upload, content.reservedEnd) = (nil, 0)
    recount(content, in: session)
  }

  /// Ends a resource for lack of disk space or quota, and notifies its sender and its recipient.
  func refuseForSpace(_ resource: ResourceModel, in session: SessionModel, _ problem: Problem) {
    let (incoming, isOffered) = (resource.incoming, resource.state == .offered)
    start { _ in
      if isOffered { await incoming?.decline() } else { await incoming?.cancel() }
    }
    ended(resource.id, in: session.id, problem)
  }
}
