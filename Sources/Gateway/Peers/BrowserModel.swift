internal import Nearby
internal import Notation

/// A search for peers, and its results.
final class BrowserModel {
  let id: String
  let peer: PeerModel
  let serviceType: String
  let browser: Browser
  /// When it ends by itself.
  let until: Until
  let found: Collection
  static let active = "browsing"
  fileprivate(set) var status: DiscoveryStatus
  /// The peers that are present.
  fileprivate(set) var present: [PeerID: FoundPeer] = [:]
  /// Since when each absent peer is away, by the machine's clock.
  fileprivate var awaySince: [PeerID: Timestamp] = [:]

  init(
    _ peer: PeerModel, _ browser: Browser, _ until: Until, id: String = Secrets.id(), found: (String) -> Collection
  ) {
    self.id = id
    self.until = until
    self.peer = peer
    self.browser = browser
    serviceType = browser.type
    status = DiscoveryStatus(browser.state)
    self.found = found("/v1/browsers/\(id)/found")
  }

  var path: String { "/v1/browsers/\(id)" }

  var json: JSON {
    var members: [JSON.Member] = [
      .init("id", .text(id)), .init("peer", .text(peer.id)), .init("serviceType", .text(serviceType)),
      .init("until", .text(until.rawValue)), .init("state", .text(state)), .init("found", .text(found.path)),
    ]
    if let problem = status.problem { members.append(.init("problem", problem.json)) }
    return .object(members)
  }

  private var state: String { status.name(active: Self.active) }

  var facets: [String: String] { ["peer": peer.id, "serviceType": serviceType, "state": state] }
}

extension Core {
  func begin(_ model: BrowserModel) {
    browsers[model.id] = model
    let (id, browser) = (model.id, model.browser)
    start { core in
      for await event in browser.events { core.handle(event, by: id) }
      if let model = core.browsers[id], model.until != .stopped, !core.isStopping { core.remove(model) }
    }
    start { core in
      for await state in browser.states {
        if let model = core.browsers[id] { core.set(DiscoveryStatus(state), of: model) }
      }
    }
    publish(model)
  }

  @discardableResult
  func publish(_ model: BrowserModel) -> Item? {
    guard exists(model) else { return nil }
    return browsers.list.put(model.id, model.json, owner: model.peer.owner, facets: model.facets)
  }

  private func set(_ status: DiscoveryStatus, of model: BrowserModel) {
    guard model.status != status else { return }
    model.status = status
    publish(model)
    report(status, as: BrowserModel.active, about: model.path, model.peer.owner, serviceType: model.serviceType)
  }

  private func handle(_ event: BrowserEvent, by id: String) {
    guard let model = browsers[id] else { return }
    let owner = model.peer.owner
    switch event {
    case .found(let peer):
      publish(peer, in: model)
      events.publish("found", about: "\(model.found.path)/\(peer.id)", owner, [.init("displayName", .text(peer.name))])
    case .updated(let peer):
      let wasAway = model.present[peer.id]?.awaySince != nil
      publish(peer, in: model)
      let isAway = peer.awaySince != nil
      events.publish(
        wasAway == isAway ? "updated" : isAway ? "away" : "here", about: "\(model.found.path)/\(peer.id)", owner,
        [.init("displayName", .text(peer.name))])
    case .lost(let peer):
      model.present[peer.id] = nil
      model.awaySince[peer.id] = nil
      model.found.remove(peer.id.text)
      events.publish("lost", about: "\(model.found.path)/\(peer.id)", owner, [.init("displayName", .text(peer.name))])
    }
  }

  func publish(_ peer: FoundPeer, in model: BrowserModel) {
    let known = model.present.updateValue(peer, forKey: peer.id)
    if known?.awaySince != peer.awaySince { model.awaySince[peer.id] = peer.awaySince.map(Timestamp.init) }
    let isVerified = host.knownPeer(peer.id) != nil
    model.found.put(
      peer.id.text, json(peer, awaySince: model.awaySince[peer.id], isVerified), owner: model.peer.owner,
      facets: ["verified": String(isVerified)])
  }

  private func json(_ peer: FoundPeer, awaySince: Timestamp?, _ isVerified: Bool) -> JSON {
    var members: [JSON.Member] = [
      .init("id", .text(peer.id.text)), .init("peer", .text(peer.id.text)), .init("displayName", .text(peer.name)),
      .init("discoveryInfo", .object(peer.info.sorted { $0.key < $1.key }.map { .init($0.key, .text($0.value)) })),
      .init("verified", .bool(isVerified)),
    ]
    if let awaySince { members.append(.init("awaySince", .text(awaySince.description))) }
    return .object(members)
  }

  func remove(_ model: BrowserModel) {
    guard browsers.remove(model.id) else { return }
    browsers.list.remove(model.id)
    forget(model)
    channels.end(model.found)
    let browser = model.browser
    start { _ in await browser.stop() }
  }

  func browser(_ id: String, for client: ClientView) throws(Problem) -> BrowserModel {
    guard let browser = browsers[id], browser.peer.owner.isSeen(by: client) else { throw .missing("browser", id) }
    return browser
  }
}
