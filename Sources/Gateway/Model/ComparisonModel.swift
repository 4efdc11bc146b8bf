internal import Nearby
internal import Notation

/// A code that this peer and a member compare.
final class ComparisonModel {
  enum State: String, CaseIterable { case starting, pending, answered, matched, mismatched, failed }

  let member: Member
  var state = State.starting
  var comparison: Comparison?
  var reason: Reason?

  init(with member: Member) {
    self.member = member
  }

  /// One at a time with each member.
  var id: String { member.id.text }
  var isOver: Bool { state == .matched || state == .mismatched || state == .failed }

  var json: JSON {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("peer", .text(member.peer.text)), .init("displayName", .text(member.name)),
      .init("state", .text(state.rawValue)),
    ]
    if let code = comparison?.code { members.append(.init("code", .text(code))) }
    if let reason { members.append(.init("reason", .text("\(reason)"))) }
    return .object(members)
  }
}

extension Core {
  @discardableResult
  func add(_ model: ComparisonModel, to session: SessionModel) -> Item? {
    session.comparisonModels[model.id] = model
    return publish(model, in: session)
  }

  @discardableResult
  func publish(_ model: ComparisonModel, in session: SessionModel) -> Item? {
    guard lives(model, in: session) else { return nil }
    return session.comparisons.put(
      model.id, model.json, owner: session.owner,
      facets: ["peer": model.member.peer.text, "state": model.state.rawValue])
  }

  /// The code is there, whoever has begun.
  func told(_ comparison: Comparison, in session: SessionModel) {
    let model = ComparisonModel(with: comparison.member)
    (model.comparison, model.state) = (comparison, .pending)
    add(model, to: session)
    tell(
      "comparison", about: "\(session.comparisons.path)/\(model.id)", session.owner,
      [.init("displayName", .text(model.member.name))])
    let place = session.id
    start { core in
      let reason = await comparison.ended
      core.ended(comparison, reason, in: place)
    }
  }

  private func ended(_ comparison: Comparison, _ reason: Reason, in session: String) {
    guard let session = sessions[session],
      let model = session.comparisonModels[comparison.member.id.text], model.comparison === comparison
    else { return }
    switch reason {
    case .none: model.state = .matched
    case .mismatch: model.state = .mismatched
    default: model.state = .failed
    }
    model.reason = reason == .none ? nil : reason
    publish(model, in: session)
  }
}
