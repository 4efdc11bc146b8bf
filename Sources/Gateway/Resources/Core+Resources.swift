internal import Glibc
internal import Nearby
internal import Notation
internal import Store

/// Resources that are restored after a restart.
extension Core {
  /// Stores a resource in one transaction with the engine's output of this moment, where its stored form has changed.
  func keep(_ resource: ResourceModel, in session: SessionModel) {
    // After the end of its session nothing would remove it.
    guard let number = session.stored?.number, exists(resource, in: session) else { return }
    let row = resource.row(in: number, of: options.folder)
    guard row != resource.stored else { return }
    resource.stored = row
    sessionStore.enqueue(PendingWrite { try $0.keep(row) })
    // A host that was stopped stores nothing any more.
    try? host.inTransaction {}
  }

  /// Stores the resources of a content in one transaction.
  func keep(_ content: ResourceContent, in session: SessionModel) {
    inTransaction { for resource in users(of: content, in: session) { keep(resource, in: session) } }
  }

  /// Stores what is changed in one transaction; a host that was stopped stores nothing any more.
  func inTransaction(_ change: () -> Void) {
    if (try? host.inTransaction(change)) == nil { change() }
  }

  /// Removes a resource and its content: the content after the row that names it, or at once where the store has no
  /// room.
  func forget(_ resource: ResourceModel) {
    guard let row = resource.stored, !host.storeIsFailing else { return resource.discard() }
    sessionStore.enqueue(
      PendingWrite {
        try $0.removeResource(row.id)
      } settle: { _ in
        resource.discard()
      })
    do {
      try host.inTransaction {}
    } catch {
      resource.discard()
    }
  }

  /// Returns when the writes of the session until now would survive a power cut.
  func waitForWrites(of session: SessionModel) async {
    if session.stored != nil { await sessionStore.write(PendingWrite { _ in }, host) }
  }
}

extension ResourceModel {
  fileprivate func row(in session: Int, of folder: String) -> StoredResource {
    var members: [JSON.Member] = [
      .init("name", .text(name)), .init("member", .text(remote.member)), .init("peer", .text(remote.peer)),
      .init("displayName", .text(remote.name)), .init("isIncoming", .bool(isIncoming)), .init("type", .text(type)),
      .init("createdAt", .number(createdAt.milliseconds)),
    ]
    if let group { members.append(.init("group", .text(group))) }
    if let size = content.size { members.append(.init("size", .number(size))) }
    if state == .uploading {
      members.append(.init("uploaded", .number(content.uploadedDurably)))
      if let parts = content.record.json { members.append(.init("parts", parts)) }
    }
    if let problem { members.append(.init("problem", problem.json)) }
    if let digest = content.digest { members.append(.init("sha256", .text(digest.base64))) }
    return StoredResource(
      id: id, session: session, settings: JSON.object(members).bytes, state: state.rawValue,
      path: content.isUsed(by: id) ? content.path?.relativePath(to: folder) : nil, transfer: transfer)
  }

  /// Restores its state from before a restart, with a content that is among those already or becomes one of them.
  convenience init?(_ row: StoredResource, in folder: String, _ contents: inout [String: ResourceContent]) {
    guard let settings = try? JSON(parsing: row.settings), let name = settings["name"]?.text,
      let member = settings["member"]?.text, let peer = settings["peer"]?.text,
      let displayName = settings["displayName"]?.text, let type = settings["type"]?.text,
      let state = State(rawValue: row.state), let created = settings["createdAt"]?.integer
    else { return nil }
    let group = settings["group"]?.text
    // Resources that share a content have the same file, or none yet.
    let key = row.path ?? group ?? row.id
    let content = contents[key] ?? ResourceContent(settings, at: row.path?.absolutePath(in: folder), state)
    contents[key] = content
    self.init(
      name, Remote(member: member, peer: peer, name: displayName), isIncoming: settings["isIncoming"] == true,
      type: type, content, state, at: Timestamp(milliseconds: created), id: row.id, group: group)
    transfer = row.transfer
    problem = settings["problem"].flatMap(Problem.init(asKept:))
    stored = row
    waitsForMember = true
    switch state {
    case .complete, .damaged: bytes = content.size ?? content.bytesOnDisk
    case .failed where problem == nil:
      problem = Problem(.unknown, "the transfer failed shortly before the gateway was started again")
    case .failed, .uploading, .offered, .transferring, .declined, .cancelled: break
    }
  }
}

extension ResourceContent {
  /// Restores its state from before a restart, by the row of one of its resources.
  fileprivate convenience init(_ settings: JSON, at path: String?, _ state: ResourceModel.State) {
    self.init(size: settings["size"]?.integer.map { UInt64($0) })
    self.path = path
    digest = settings["sha256"]?.text.flatMap(ContentDigest.init(base64:))
    guard state == .uploading else { return }
    let told = settings["uploaded"]?.integer.map { UInt64(clamping: $0) }
    uploadedDurably = min(told ?? .max, bytesOnDisk)
    uploaded = uploadedDurably
    record = UploadRecord(settings["parts"], resumesAt: uploaded)
  }

  fileprivate var bytesOnDisk: UInt64 {
    var status = stat()
    guard let path, stat(path, &status) == 0 else { return 0 }
    return UInt64(status.st_size)
  }
}
