internal import Nearby
internal import Notation
internal import Web

extension Routes {
  static let streams: [Route] = [
    Route(
      .get, "/v1/sessions/{session}/streams", .role(.viewer),
      .collection(facets: [Facet("state", of: StreamModel.State.self), .direction]) { core, call in
        try core.session(call[0], for: call.need()).streams
      }),
    Route(.post, "/v1/sessions/{session}/streams", .role(.member), body: .json, .later(openStream)),
    Route(
      .get, "/v1/sessions/{session}/streams/{stream}", .role(.viewer),
      .now { core, call in
        try core.item(call[1], in: core.session(call[0], for: call.need()).streams, "stream", call)
      }),
    Route(
      .delete, "/v1/sessions/{session}/streams/{stream}", .role(.member),
      .now { core, call in
        let session = try core.ownSession(call[0], for: call.need())
        guard let stream = session.streamModels[call[1]] else { return .nothing }
        try call.checkMatch(session.streams[stream.id])
        session.streamModels[stream.id] = nil
        session.streams.remove(stream.id)
        let ends = stream.direction
        core.start { _ in
          switch ends {
          case .outgoing(let writer): await writer.close()
          case .incoming(let reader): await reader.cancel()
          }
        }
        return .nothing
      }),
    Route(.put, "/v1/sessions/{session}/streams/{stream}/bytes", .role(.member), body: .live, .live(write)),
    Route(.get, "/v1/sessions/{session}/streams/{stream}/bytes", .role(.member), .live(read)),
    Route(
      .get, "/v1/sessions/{session}/streams/{stream}/socket", .role(.member),
      .socket(StreamSocket.subprotocol) { core, head, route, captures in
        let call = Call(head, captures).asked(by: try core.access.client(of: head, at: route))
        let socket = StreamSocket(core, call, route)
        if let client = call.client { try socket.check(client) }
        return (socket, .pieces)
      }),
  ]

  private static func openStream(_ core: Core, _ call: Call) async throws -> Reply {
    let session = try core.ownSession(call[0], for: call.need())
    var fields = try call.fields()
    let name = try fields.needText("name", max: Limits.streamNameBytesMax)
    let member = try core.member(fields.needText("to"), in: session)
    try fields.end()
    let reservation = try core.reserve(.streams(session.id))
    defer { reservation.release() }
    let writer = try await session.session.openStream(name, to: member)
    let model = StreamModel(.outgoing(writer), name, member, at: Timestamp.now)
    let (id, place) = (model.id, session.id)
    // The member may end it before anybody writes.
    core.start { core in core.ended(id, await writer.ended, in: place) }
    return .created(
      try core.add(model, to: session).orGone("session"), at: "\(session.streams.path)/\(model.id)")
  }

  private static func write(_ core: Core, _ call: Call, _ exchange: Exchange) throws {
    let session = try core.ownSession(call[0], for: call.need())
    let model = try core.stream(call[1], in: session)
    guard case .outgoing(let writer) = model.direction else {
      throw Problem(.conflict, "this stream comes from a member: read it with GET")
    }
    try model.take()
    let (id, place) = (model.id, session.id)
    let upload = Upload(
      core, isLive: true,
      .init(
        write: { try await writer.write($0) }, wrote: { model.bytes += UInt64($0) },
        finished: {
          core.start { core in
            await writer.close()
            core.ended(id, await writer.ended, in: place)
          }
          core.respond(Response(204), to: exchange)
        },
        failed: { problem in
          core.ended(id, .lost, in: place)
          core.respond(problem, to: exchange)
        },
        gone: {
          // The other side must not take it for the end.
          core.start { core in
            await writer.cancel()
            core.ended(id, .cancelled, in: place)
          }
        }))
    upload.begin(exchange)
    // A write alone does not detect the end while the client is silent.
    let number = upload.number
    core.start { core in
      let reason = await writer.ended
      core.uploads[number]?.fail(Problem(.gone, "the stream has ended: \(reason)"))
    }
  }

  private static func read(_ core: Core, _ call: Call, _ exchange: Exchange) throws {
    let session = try core.ownSession(call[0], for: call.need())
    let model = try core.stream(call[1], in: session)
    guard case .incoming(let reader) = model.direction else {
      throw Problem(.conflict, "this stream goes to a member: write it with PUT")
    }
    if call.method == .head { return core.respond(StreamDownload.head(), to: exchange) }
    try model.take()
    let download = StreamDownload(core, session.id, model, reader)
    download.begin(exchange)
  }
}

extension StreamModel {
  func take() throws(Problem) {
    try checkFree()
    isInUse = true
  }

  func checkFree() throws(Problem) {
    guard state == .open else { throw Problem(.gone, "the stream has ended") }
    guard !isInUse else { throw Problem(.conflict, "another client uses this stream already") }
  }
}

extension Core {
  /// A connected member, by its peer or its endpoint.
  func member(_ text: String, in session: SessionModel, field: String = "to") throws(Problem) -> Member {
    guard let known = session.find(text), known.isConnected else {
      throw Problem(
        .notConnected, "\(QuotedText.of(text)) is not connected in this session", field: field, rule: "connected")
    }
    return known.member
  }
}
