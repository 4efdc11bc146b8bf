internal import Nearby
internal import Notation
internal import Reactor
internal import Web

extension Routes {
  static let resources: [Route] = [
    Route(
      .get, "/v1/sessions/{session}/resources", .role(.viewer),
      .collection(facets: [Facet("state", of: ResourceModel.State.self), .direction]) { core, call in
        try core.session(call[0], for: call.need()).resources
      }),
    Route(.post, "/v1/sessions/{session}/resources", .role(.member), body: .json, .later(offer)),
    Route(
      .get, "/v1/sessions/{session}/resources/{resource}", .role(.viewer),
      .now { core, call in
        try core.item(call[1], in: core.session(call[0], for: call.need()).resources, "resource", call)
      }),
    Route(.patch, "/v1/sessions/{session}/resources/{resource}", .role(.member), body: .json, .later(decide)),
    Route(
      .delete, "/v1/sessions/{session}/resources/{resource}", .role(.member),
      .later { core, call in
        let session = try core.ownSession(call[0], for: call.need())
        guard let resource = session.resourceModels[call[1]] else { return await core.replyToMissing() }
        try call.checkMatch(session.resources[resource.id])
        core.cancel(resource, in: session)
        await core.waitForRemovals()
        return .nothing
      }),
    Route(.put, "/v1/sessions/{session}/resources/{resource}/content", .role(.member), body: .live, .live(upload)),
    Route(.patch, "/v1/sessions/{session}/resources/{resource}/content", .role(.member), body: .live, .live(upload)),
    Route(.get, "/v1/sessions/{session}/resources/{resource}/content", .role(.viewer), .live(download)),
  ]

  private static func offer(_ core: Core, _ call: Call) async throws -> Reply {
    let session = try core.ownSession(call[0], for: call.need())
    var fields = try call.fields()
    let name = try fields.needText("name", max: Limits.resourceNameBytesMax)
    let type = try fields.text("contentType", max: Limits.resourceTypeBytesMax) ?? "application/octet-stream"
    guard MediaRange.isType(type) else {
      throw fields.wrong("contentType", "must be a type such as image/png", rule: "mediaType")
    }
    let (members, isOne) = try core.recipients(&fields, in: session)
    let size = try fields.integer("size", in: 0...Int64(core.currentLimits.resourceBytes))
    let url = try fields.text("url")
    try fields.end()
    if url == nil { try core.disk.checkRoom(for: UInt64(size ?? 0), of: session.owner) }
    try core.requireDiskSpace(for: session.peer, "offered")
    let (shared, group) = (ResourceContent(size: size.map(UInt64.init)), isOne ? nil : Secrets.id())
    let models = members.map { member in
      // A URL is fetched for each recipient, at its pace.
      let content = url == nil ? shared : ResourceContent(size: shared.size)
      return ResourceModel(
        name, ResourceModel.Remote(member), isIncoming: false, type: type, content, .uploading, at: Timestamp.now,
        group: group)
    }
    let item = try core.add(models, to: session)
    if let url { for model in models { core.offer(model, .web(url), in: session) } }
    await core.waitForWrites(of: session)
    let path = session.resources.path
    var reply = Reply.created(session.resources[item.id] ?? item, at: "\(path)/\(item.id)")
    if !isOne {
      // The first one, with all of them.
      let all = models.map { $0.json(at: "\(path)/\($0.id)") }
      reply.body = .json(JSON.object((all.first?.members ?? []) + [.init("resources", .list(all))]).bytes)
    }
    return reply
  }

  private enum Answer: String, CaseIterable { case accepted, declined }

  private static func decide(_ core: Core, _ call: Call) async throws -> Reply {
    let session = try core.ownSession(call[0], for: call.need())
    let model = try core.resource(call[1], in: session)
    try call.checkMatch(session.resources[model.id])
    var fields = try call.fields()
    let answer = try fields.word("state", of: Answer.self)
    try fields.end()
    guard let answer else { throw fields.missing("state") }
    guard model.isIncoming, model.state == .offered else {
      throw Problem(
        .conflict, "the resource is '\(model.state.rawValue)': only one that is 'offered' can be answered",
        field: "state")
    }
    try core.requireDiskSpace(for: session.peer, toAnswer: answer == .accepted)
    let actor = AuditLog.Actor.client(try call.need().id)
    switch answer {
    case .accepted: try core.accept(model, in: session, as: actor)
    case .declined:
      model.state = .declined
      core.audit.add(
        .declined, about: "\(session.resources.path)/\(model.id)", by: actor, [.init("peer", .text(model.remote.peer))])
    }
    let item = try core.publish(model, in: session).orGone("resource")
    if answer == .declined { await model.incoming?.decline() }
    await core.waitForWrites(of: session)
    return .item(item)
  }

  // MARK: Content

  /// Takes the whole content (PUT), or the next part of it (PATCH), by the draft for resumable uploads.
  private static func upload(_ core: Core, _ call: Call, _ exchange: Exchange) throws {
    let session = try core.ownSession(call[0], for: call.need())
    let model = try core.resource(call[1], in: session)
    guard !model.isIncoming, model.state == .uploading else {
      throw Problem(.conflict, "the resource is '\(model.state.rawValue)' and takes no content")
    }
    let content = model.content
    guard content.upload == nil else { throw Problem(.conflict, "its content is being uploaded already") }
    try core.requireDiskSpace(for: session.peer, "taken")
    let bytesMax = content.size ?? UInt64(core.currentLimits.resourceBytes)
    var (start, isLast) = (UInt64(0), true)
    if call.method == .patch {
      let text = call.headers["Upload-Offset"] ?? ""
      guard call.headers.all("Upload-Offset").count == 1, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let offset = UInt64(text)
      else {
        throw Problem(
          .badRequest, "a PATCH of content needs 'Upload-Offset', the number of bytes that are here",
          field: "Upload-Offset")
      }
      guard offset == content.uploaded else {
        var problem = Problem(
          .conflict, "the upload continues at offset \(content.uploaded), and not at \(offset)",
          field: "Upload-Offset")
        problem.headers = [.init(name: "Upload-Offset", value: String(content.uploaded))]
        throw problem
      }
      start = offset
      let complete = call.headers.all("Upload-Complete")
      // A boolean of structured fields (RFC 9651 §3.3.6).
      guard complete.isEmpty || complete == ["?0"] || complete == ["?1"] else {
        throw Problem(
          .badRequest, "'Upload-Complete' is '?1' where this is the last of the content, and else '?0'",
          field: "Upload-Complete")
      }
      isLast = complete == ["?1"]
    }
    let told = try call.headers["Content-Digest"].flatMap { try ContentDigest.parse($0, of: "Content-Digest") }
    let wholeDigest =
      try isLast ? call.headers["Repr-Digest"].flatMap { try ContentDigest.parse($0, of: "Repr-Digest") } : nil
    // Refused early: the client must not send for hours in vain, or lose the bytes that are here.
    let length = call.headers["Content-Length"].flatMap(UInt64.init) ?? 0
    guard start <= bytesMax, length <= bytesMax - start else {
      throw Problem(
        .tooLarge, "the content would have \(start + length) bytes, and may have \(bytesMax)",
        field: "Content-Length", rule: "size", limit: Int(clamping: bytesMax))
    }
    try core.disk.checkRoom(for: content, upTo: start + length, of: session.owner)
    if start == 0 {
      content.restartUpload()
      core.recount(content, in: session)
    }
    let path = content.path ?? "\(core.options.folder)/sending/\(Secrets.id())"
    content.path = path
    core.keep(content, in: session)
    let file = try UploadFile(path, from: content.uploaded, chain: content.record.chain, hashes: told != nil)
    let (holders, place, isWhole) = (content.holders, session.id, isLast)
    let (begin, before) = (start, content.record.chain)
    let resources = Array(core.users(of: content, in: session))
    // The uploader can resume at once: pending writes precede its next bytes in the same file.
    func ended() {
      core.uploadEnded(to: content, in: session)
      core.publish(resources, in: session)
      core.start { core in try? await core.sync(file, of: holders, in: place) }
    }
    let upload = Upload(
      core, pieceMax: UploadFile.pieceMax, unit: Pages.bytes, at: content.uploaded,
      .init(
        admit: { (count) throws(Problem) in
          guard core.isNeeded(content, in: session) else { throw .goneResource }
          try core.disk.checkRoom(for: content, upTo: content.uploaded + UInt64(count), of: session.owner)
          core.reserveQuota(for: content, upTo: content.uploaded + UInt64(count), in: session)
        },
        write: { [host = core.host] piece in try await host.onDisk { try file.write(piece) } },
        wrote: { count in
          content.uploaded += UInt64(count)
          content.record.chain = file.chain
          core.recount(content, in: session)
        },
        finish: { core in
          if let told, !file.isWritten(told) {
            if let (_, content) = core.content(at: path, of: holders, in: place) {
              (content.uploaded, content.record.chain) = (begin, before)
            }
            throw Problem.damagedPart(at: begin)
          }
          try await core.sync(file, of: holders, in: place)
          if isWhole { try await core.checkRestored(path, of: holders, in: place) }
          let digest: ContentDigest? =
            if let wholeDigest { try await core.verifiedDigest(wholeDigest, path) } else { nil }
          guard let (session, content) = core.content(at: path, of: holders, in: place) else {
            throw Problem.goneResource
          }
          content.digest = digest
          if digest != nil { content.verification = .verified }
          if isWhole { try core.uploaded(content, in: session) }
          if isWhole { core.contentIndex.add(content) }
          await core.waitForWrites(of: session)
        },
        finished: {
          core.uploadEnded(to: content, in: session)
          core.respond(Self.uploaded(content.uploaded, isLast), to: exchange)
        },
        failed: { problem in
          ended()
          core.respond(problem, to: exchange)
        },
        gone: ended))
    content.upload = upload.number
    core.reserveQuota(for: content, upTo: start + length, in: session)
    upload.begin(exchange, bytesMax: Int(clamping: bytesMax - min(bytesMax, content.uploaded)))
  }

  private static func uploaded(_ bytes: UInt64, _ isLast: Bool) -> Response {
    var response = Response(isLast ? 200 : 204)
    response.headers.append("Upload-Offset", String(bytes))
    response.headers.append("Upload-Complete", isLast ? "?1" : "?0")
    return response
  }

  private static func download(_ core: Core, _ call: Call, _ exchange: Exchange) throws {
    let session = try core.session(call[0], for: call.need())
    let model = try core.resource(call[1], in: session)
    if model.state == .damaged { throw Problem.damagedFile }
    if call.method == .head, !model.isIncoming {
      if model.state == .uploading { return core.respond(uploaded(model.content.uploaded, false), to: exchange) }
      // A client that has lost the last answer learns that its upload is complete.
      if let size = model.content.size { return core.respond(uploaded(size, true), to: exchange) }
    }
    guard model.isIncoming, model.state == .complete, let path = model.content.path else {
      throw Problem(
        model.isOver ? .gone : .conflict,
        "the resource is '\(model.state.rawValue)': its content is here once it is 'complete'")
    }
    let file = { (digest: ContentDigest?) in
      FileReply(path, name: model.name, type: model.type, tag: "\"\(model.id)\"", digest)
    }
    guard model.content.digest != nil || ContentDigest.isWanted(by: call.headers["Want-Repr-Digest"]) else {
      core.learnDigest(of: model, in: session)
      return try file(nil).send(call, exchange, in: core)
    }
    var isGone = false
    exchange.onAbort = { isGone = true }
    core.learnDigest(of: model, in: session) { digest in
      if isGone { return }
      exchange.onAbort = nil
      do {
        guard core.exists(model, in: session) else { throw Problem.goneResource }
        try file(digest.get()).send(call, exchange, in: core)
      } catch {
        core.respond(Problem(wrapping: error), to: exchange)
      }
    }
  }
}

extension Core {
  /// The connected members that `to` names, one or a list of them, or all where it is absent.
  fileprivate func recipients(
    _ fields: inout Fields, in session: SessionModel
  ) throws(Problem) -> (members: [Member], isOne: Bool) {
    guard let to = fields.value("to") else {
      let members = session.connected.map(\.member)
      if members.isEmpty {
        throw Problem(
          .notConnected, "nobody is connected in this session, and so nothing was offered", field: "to",
          rule: "connected")
      }
      return (members, false)
    }
    if to.list == nil { return (try [member(fields.needText("to"), in: session)], true) }
    let names = try fields.texts("to", max: currentLimits.resourcesPerSession) ?? []
    if names.isEmpty {
      throw fields.wrong("to", "names nobody: name connected members, or leave it out for all", rule: "required")
    }
    // Looked up once: the names may be as many as the members.
    let members = session.connected.map(\.member)
    let peers = Dictionary(members.map { ($0.peer.text, $0) }) { first, _ in first }
    var (named, known): ([Member], Set<EndpointID>) = ([], [])
    for name in names {
      let member = if let peer = peers[name] { peer } else { try member(name, in: session) }
      guard known.insert(member.id).inserted else {
        throw fields.wrong("to", "names \(QuotedText.of(name)) twice", rule: "unique")
      }
      named.append(member)
    }
    return (named, false)
  }

  /// Syncs the bytes written until now, and records how many would survive a power cut.
  fileprivate func sync(_ file: UploadFile, of holders: [String], in place: String) async throws {
    guard let (_, content) = content(at: file.path, of: holders, in: place) else { return }
    let (uploaded, part) = (content.uploaded, content.record.part(through: content.uploaded))
    syncsUnderWay += 1
    defer { syncsUnderWay -= 1 }
    try await host.onDisk { try file.sync() }
    guard let (session, content) = self.content(at: file.path, of: holders, in: place) else { return }
    if uploaded > content.uploadedDurably { (content.uploadedDurably, content.record.synced) = (uploaded, part) }
    publish(content, in: session)
  }

  /// Compares an upload's bytes from earlier runs of the gateway with its record, before the file is used.
  fileprivate func checkRestored(_ path: String, of holders: [String], in place: String) async throws {
    guard let (_, content) = content(at: path, of: holders, in: place), !content.record.restored.isEmpty,
      try await !host.has(content.record.restored, in: path)
    else { return }
    guard let (session, content) = self.content(at: path, of: holders, in: place),
      let model = user(of: content, in: session)
    else { throw Problem.goneResource }
    damagedFileCount += 1
    let about = "\(session.resources.path)/\(model.id)"
    log(
      .error, for: .operator, "damaged",
      "a file that was uploaded in part before the last start is damaged: the disk or memory may be failing",
      [.init("resource", .text(about)), .init("file", .text(path))])
    events.publish("resourceDamaged", about: about, session.owner, [.init("name", .text(model.name))])
    content.restartUpload()
    var problem = Problem(
      .conflict,
      "the part that was uploaded before a restart is corrupt on the gateway's disk: upload the whole content again",
      rule: "damaged")
    problem.headers = [.init(name: "Upload-Offset", value: "0")]
    throw problem
  }

  /// The client's digest, if the file has the same.
  fileprivate func verifiedDigest(_ told: ContentDigest, _ path: String) async throws -> ContentDigest {
    let digest = try await host.digest(of: path)
    guard digest == told else {
      throw Problem(
        .conflict,
        "digest mismatch: the uploaded content has \(digest.header), not the one in Repr-Digest; upload it again with PUT",
        field: "Repr-Digest", rule: "digest")
    }
    return digest
  }

  /// Offers a content that is complete to all its recipients.
  fileprivate func uploaded(_ content: ResourceContent, in session: SessionModel) throws(Problem) {
    guard let path = content.path else { return }
    if let size = content.size, size != content.uploaded {
      throw Problem(
        .conflict, "\(content.uploaded) bytes are uploaded, and \(size) were announced: continue there, or start again",
        field: "size")
    }
    content.size = content.uploaded
    inTransaction {
      for model in users(of: content, in: session) where model.state == .uploading {
        offer(model, .file(path), in: session)
      }
    }
  }
}

extension Problem {
  /// The bytes of a request have another digest than it says; those before them are here.
  fileprivate static func damagedPart(at offset: UInt64) -> Problem {
    var problem = Problem(
      .conflict, "the bytes of this request do not have its Content-Digest and are dropped: send them again",
      field: "Content-Digest", rule: "digest")
    problem.headers = [.init(name: "Upload-Offset", value: String(offset))]
    return problem
  }
}
