internal import Nearby
internal import Notation

/// A code that this peer and a member compare.
final class ComparisonModel {
  enum State: String, CaseIterable { case starting, pending, answered, matched, mismatched, failed }

  let member: Member
  /// The host's number of a comparison that was begun here; nil until it has one.
  var number: UInt64?
  var state = State.starting
  var comparison: Comparison?
  var reason: Reason?

  init(with member: Member) {
    self.member = member
  }

  /// The member's ID: there is one comparison at a time with each.
  var id: String { member.id.text }
  var isOver: Bool { state == .matched || state == .mismatched || state == .failed }

  /// Whether it is the one with this number that waits for its code.
  func isStarting(_ number: UInt64, with peer: PeerID) -> Bool {
    state == .starting && member.peer == peer && self.number ?? number == number
  }

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
    guard exists(model, in: session) else { return nil }
    return session.comparisons.put(
      model.id, model.json, owner: session.owner,
      facets: ["peer": model.member.peer.text, "state": model.state.rawValue])
  }

  /// The code of a comparison has come, whichever side began it.
  func handle(_ comparison: Comparison, in session: SessionModel) {
    guard let model = model(of: comparison, in: session) else {
      // Deleted before its code came: the other side must not wait.
      return start { _ in try? await comparison.conclude(matches: false) }
    }
    (model.comparison, model.state) = (comparison, .pending)
    publish(model, in: session)
    events.publish(
      "comparison", about: "\(session.comparisons.path)/\(model.id)", session.owner,
      [.init("displayName", .text(model.member.name))])
    let place = session.id
    start { core in
      let reason = await comparison.ended
      core.ended(comparison, reason, in: place)
    }
  }

  /// The model that was made when the comparison began, unless it was deleted; a new one if the other side began.
  private func model(of comparison: Comparison, in session: SessionModel) -> ComparisonModel? {
    if comparison.isOwn, !options.sabotage.contains(.raisesTheDeleted) {
      return session.comparisonModels.values.first { $0.isStarting(comparison.number, with: comparison.member.peer) }
    }
    let model = ComparisonModel(with: comparison.member)
    session.comparisonModels[model.id] = model
    return model
  }

  /// A comparison that began here ended before its code came.
  func comparisonFailed(with peer: PeerID, _ number: UInt64, _ reason: Reason, in session: SessionModel) {
    guard let model = session.comparisonModels.values.first(where: { $0.isStarting(number, with: peer) }) else {
      return
    }
    (model.state, model.reason) = (.failed, reason)
    publish(model, in: session)
  }

  private func ended(_ comparison: Comparison, _ reason: Reason, in session: String) {
    guard let session = sessions[session],
      let model = session.comparisonModels.values.first(where: { $0.comparison === comparison })
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
