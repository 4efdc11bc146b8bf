internal import Nearby
internal import Notation
internal import Web

extension Routes {
  static let comparisons: [Route] = [
    Route(.post, "/v1/sessions/{session}/comparisons", .role(.member), body: .json, .later(compare)),
    Route(
      .get, "/v1/sessions/{session}/comparisons", .role(.viewer),
      .collection(facets: ["peer", Facet("state", of: ComparisonModel.State.self)]) { core, call in
        try core.session(call[0], for: call.need()).comparisons
      }),
    Route(
      .get, "/v1/sessions/{session}/comparisons/{comparison}", .role(.viewer),
      .now { core, call in
        try core.item(call[1], in: core.session(call[0], for: call.need()).comparisons, "comparison", call)
      }),
    Route(.patch, "/v1/sessions/{session}/comparisons/{comparison}", .role(.member), body: .json, .later(conclude)),
    Route(
      .delete, "/v1/sessions/{session}/comparisons/{comparison}", .role(.member),
      .later { core, call in
        let session = try core.ownSession(call[0], for: call.need())
        try call.checkMatch(session.comparisons[call[1]])
        guard let model = session.comparisonModels.removeValue(forKey: call[1]) else { return .nothing }
        session.comparisons.remove(model.id)
        if model.state == .pending { try? await model.comparison?.conclude(matches: false) }
        return .nothing
      }),
  ]

  private static func compare(_ core: Core, _ call: Call) async throws -> Reply {
    let session = try core.ownSession(call[0], for: call.need())
    var fields = try call.fields()
    let member = try core.member(fields.needText("member"), in: session, field: "member")
    try fields.end()
    let path = "\(session.comparisons.path)/\(member.id.text)"
    if let model = session.comparisonModels[member.id.text], !model.isOver {
      throw Problem(.conflict, "codes are compared with this member already: see \(path)", field: "member")
    }
    let begun = ComparisonModel(with: member)
    core.add(begun, to: session)
    do {
      begun.number = try await session.session.compare(with: member.peer)
    } catch {
      // The other side may have begun one meanwhile.
      if core.exists(begun, in: session) {
        session.comparisonModels[member.id.text] = nil
        session.comparisons.remove(member.id.text)
      }
      throw error
    }
    // The code may be there already.
    return .created(try session.comparisons[member.id.text].orGone("comparison"), at: path)
  }

  private static func conclude(_ core: Core, _ call: Call) async throws -> Reply {
    let session = try core.ownSession(call[0], for: call.need())
    guard let model = session.comparisonModels[call[1]] else { throw Problem.missing("comparison", call[1]) }
    try call.checkMatch(session.comparisons[model.id])
    var fields = try call.fields()
    let matches = try fields.bool("matches")
    try fields.end()
    guard let matches else { throw fields.missing("matches") }
    guard model.state == .pending, let comparison = model.comparison else {
      throw Problem(.conflict, "the comparison is '\(model.state.rawValue)', and not 'pending'", field: "matches")
    }
    model.state = .answered
    core.publish(model, in: session)
    try await comparison.conclude(matches: matches)
    if matches {
      core.publishKnownPeers()
      core.audit.add(
        .trusted, about: "/v1/trusted-peers/\(comparison.member.peer.text)", by: .client(try call.need().id))
    }
    return .item(try session.comparisons[model.id].orGone("comparison"))
  }
}
