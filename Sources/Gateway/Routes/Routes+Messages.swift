internal import Web

extension Routes {
  static let messages: [Route] = [
    Route(
      .get, "/v1/sessions/{session}/messages", .role(.viewer),
      .collection(facets: ["from", Facet("mode", ["reliable", "unreliable"])]) { core, call in
        try core.session(call[0], for: call.need()).messages
      }),
    Route(
      .get, "/v1/sessions/{session}/messages/{message}", .role(.viewer),
      .nowOrLater(
        { core, call in
          let session = try core.session(call[0], for: call.need())
          // Who sees the session sees what is said in it.
          if let item = session.messages[call[1]] { return .item(item) }
          if session.history != nil { return nil }
          throw Problem.nothing("message", call[1])
        },
        { core, call in
          let session = try core.session(call[0], for: call.need())
          if let item = try await session.history?.item(call[1]) { return .item(item) }
          return try core.item(call[1], in: session.messages, "message", call)
        })),
    Route(
      .post, "/v1/sessions/{session}/messages", .role(.member), parameters: ["to", "mode"],
      body: .bytes(max: Core.messageBytesMax),
      .later { core, call in
        let session = try core.ownSession(call[0], for: call.need())
        let item = try await core.send(call, in: session)
        var reply = Reply.created(item, at: "\(session.messages.path)/\(item.id)")
        if try call.parameter("mode") == "unreliable" { reply.status = 202 }
        return reply
      }),
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
}
