internal import Nearby
internal import Notation

/// A peer that others can find.
final class AdvertiserModel {
  enum Invitations: String, CaseIterable { case ask, accept, adhoc }
  static let active = "advertising"

  let id: String
  let peer: PeerModel
  let serviceType: String
  let invitations: Invitations
  /// The session that accepted peers join; nil for a new one each.
  let session: String?
  /// When it ends by itself.
  let until: Until
  var info: [String: String]
  var status = DiscoveryStatus.starting
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
      .init("state", .text(state)),
    ]
    if let session { members.append(.init("session", .text(session))) }
    if let problem = status.problem { members.append(.init("problem", problem.json)) }
    return .object(members)
  }

  private var state: String { status.name(active: Self.active) }

  var facets: [String: String] { ["peer": peer.id, "serviceType": serviceType, "state": state] }
}

extension Core {
  @discardableResult
  func publish(_ advertiser: AdvertiserModel) -> Item? {
    guard exists(advertiser) else { return nil }
    return advertisers.list.put(
      advertiser.id, advertiser.json, owner: advertiser.peer.owner, facets: advertiser.facets)
  }

  /// Begins to advertise; throws an immediate failure.
  func begin(_ model: AdvertiserModel) async throws {
    if model.invitations == .adhoc {
      guard let session = model.session.flatMap({ sessions[$0] }) else { return }
      try await session.session.startAdhoc(model.serviceType, info: model.info, until: model.until)
      guard exists(session) else { throw Problem(.gone, "the session was left meanwhile") }
      session.adhoc = model.serviceType
      model.status = DiscoveryStatus(session.session.adhocState)
      publish(session)
    } else {
      let advertiser = try await model.peer.peer.advertise(
        model.serviceType, info: model.info, until: model.until)
      model.advertiser = advertiser
      model.status = DiscoveryStatus(advertiser.state)
      let id = model.id
      start { core in
        for await state in advertiser.states {
          if let model = core.advertisers[id] { core.set(DiscoveryStatus(state), of: model) }
        }
      }
      start { core in
        for await invitation in advertiser.invitations { core.invited(invitation, by: id) }
        if let model = core.advertisers[id], model.until != .stopped, !core.isStopping { core.remove(model) }
      }
    }
    guard exists(model.peer) else { throw Problem(.gone, "the peer was removed meanwhile") }
    advertisers[model.id] = model
    publish(model)
    reportStatus(of: model)
  }

  func set(_ status: DiscoveryStatus, of model: AdvertiserModel) {
    guard model.status != status else { return }
    model.status = status
    publish(model)
    reportStatus(of: model)
  }

  private func reportStatus(of model: AdvertiserModel) {
    report(
      model.status, as: AdvertiserModel.active, about: model.path, model.peer.owner, serviceType: model.serviceType)
  }

  /// Announces nothing while it starts.
  func report(_ status: DiscoveryStatus, as active: String, about path: String, _ owner: Owner, serviceType: String) {
    var members: [JSON.Member] = [.init("serviceType", .text(serviceType))]
    switch status {
    case .starting: return
    case .active: events.publish(active, about: path, owner, members)
    case .failed(let problem):
      members.append(.init("problem", problem.json))
      events.publish("\(active)Failed", about: path, owner, members)
    }
  }

  /// Ad hoc mode has ended by itself, and its advertisers with it.
  func adhocEnded(in id: String) async {
    guard let session = sessions[id] else { return }
    for advertiser in advertisers.values where advertiser.invitations == .adhoc && advertiser.session == session.id {
      remove(advertiser)
    }
    session.adhoc = nil
    publish(session)
    await keep(session)
  }

  func remove(_ model: AdvertiserModel) {
    guard advertisers.remove(model.id) else { return }
    advertisers.list.remove(model.id)
    forget(model)
    if let advertiser = model.advertiser { start { _ in await advertiser.stop() } }
    guard model.invitations == .adhoc, let session = model.session.flatMap({ sessions[$0] }),
      session.adhoc == model.serviceType
    else { return }
    // A restart of ad hoc mode comes after this.
    session.adhoc = nil
    publish(session)
    let place = session.id
    start { core in
      guard let session = core.sessions[place] else { return }
      if session.adhoc == nil { await session.session.stopAdhoc() }
      await core.keep(session)
    }
  }

  func advertiser(_ id: String, for client: ClientView) throws(Problem) -> AdvertiserModel {
    guard let advertiser = advertisers[id], advertiser.peer.owner.isSeen(by: client) else {
      throw .missing("advertiser", id)
    }
    guard advertiser.peer.owner.isChangeable(by: client) else { throw .lackingOwnership(client) }
    return advertiser
  }
}
