internal import Glibc
internal import Nearby
internal import Notation
internal import Store

/// A named file or content, sent to a member or received from one.
final class ResourceModel {
  enum State: String, CaseIterable {
    /// Its content is still being uploaded here.
    case uploading
    /// Its recipient must accept or decline it.
    case offered
    case transferring, complete, declined, cancelled, failed
    /// The stored file does not match its digest, and is not served any more.
    case damaged

    init(after reason: Reason) {
      self =
        switch reason {
        case .none: .complete
        case .declined: .declined
        case .cancelled: .cancelled
        default: .failed
        }
    }
  }

  /// The member at the other end.
  struct Remote: Hashable {
    let member: String
    let peer: String
    let name: String

    init(_ member: Member) { self.init(member: member.id.text, peer: member.peer.text, name: member.name) }

    init(member: String, peer: String, name: String) {
      self.member = member
      self.peer = peer
      self.name = name
    }
  }

  let id: String
  let name: String
  let remote: Remote
  let isIncoming: Bool
  let type: String
  let createdAt: Timestamp
  /// Its content, which resources to other members may share.
  let content: ResourceContent
  /// The ID that resources have in common which were offered to several members together.
  let group: String?
  var state: State
  var bytes: UInt64 = 0
  var rate: UInt64 = 0
  /// The time until it is complete; nil where size or rate are not known.
  var timeLeft: Duration?
  var problem: Problem?
  var incoming: IncomingResource?
  var outgoing: OutgoingResource?
  /// The host's number of its transfer, while it is under way.
  var transfer: UInt64?
  /// It is complete here, and is offered once its member is present: the member was away, or is not back since a
  /// restart.
  var waitsForMember = false
  /// The row that was stored last.
  var stored: StoredResource?

  init(
    _ name: String, _ other: Remote, isIncoming: Bool, type: String, _ content: ResourceContent, _ state: State,
    at time: Timestamp, id: String = Secrets.id(), group: String? = nil
  ) {
    self.id = id
    self.name = name
    self.remote = other
    self.isIncoming = isIncoming
    self.type = type
    self.content = content
    self.group = group
    self.state = state
    createdAt = time
    content.hold(for: id)
  }

  var isOver: Bool {
    switch state {
    case .complete, .declined, .cancelled, .failed, .damaged: true
    case .uploading, .offered, .transferring: false
    }
  }

  /// Whether its file is kept: it is in progress, or was received whole; a damaged one is in quarantine.
  var hasContent: Bool { !isOver || isIncoming && state == .complete || state == .damaged }

  /// Whether its whole file is here and its content is final, so that it can be compared with its digest.
  var isWholeHere: Bool {
    switch state {
    case .complete: isIncoming
    case .transferring: !isIncoming && content.digest != nil
    case .uploading, .offered, .declined, .cancelled, .failed, .damaged: false
    }
  }

  func json(at path: String) -> JSON {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("name", .text(name)),
      .init("direction", .text(isIncoming ? "incoming" : "outgoing")),
      .init(isIncoming ? "from" : "to", .text(remote.peer)), .init("displayName", .text(remote.name)),
      .init("contentType", .text(type)), .init("state", .text(state.rawValue)),
    ]
    if let group { members.append(.init("group", .text(group))) }
    if let size = content.size { members.append(.init("size", .number(size))) }
    if state == .uploading { members.append(.init("uploaded", .number(content.uploaded))) }
    members.append(.init("bytes", .number(bytes)))
    if rate > 0, !isOver { members.append(.init("bytesPerSecond", .number(rate))) }
    if let timeLeft, !isOver { members.append(.init("timeLeft", .number(Int(timeLeft.components.seconds)))) }
    if let digest = content.digest { members.append(.init("sha256", .text(digest.hexadecimal))) }
    if let problem { members.append(.init("problem", problem.json)) }
    members.append(.init("content", .text("\(path)/content")))
    members.append(.init("createdAt", .text(createdAt.description)))
    return .object(members)
  }

  /// Removes its file from the disk, unless another resource needs it.
  func discard() { content.release(id) }
}

extension Core {
  @discardableResult
  func publish(_ resource: ResourceModel, in session: SessionModel) -> Item? {
    guard exists(resource, in: session) else { return nil }
    disk.count(resource, of: session.owner)
    keep(resource, in: session)
    return session.resources.put(
      resource.id, resource.json(at: "\(session.resources.path)/\(resource.id)"), owner: session.owner,
      facets: ["state": resource.state.rawValue, "direction": resource.isIncoming ? "incoming" : "outgoing"])
  }

  /// Publishes all resources of a content, and stores them in one transaction.
  func publish(_ content: ResourceContent, in session: SessionModel) {
    publish(Array(users(of: content, in: session)), in: session)
  }

  func publish(_ resources: [ResourceModel], in session: SessionModel) {
    inTransaction { for resource in resources { publish(resource, in: session) } }
  }

  /// The resources that need the content, and were not removed.
  func users(of content: ResourceContent, in session: SessionModel) -> some Sequence<ResourceModel> {
    content.holders.lazy.compactMap { session.resourceModels[$0] }.filter { [unowned self] in
      exists($0, in: session)
    }
  }

  /// Whether a resource needs the content, and was not removed.
  func isNeeded(_ content: ResourceContent, in session: SessionModel) -> Bool {
    user(of: content, in: session) != nil || options.sabotage.contains(.raisesTheDeleted)
  }

  /// One of the resources that need it.
  func user(of content: ResourceContent, in session: SessionModel) -> ResourceModel? {
    users(of: content, in: session).first { _ in true }
  }

  /// Adds all of them, in one transaction, or none; returns the first one.
  func add(_ resources: [ResourceModel], to session: SessionModel) throws(Problem) -> Item {
    try checkPlace(.resources(session.id), for: resources.count)
    var items: [Item?] = []
    inTransaction {
      for resource in resources {
        session.resourceModels[resource.id] = resource
        items.append(publish(resource, in: session))
      }
    }
    return try (items.first ?? nil).orGone("session")
  }

  func resource(_ id: String, in session: SessionModel) throws(Problem) -> ResourceModel {
    guard let resource = session.resourceModels[id] else { throw .missing("resource", id) }
    return resource
  }

  func change(_ id: String, in session: String, _ change: (ResourceModel) -> Void) {
    guard let session = sessions[session], let resource = session.resourceModels[id] else { return }
    change(resource)
    publish(resource, in: session)
  }

  func ended(_ id: String, in session: String, _ error: (any Error)?, path: String? = nil) {
    if let session = sessions[session], resumesAfterRestart(session) { return }
    guard sessions[session]?.resourceModels[id] != nil else {
      // It was completed while it was deleted.
      if let path { unlink(path) }
      return
    }
    change(id, in: session) { resource in
      guard !resource.isOver else { return }
      resource.rate = 0
      if let error {
        resource.problem = Problem(wrapping: error)
        let error = error as? NearbyError
        resource.state = error?.code == .cancelled ? .cancelled : error?.reason.map(ResourceModel.State.init) ?? .failed
      } else {
        resource.state = .complete
        if let size = resource.content.size { resource.bytes = size }
        if let path { resource.content.path = path }
      }
      if !resource.hasContent { resource.discard() }
      resource.transfer = nil
      guard let session = sessions[session] else { return }
      if resource.state == .complete, let digest = resource.incoming?.digest {
        (resource.content.digest, resource.content.verification) = (ContentDigest(digest), .verified)
        contentIndex.unify(resource.content)
      } else if resource.isIncoming {
        learnDigest(of: resource, in: session)
      }
      reportEnd(of: resource, as: resource.state, in: session)
    }
  }

  func reportEnd(of resource: ResourceModel, as state: ResourceModel.State, in session: SessionModel) {
    meters.ended(.resource, resource.isIncoming ? .incoming : .outgoing, state.rawValue)
    events.publish(
      "resourceEnded", about: "\(session.resources.path)/\(resource.id)", session.owner,
      [.init("name", .text(resource.name)), .init("state", .text(state.rawValue))])
  }

  private func progressed(_ id: String, in session: String, _ progress: ResourceProgress) {
    var counted: UInt64 = 0
    change(id, in: session) { resource in
      counted = resource.content.quotaBytes
      resource.bytes = progress.bytes
      resource.rate = progress.bytesPerSecond
      resource.timeLeft = progress.timeLeft
      if let size = progress.size { resource.content.size = size }
    }
    guard let session = sessions[session], let resource = session.resourceModels[id],
      resource.content.quotaBytes > counted
    else { return }
    do {
      // It has grown: its size was not announced.
      try disk.checkRoom(for: 0, of: session.owner)
    } catch {
      refuseForSpace(resource, in: session, error)
    }
  }

  // MARK: Incoming

  func offered(_ resource: IncomingResource, in session: SessionModel) {
    if let model = session.resourceModels.values.first(where: { $0.transfer == resource.number && $0.isIncoming }) {
      // It existed before a restart.
      model.state = resource.isUnderWay ? .transferring : .offered
      return follow(resource, as: model, in: session)
    }
    let model = ResourceModel(
      resource.name, ResourceModel.Remote(resource.member), isIncoming: true, type: resource.type,
      ResourceContent(size: resource.size), resource.isUnderWay ? .transferring : .offered, at: Timestamp.now)
    model.transfer = resource.number
    guard (try? add([model], to: session)) != nil else { return start { _ in await resource.decline() } }
    events.publish(
      "resourceOffered", about: "\(session.resources.path)/\(model.id)", session.owner,
      [.init("name", .text(model.name)), .init("displayName", .text(model.remote.name))])
    follow(resource, as: model, in: session)
  }

  private func follow(_ resource: IncomingResource, as model: ResourceModel, in session: SessionModel) {
    model.incoming = resource
    publish(model, in: session)
    if session.parameters.acceptsResources {
      do {
        try accept(model, in: session, as: .rule(of: session.owner))
      } catch {
        refuseForSpace(model, in: session, error)
      }
    }
    let (id, place) = (model.id, session.id)
    start { core in
      do {
        let path = try await resource.finished()
        core.ended(id, in: place, nil, path: path)
      } catch {
        core.ended(id, in: place, error)
      }
    }
    start { core in
      for await progress in resource.progress { core.progressed(id, in: place, progress) }
    }
  }

  func accept(_ model: ResourceModel, in session: SessionModel, as actor: AuditLog.Actor) throws(Problem) {
    guard let incoming = model.incoming, model.state == .offered else { return }
    try disk.checkRoom(for: model.content.size ?? 1, of: session.owner)
    model.state = .transferring
    publish(model, in: session)
    audit.add(
      .accepted, about: "\(session.resources.path)/\(model.id)", by: actor, [.init("peer", .text(model.remote.peer))])
    let (folder, id, place) = (receivedFolder(of: session), model.id, session.id)
    start { core in
      // It may be deleted, and its folder with its session.
      guard core.sessions[place]?.resourceModels[id] != nil else { return }
      do {
        try Folder.make(folder)
        try await incoming.accept(into: folder, hashes: true)
      } catch {
        core.ended(id, in: place, error)
      }
    }
  }

  // MARK: Outgoing

  /// Offers a resource whose content is here, or at a web address.
  func offer(_ model: ResourceModel, _ source: ResourceSource, in session: SessionModel) {
    model.state = .transferring
    publish(model, in: session)
    guard let known = session.known(model.remote.member), known.isConnected else {
      return deferOffer(
        model.id, in: session.id, Problem(.notConnected, "\(model.remote.name) is not connected, and cannot take it"))
    }
    let member = known.member
    let (place, id, end, name, type) = (session.id, model.id, session.session, model.name, model.type)
    start { core in
      do {
        let outgoing = try await end.send(source, name: name, type: type, to: member)
        core.begun(outgoing, id, in: place)
      } catch {
        core.deferOffer(id, in: place, error)
      }
    }
  }

  /// Lets a complete resource wait for its member, which is away for a while, or is not back since a restart.
  private func deferOffer(_ id: String, in place: String, _ error: any Error) {
    guard Problem(wrapping: error).kind == .notConnected, let session = sessions[place], session.stored != nil,
      let model = session.resourceModels[id], !model.isOver, model.content.path != nil,
      session.known(model.remote.member)?.isGone != true
    else { return ended(id, in: place, error) }
    model.waitsForMember = true
    // It may wait beyond a restart, so its digest is recorded now.
    learnDigest(of: model, in: session)
  }

  private func waiting(for member: Member, in session: SessionModel) -> [ResourceModel] {
    session.resourceModels.values.filter {
      $0.state == .transferring && !$0.isIncoming && $0.outgoing == nil && $0.transfer == nil && $0.waitsForMember
        && $0.remote.member == member.id.text
    }
  }

  /// Offers complete resources that waited while their member was away or since a restart, and that the host does not
  /// know yet.
  func offerWaiting(to member: Member, in session: SessionModel) {
    for model in waiting(for: member, in: session) {
      guard let path = model.content.path else { continue }
      model.waitsForMember = false
      guard model.content.digest != nil else {
        offer(model, .file(path), in: session)
        continue
      }
      learnDigest(of: model, in: session) { [unowned self] learned in
        guard sessions[session.id]?.resourceModels[model.id] === model, !model.isOver else { return }
        switch learned {
        case .success: offer(model, .file(path), in: session)
        case .failure(let problem): ended(model.id, in: session.id, problem)
        }
      }
    }
  }

  /// The member is gone: ends the resources that waited for it.
  func cancelWaiting(to member: Member, in session: SessionModel) {
    for model in waiting(for: member, in: session) {
      ended(model.id, in: session.id, Problem(.notConnected, "\(model.remote.name) is gone, and cannot take it"))
    }
  }

  /// Resumes a transfer from before a restart.
  func resumeTransfer(_ outgoing: OutgoingResource, in session: SessionModel) {
    let model = session.resourceModels.values.first { model in
      if model.isIncoming { return false }
      if let transfer = model.transfer { return transfer == outgoing.number }
      // A power cut came before it was stored. Several resources may have the same file, to different members.
      return !model.isOver && outgoing.file.map { $0 == model.content.path } ?? false
        && model.remote.member == outgoing.member.id.text
    }
    if let model { begun(outgoing, model.id, in: session.id) } else { start { _ in await outgoing.cancel() } }
  }

  private func begun(_ outgoing: OutgoingResource, _ id: String, in place: String) {
    guard let session = sessions[place], let resource = session.resourceModels[id], !resource.isOver else {
      return start { _ in await outgoing.cancel() }
    }
    resource.outgoing = outgoing
    resource.transfer = outgoing.number
    resource.state = .transferring
    publish(resource, in: session)
    start { core in
      for await progress in outgoing.progress { core.progressed(id, in: place, progress) }
    }
    start { core in
      do {
        try await outgoing.finished()
        core.ended(id, in: place, nil)
      } catch {
        core.ended(id, in: place, error)
      }
    }
  }

  func cancel(_ model: ResourceModel, in session: SessionModel) {
    let (incoming, outgoing, isOffered) = (model.incoming, model.outgoing, model.state == .offered)
    start { _ in
      if isOffered { await incoming?.decline() } else { await incoming?.cancel() }
      await outgoing?.cancel()
    }
    if !model.isOver { reportEnd(of: model, as: isOffered ? .declined : .cancelled, in: session) }
    session.resourceModels[model.id] = nil
    disk.remove(model, of: session.owner)
    session.resources.remove(model.id)
    endUpload(to: model)
    forget(model)
  }

  /// Ends the upload to a removed resource with 410, unless others need its content.
  func endUpload(to model: ResourceModel) {
    guard !model.content.isUsed, let upload = model.content.upload, !options.sabotage.contains(.raisesTheDeleted) else {
      return
    }
    uploads[upload]?.fail(.goneResource)
  }
}

extension Problem {
  static var goneResource: Problem { Problem(.gone, "the resource was removed meanwhile") }
}
