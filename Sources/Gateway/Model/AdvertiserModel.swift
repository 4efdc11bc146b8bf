internal import Nearby
internal import Notation

/// A peer that others can find.
final class AdvertiserModel {
  enum Invitations: String, CaseIterable { case ask, accept, adhoc }
  enum State {
    case starting
    case advertising
    case failed(Problem)

    static let words = ["starting", "advertising", "failed"]

    var name: String {
      switch self {
      case .starting: "starting"
      case .advertising: "advertising"
      case .failed: "failed"
      }
    }
  }

  let id: String
  let peer: PeerModel
  let serviceType: String
  let invitations: Invitations
  /// Where those who are accepted are put; nil for a new one each.
  let session: String?
  /// When it ends by itself.
  let until: Until
  var info: [String: String]
  var state = State.starting
  var advertiser: Advertiser?

  init(
    _ peer: PeerModel, _ serviceType: String, _ info: [String: String], _ invitations: Invitations, session: String?,
    until: Until, id: String = Secrets.id()
  ) {
    self.id = id
    self.peer = peer
    self.serviceType = serviceType
    self.info = info
    self.invitations = invitations
    self.session = session
    self.until = until
  }

  var path: String { "/v1/advertisers/\(id)" }

  var json: JSON {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("peer", .text(peer.id)), .init("serviceType", .text(serviceType)),
      .init("discoveryInfo", .object(info.sorted { $0.key < $1.key }.map { .init($0.key, .text($0.value)) })),
      .init("invitations", .text(invitations.rawValue)), .init("until", .text(until.rawValue)),
      .init("state", .text(state.name)),
    ]
    if let session { members.append(.init("session", .text(session))) }
    if case .failed(let problem) = state { members.append(.init("problem", problem.json)) }
    return .object(members)
  }

  var facets: [String: String] { ["peer": peer.id, "serviceType": serviceType, "state": state.name] }
}

extension Core {
  @discardableResult
  func publish(_ advertiser: AdvertiserModel) -> Item {
    advertiserList.put(advertiser.id, advertiser.json, owner: advertiser.peer.owner, facets: advertiser.facets)
  }

  /// Begins to advertise; what fails at once is thrown.
  func begin(_ model: AdvertiserModel) async throws {
    if model.invitations == .adhoc {
      guard let session = model.session.flatMap({ sessions[$0] }) else { return }
      try await session.session.startAdhoc(model.serviceType, info: model.info, until: model.until)
      session.adhoc = model.serviceType
      publish(session)
    } else {
      let advertiser = try await model.peer.peer.advertise(
        model.serviceType, info: model.info, until: model.until)
      model.advertiser = advertiser
      let id = model.id
      start { core in
        for await invitation in advertiser.invitations { core.invited(invitation, by: id) }
        if let model = core.advertisers[id], model.until != .stopped, !core.isStopping { core.remove(model) }
      }
    }
    guard peers[model.peer.id] != nil else { throw Problem(.gone, "the peer was removed meanwhile") }
    model.state = .advertising
    advertisers[model.id] = model
    publish(model)
    tell("advertising", about: model.path, model.peer.owner, [.init("serviceType", .text(model.serviceType))])
  }

  /// Ad hoc mode has ended by itself, and its advertisers with it.
  func adhocEnded(in session: SessionModel) async {
    for advertiser in advertisers.values where advertiser.invitations == .adhoc && advertiser.session == session.id {
      remove(advertiser)
    }
    session.adhoc = nil
    publish(session)
    await keep(session)
  }

  func remove(_ model: AdvertiserModel) {
    guard advertisers.removeValue(forKey: model.id) != nil else { return }
    advertiserList.remove(model.id)
    forget(model)
    let (advertiser, type) = (model.advertiser, model.serviceType)
    let place = model.invitations == .adhoc ? model.session : nil
    start { core in
      await advertiser?.stop()
      guard let session = place.flatMap({ core.sessions[$0] }), session.adhoc == type else { return }
      session.adhoc = nil
      core.publish(session)
      await session.session.stopAdhoc()
      await core.keep(session)
    }
  }

  func advertiser(_ id: String, for client: ClientView) throws(Problem) -> AdvertiserModel {
    guard let advertiser = advertisers[id], advertiser.peer.owner.isSeen(by: client) else {
      throw .nothing("advertiser", id)
    }
    guard advertiser.peer.owner.isRuled(by: client) else { throw .notYours() }
    return advertiser
  }
}

extension Problem {
  static func notYours() -> Problem {
    Problem(.forbidden, "this belongs to the gateway's own peer: changing it needs the role 'operator'", rule: "role")
  }
}
