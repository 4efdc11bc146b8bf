internal import Nearby
internal import Notation
internal import Web

extension Routes {
  static let messages: [Route] = [
    Route(
      .get, "/v1/sessions/{session}/datagrams", .role(.viewer),
      .collection(facets: ["from"]) { core, call in try core.session(call[0], for: call.need()).datagrams }),
    Route(
      .get, "/v1/sessions/{session}/messages", .role(.viewer),
      .collection(facets: ["from", Facet("mode", ["reliable", "unreliable"])]) { core, call in
        try core.session(call[0], for: call.need()).messages
      }),
    Route(
      .get, "/v1/sessions/{session}/messages/{message}", .role(.viewer),
      message { .item($0) }),
    Route(.get, "/v1/sessions/{session}/messages/{message}/body", .role(.viewer), message(body)),
    Route(
      .post, "/v1/sessions/{session}/messages", .role(.member), parameters: ["to", "mode"],
      body: .bytes(max: Core.messageBytesMax),
      .nowOrLater(
        { core, call in
          let mode = try core.mode(call)
          return try core.idempotency.begin(call) {
            let session = try core.ownSession(call[0], for: call.need())
            if mode == .unreliable { return try core.sendUnreliably(call, in: session) }
            if session.history != nil { return nil }
            return created(try core.sendAtOnce(call, in: session), in: session)
          }
        },
        { core, call in
          let session = try core.ownSession(call[0], for: call.need())
          return created(try await core.send(call, in: session), in: session)
        })),
    Route(
      .put, "/v1/sessions/{session}/messages/{message}", .role(.member), parameters: ["to", "mode"],
      body: .bytes(max: Core.messageBytesMax),
      .later { core, call in
        let session = try core.ownSession(call[0], for: call.need())
        guard (1...64).contains(call[1].utf8.count) else {
          throw Problem(
            .invalidParameter, "a message's own id has 1 to 64 bytes", field: "message", rule: "length", limit: 64)
        }
        let (item, isNew) = try await core.put(call, in: session, named: call[1])
        return isNew ? .created(item, at: "\(session.messages.path)/\(Percent.encode(item.id))") : .item(item)
      }),
  ]

  private static func created(_ item: Item, in session: SessionModel) -> Reply {
    .created(item, at: "\(session.messages.path)/\(item.id)")
  }

  /// Looks a message up in the channel, and then in the store. All who see a session see its messages.
  private static func message(_ tell: @escaping @Sendable (Item) throws -> Reply) -> Route.Work {
    .nowOrLater(
      { core, call in
        let session = try core.session(call[0], for: call.need())
        if let item = session.messages[call[1]] { return try tell(item) }
        if session.history != nil { return nil }
        throw Problem.missing("message", call[1])
      },
      { core, call in
        let session = try core.session(call[0], for: call.need())
        guard let item = try await session.history?.item(call[1]) ?? session.messages[call[1]] else {
          throw Problem.missing("message", call[1])
        }
        return try tell(item)
      })
  }

  /// The bytes that were sent.
  private static func body(of message: Item) throws -> Reply {
    let json = try JSON(parsing: message.bytes)
    if json["damaged"] == true { throw Problem(.gone, "the stored message is corrupt (checksum mismatch)") }
    let content = ForeignContent(json["contentType"]?.text ?? "", named: message.id)
    let isText = content.type == "text/plain" && json["encoding"] == nil
    let type = isText ? "text/plain; charset=utf-8" : content.type
    var reply = Reply(200, .bytes(PayloadJSON.bytes(json, "body"), type: type))
    // A change of its delivery status does not change its content.
    reply.tag = .text("\(message.position.epoch).\(message.ordinal)")
    reply.headers = content.headers
    return reply
  }
}
