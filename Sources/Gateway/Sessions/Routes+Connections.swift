internal import Nearby
internal import Notation
internal import Web

extension Routes {
  static let dataBytesMax = 16 << 10

  static let connections: [Route] = [
    Route(
      .get, "/v1/sessions/{session}/connection-data", .role(.member),
      .later { core, call in
        let session = try core.ownSession(call[0], for: call.need())
        return .json([
          "peer": .text(session.peer.id), "data": .text(Base64.text(try await session.session.connectionData())),
          "encoding": "base64",
        ])
      }),
    Route(.post, "/v1/sessions/{session}/connections", .role(.member), body: .json, .later(connect)),
    Route(
      .get, "/v1/sessions/{session}/connections", .role(.viewer),
      .collection(facets: ["peer", Facet("state", of: ConnectionModel.State.self)]) { core, call in
        try core.session(call[0], for: call.need()).connections
      }),
    Route(
      .get, "/v1/sessions/{session}/connections/{connection}", .role(.viewer),
      .now { core, call in
        try core.item(call[1], in: core.session(call[0], for: call.need()).connections, "connection", call)
      }),
    Route(
      .delete, "/v1/sessions/{session}/connections/{connection}", .role(.member),
      .now { core, call in
        let session = try core.ownSession(call[0], for: call.need())
        guard let connection = session.connectionModels[call[1]] else { return .nothing }
        try call.checkMatch(session.connections[connection.id])
        if connection.state == .pending { connection.attempt.cancel() }
        session.connectionModels[connection.id] = nil
        session.connections.remove(connection.id)
        return .nothing
      }),
  ]

  private static func connect(_ core: Core, _ call: Call) async throws -> Reply {
    let session = try core.ownSession(call[0], for: call.need())
    var fields = try call.fields()
    let name = try fields.needText("peer")
    let data = try fields.needBase64("data", encodedBy: "encoding", max: dataBytesMax)
    let timeout = try fields.seconds("timeout", max: Double(timeoutMax)) ?? .seconds(30)
    try fields.end()
    guard let peer = try? PeerID(text: name) else {
      throw Problem(.invalidParameter, "\(QuotedText.of(name)) is no peer ID", field: "peer", rule: "peerID")
    }
    let reservation = try core.reserve(.connections(session.id))
    defer { reservation.release() }
    let attempt: Attempt
    do {
      attempt = try await session.session.beginConnecting(to: peer, with: data, timeout: timeout)
    } catch {
      throw Problem(error, field: "data", rule: "P-CUS-1")
    }
    let now = Timestamp.now
    let model = ConnectionModel(
      attempt, with: name, at: now, until: now + (timeout > .zero ? timeout : .seconds(30)))
    return .created(try core.add(model, to: session).orGone("session"), at: "\(session.connections.path)/\(model.id)")
  }
}
