internal import Nearby

/// The models of members, of each member the latest in each state: an endpoint may see it in its next state before another
/// one has seen the one before.
struct MemberCache {
  /// Limit for the models that are remembered, some hundred bytes each, of which those that lists show are there anyway;
  /// past it all are forgotten.
  private static let countMax = 32_768

  private struct Key: Hashable {
    let id: EndpointID
    let state: MemberState
  }

  private var models: [Key: MemberModel] = [:]
  /// How many models were made.
  private(set) var madeCount = 0

  mutating func model(of view: MemberModel.View) -> MemberModel {
    let key = Key(id: view.member.id, state: view.state)
    if let model = models[key], model.shows(view) { return model }
    if models.count >= Self.countMax { models.removeAll() }
    let model = MemberModel(view)
    models[key] = model
    madeCount += 1
    return model
  }
}
