internal import Nearby
internal import Web

/// A model that clients see, the store keeps and limits count.
///
/// Invariant: after an `await`, a model is published, stored and counted only if it still exists. Each kind has one way
/// to do so, its `publish`, which checks here; it returns nil for a model that was deleted meanwhile, or removed with
/// its owner.
protocol RegisteredModel: AnyObject {
  /// The existing model with its ID.
  func registered(in core: Core) -> Self?
}

/// The same for a part of a session.
protocol SessionPart: AnyObject {
  func registered(in session: SessionModel) -> Self?
}

extension PeerModel: RegisteredModel {
  func registered(in core: Core) -> PeerModel? { core.peers[id] }
}

extension AdvertiserModel: RegisteredModel {
  func registered(in core: Core) -> AdvertiserModel? { core.advertisers[id] }
}

extension BrowserModel: RegisteredModel {
  func registered(in core: Core) -> BrowserModel? { core.browsers[id] }
}

extension InvitationModel: RegisteredModel {
  func registered(in core: Core) -> InvitationModel? { core.invitations[id] }
}

extension SessionModel: RegisteredModel {
  func registered(in core: Core) -> SessionModel? { core.sessions[id] }
}

extension StreamModel: SessionPart {
  func registered(in session: SessionModel) -> StreamModel? { session.streamModels[id] }
}

extension ResourceModel: SessionPart {
  func registered(in session: SessionModel) -> ResourceModel? { session.resourceModels[id] }
}

extension ConnectionModel: SessionPart {
  func registered(in session: SessionModel) -> ConnectionModel? { session.connectionModels[id] }
}

extension ComparisonModel: SessionPart {
  func registered(in session: SessionModel) -> ComparisonModel? { session.comparisonModels[id] }
}

extension Core {
  func exists(_ model: some RegisteredModel) -> Bool {
    model === model.registered(in: self) || options.sabotage.contains(.raisesTheDeleted)
  }

  func exists(_ model: some SessionPart, in session: SessionModel) -> Bool {
    exists(session) && model === model.registered(in: session) || options.sabotage.contains(.raisesTheDeleted)
  }

  // MARK: Requests

  /// Runs a request's asynchronous work. Changes of one thing are serialized, and each is checked against `If-Match` in
  /// its turn: no two of them change the same state.
  func perform(
    _ call: Call, _ work: @escaping @Sendable (Core, Call) async throws -> Reply
  ) async throws -> Reply {
    guard call.method == .patch, !options.sabotage.contains(.changesAtOnce) else { return try await work(self, call) }
    return try await changeLocks.withLock(call.target) { try await work(self, call) }
  }
}

extension Item? {
  /// The item for the answer, or 410 if its model was removed meanwhile.
  func orGone(_ what: String) throws(Problem) -> Item {
    guard let item = self else { throw Problem(.gone, "the \(what) was removed meanwhile") }
    return item
  }
}
