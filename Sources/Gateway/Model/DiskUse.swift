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
    case .uploading: max(size ?? 0, uploaded, reservedEnd)
    case .transferring where isIncoming: max(size ?? 0, bytes)
    case .transferring, .complete, .declined, .cancelled, .failed, .damaged:
      path == nil ? 0 : size ?? max(uploaded, bytes)
    }
  }
}

extension ResourceModel {
  /// Bytes that are still to be written.
  fileprivate var pendingDiskBytes: UInt64 {
    switch state {
    case .uploading: reservedEnd - min(reservedEnd, uploaded)
    case .transferring where isIncoming: (size ?? 0) - min(size ?? 0, bytes)
    case .offered, .transferring, .complete, .declined, .cancelled, .failed, .damaged: 0
    }
  }
}

extension SessionParameters.Retention {
  /// The bytes that the history may use on the disk.
  var onDisk: UInt64 { kind == .durable ? UInt64(limits.bytes) : 0 }
}

extension Core {
  func count(_ resource: ResourceModel, of owner: Owner) {
    count(resource, of: owner, onDisk: resource.onDisk, awaited: resource.pendingDiskBytes)
  }

  func removeFromUse(_ resource: ResourceModel, of owner: Owner) { count(resource, of: owner, onDisk: 0, awaited: 0) }

  private func count(_ resource: ResourceModel, of owner: Owner, onDisk bytes: UInt64, awaited: UInt64) {
    diskUse.change(owner, from: resource.quotaBytes, to: bytes)
    resource.quotaBytes = bytes
    freeDiskSpace.reserve(awaited, insteadOf: resource.reservedDiskBytes)
    resource.reservedDiskBytes = awaited
  }

  /// Counts a resource again; a removed one uses nothing.
  func recount(_ resource: ResourceModel, in session: SessionModel) {
    if exists(resource, in: session) { count(resource, of: session.owner) }
  }

  /// Reserves quota and disk space for an upload's bytes before they are written, so that concurrent uploads stay
  /// within the limits.
  func reserveQuota(for resource: ResourceModel, upTo end: UInt64, in session: SessionModel) {
    if options.sabotage.contains(.reservesNothing) { return }
    resource.reservedEnd = max(resource.reservedEnd, end)
    recount(resource, in: session)
  }

  /// Releases the bytes that the upload did not use.
  func uploadEnded(to resource: ResourceModel, in session: SessionModel) {
    (resource.upload, resource.reservedEnd) = (nil, 0)
    recount(resource, in: session)
  }

  /// Throws if a content may not grow so far: on the disk beyond the bytes present or reserved, or in its owner's
  /// quota.
  func checkRoom(for resource: ResourceModel, upTo end: UInt64, of owner: Owner) throws(Problem) {
    try requireFreeSpace(for: end - min(end, max(resource.uploaded, resource.reservedEnd)), "taken any more")
    try checkQuota(for: max(end, resource.quotaBytes) - resource.quotaBytes, of: owner)
  }

  /// Throws if so many more bytes exceed the disk or the owner's quota.
  func checkRoom(for bytes: UInt64, of owner: Owner) throws(Problem) {
    try requireFreeSpace(for: bytes, "taken any more")
    try checkQuota(for: bytes, of: owner)
  }

  private func checkQuota(for bytes: UInt64, of owner: Owner) throws(Problem) {
    let bytesMax = options.limits.resourceBytesPerClient
    let taken = diskUse[owner]
    guard taken <= bytesMax, bytes <= UInt64(bytesMax) - taken else {
      throw .noSpace(
        "quota exceeded: resources of this client use \(taken) of \(bytesMax) bytes, and this one needs \(bytes) more: delete other resources",
        rule: "resourceBytesPerClient", limit: bytesMax)
    }
  }

  /// Reserves quota for the history of another session while that is open; throws if it is exceeded.
  func reserveQuota(_ retention: SessionParameters.Retention, for owner: Owner) throws(Problem) {
    let (bytes, bytesMax) = (retention.onDisk, options.limits.historyBytesPerClient)
    let reserved = historyUse[owner]
    guard bytes == 0 || reserved <= bytesMax && bytes <= UInt64(bytesMax) - reserved else {
      throw .noSpace(
        "quota exceeded: sessions of this client have reserved \(reserved) of \(bytesMax) bytes of history, and this one needs \(bytes) more: reduce history.bytes, or end other sessions",
        field: "history.bytes", rule: "historyBytesPerClient", limit: bytesMax)
    }
    historyUse.change(owner, from: 0, to: bytes)
  }

  func releaseQuota(_ retention: SessionParameters.Retention, of owner: Owner) {
    historyUse.change(owner, from: retention.onDisk, to: 0)
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
