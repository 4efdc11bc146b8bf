internal import Media
internal import Nearby
internal import Notation
internal import Store
internal import Web

extension Routes {
  static let peers: [Route] = [
    Route(.post, "/v1/peers", .role(.member), body: .json, .later(makePeer)),
    Route(
      .get, "/v1/peers", .role(.viewer),
      .collection(facets: [Facet("lifetime", of: PeerModel.Lifetime.self)]) { core, _ in core.peers.list }),
    Route(
      .get, "/v1/peers/{peer}", .role(.viewer),
      .now { core, call in
        try core.item(call[0], in: core.peers.list, "peer", call)
      }),
    Route(
      .delete, "/v1/peers/{peer}", .role(.member),
      .later { core, call in
        let client = try call.need()
        guard core.peers[call[0]] != nil else { return .nothing }
        let peer = try core.peer(call[0], for: client)
        if peer.owner == .gateway { throw Problem(.forbidden, "the gateway's own peer lives as long as the gateway") }
        try call.checkMatch(core.peers.list[peer.id])
        let id = peer.id
        try await core.store.perform { try $0.removePeer(id) }
        core.remove(peer)
        return .nothing
      }),

    Route(.post, "/v1/advertisers", .role(.member), body: .json, .later(advertise)),
    Route(
      .get, "/v1/advertisers", .role(.viewer),
      .collection(facets: [
        "peer", "serviceType", Facet("state", DiscoveryStatus.names(active: AdvertiserModel.active)),
      ]) {
        core, _ in
        core.advertisers.list
      }),
    Route(
      .get, "/v1/advertisers/{advertiser}", .role(.viewer),
      .now { core, call in
        try core.item(call[0], in: core.advertisers.list, "advertiser", call)
      }),
    Route(.patch, "/v1/advertisers/{advertiser}", .role(.member), body: .json, .later(updateAdvertiser)),
    Route(
      .delete, "/v1/advertisers/{advertiser}", .role(.member),
      .later { core, call in
        let client = try call.need()
        guard core.advertisers[call[0]] != nil else { return await core.replyToMissing() }
        let advertiser = try core.advertiser(call[0], for: client)
        try call.checkMatch(core.advertisers.list[advertiser.id])
        core.remove(advertiser)
        await core.waitForRemovals()
        return .nothing
      }),

    Route(.post, "/v1/browsers", .role(.member), body: .json, .later(browse)),
    Route(
      .get, "/v1/browsers", .role(.viewer),
      .collection(facets: ["peer", "serviceType", Facet("state", DiscoveryStatus.names(active: BrowserModel.active))]) {
        core, _ in core.browsers.list
      }),
    Route(
      .get, "/v1/browsers/{browser}", .role(.viewer),
      .now { core, call in
        try core.item(call[0], in: core.browsers.list, "browser", call)
      }),
    Route(
      .delete, "/v1/browsers/{browser}", .role(.member),
      .later { core, call in
        let client = try call.need()
        guard core.browsers[call[0]] != nil else { return await core.replyToMissing() }
        let browser = try core.browser(call[0], for: client)
        guard browser.peer.owner.isChangeable(by: client) else { throw Problem.lackingOwnership(client) }
        try call.checkMatch(core.browsers.list[browser.id])
        core.remove(browser)
        await core.waitForRemovals()
        return .nothing
      }),
    Route(
      .get, "/v1/browsers/{browser}/found", .role(.viewer),
      .collection(facets: [.boolean("verified")]) { core, call in
        try core.browser(call[0], for: call.need()).found
      }),
    Route(
      .get, "/v1/browsers/{browser}/found/{peer}", .role(.viewer),
      .now { core, call in
        try core.item(call[1], in: core.browser(call[0], for: call.need()).found, "peer", call)
      }),
    Route(
      .get, "/v1/browsers/{browser}/found/{peer}/reach", .role(.viewer),
      .later { core, call in
        let browser = try core.browser(call[0], for: call.need())
        guard let peer = try? PeerID(text: call[1]), let reach = await browser.browser.reach(of: peer) else {
          throw Problem.missing("peer of another host", call[1])
        }
        return .json(reach.json)
      }),
  ]

  private static func makePeer(_ core: Core, _ call: Call) async throws -> Reply {
    let client = try call.need()
    var fields = try call.fields()
    let name = try fields.needText("displayName")
    let lifetime = try fields.word("lifetime", of: PeerModel.Lifetime.self) ?? .stored
    try fields.end()
    let reservation = try core.reserve(.peers(client.id))
    defer { reservation.release() }
    let (key, time) = (SigningKey(), Timestamp.now)
    let peer: Peer
    do {
      try Peer.check(name: name)
      peer = try await core.host.carry(key, named: name)
    } catch {
      throw Problem(error, field: "displayName", rule: "P-ID-1")
    }
    if lifetime == .stored {
      let stored = StoredPeer(
        id: peer.id.text, name: name, seed: key.seed, client: client.id.text, created: time.milliseconds,
        publicKey: key.publicKey.bytes)
      do {
        try await core.store.perform { try $0.add(stored) }
      } catch {
        await peer.remove()
        // A client that is gone from the store has no peer there.
        try checkIsIn(client, core)
        throw error
      }
    }
    do {
      try checkIsIn(client, core)
    } catch {
      await peer.remove()
      // Otherwise the row of a client whose token was revoked would bring the peer back.
      if lifetime == .stored { try await core.store.perform { try $0.removePeer(peer.id.text) } }
      throw error
    }
    let model = PeerModel(peer, .client(client.id), lifetime, at: time)
    if lifetime == .connection { core.sockets.startGracePeriod(of: client.id) }
    return .created(try core.add(model).orGone("peer"), at: model.path)
  }

  private static func checkIsIn(_ client: ClientView, _ core: Core) throws(Problem) {
    if core.clients.hasValidToken(client.id) { return }
    throw Problem.unauthorized("this client was deleted meanwhile, and has no peers any more: pair again")
  }

  private static func advertise(_ core: Core, _ call: Call) async throws -> Reply {
    let client = try call.need()
    var fields = try call.fields()
    let peer = try core.peer(in: &fields, for: client)
    let type = try fields.needText("serviceType")
    let info = try fields.dictionary("discoveryInfo", max: Limits.discoveryPairsMax) ?? [:]
    let invitations = try fields.word("invitations", of: AdvertiserModel.Invitations.self) ?? .ask
    var session = try fields.text("session")
    let until = try fields.word("until", of: Until.self) ?? .stopped
    try fields.end()
    if let id = session, try core.ownSession(id, for: client).peer !== peer {
      throw Problem(.invalidParameter, "the session belongs to another of your peers", field: "session")
    }
    let reservation = try core.reserve(.advertisers(peer.id))
    defer { reservation.release() }
    try core.requireDiskSpace(for: peer, "begun")
    var opened: SessionModel?
    if invitations == .adhoc, session == nil {
      opened = try await core.openSession(of: peer, SessionParameters())
      session = opened?.id
    }
    let model = AdvertiserModel(peer, type, info, invitations, session: session, until: until)
    do {
      try await begin(model, core)
      reservation.release()
    } catch {
      if let opened { core.remove(opened) }
      throw error
    }
    if invitations == .adhoc, let opened = session.flatMap({ core.sessions[$0] }) { await core.keep(opened) }
    core.keep(model)
    await core.waitForWrites(of: peer)
    return .created(try core.publish(model).orGone("advertiser"), at: model.path)
  }

  private static func begin(_ model: AdvertiserModel, _ core: Core) async throws {
    do {
      try await core.begin(model)
    } catch let error as NearbyError {
      throw Problem(error, field: fault(model), rule: "P-ADV")
    }
  }

  /// The parameter that the library has refused.
  private static func fault(_ model: AdvertiserModel) -> String {
    (try? ServiceType(model.serviceType)) == nil ? "serviceType" : "discoveryInfo"
  }

  private static func updateAdvertiser(_ core: Core, _ call: Call) async throws -> Reply {
    let model = try core.advertiser(call[0], for: call.need())
    try call.checkMatch(core.advertisers.list[model.id])
    var fields = try call.fields()
    let info = try fields.dictionary("discoveryInfo", max: Limits.discoveryPairsMax)
    try fields.end()
    if let info {
      guard let advertiser = model.advertiser else {
        throw Problem(.conflict, "an ad hoc advertiser's info is set when it is made", field: "discoveryInfo")
      }
      try core.requireDiskSpace(for: model.peer, "changed")
      do {
        try await advertiser.update(info: info)
      } catch {
        throw Problem(error, field: "discoveryInfo", rule: "P-ADV-2")
      }
      model.info = info
      core.keep(model)
    }
    let changed = try core.publish(model).orGone("advertiser")
    if info != nil { await core.waitForWrites(of: model.peer) }
    return .item(changed)
  }

  private static func browse(_ core: Core, _ call: Call) async throws -> Reply {
    let client = try call.need()
    var fields = try call.fields()
    let peer = try core.peer(in: &fields, for: client)
    let type = try fields.needText("serviceType")
    let until = try fields.word("until", of: Until.self) ?? .stopped
    try fields.end()
    let reservation = try core.reserve(.browsers(peer.id))
    defer { reservation.release() }
    try core.requireDiskSpace(for: peer, "begun")
    let browser: Browser
    do {
      browser = try await peer.peer.browse(type, until: until)
    } catch {
      throw Problem(error, field: "serviceType", rule: "P-ADV-1")
    }
    guard core.exists(peer) else { throw Problem(.gone, "the peer was removed meanwhile") }
    let model = BrowserModel(peer, browser, until) { core.channels.collection($0) }
    core.begin(model)
    reservation.release()
    core.keep(model)
    await core.waitForWrites(of: peer)
    return .created(try core.publish(model).orGone("browser"), at: model.path)
  }
}

extension Core {
  /// One thing of a collection, if the client may see it.
  func item(_ id: String, in collection: Collection, _ what: String, _ call: Call) throws(Problem) -> Reply {
    guard let item = collection[id], item.owner.isSeen(by: try call.need()) else { throw .missing(what, id) }
    return .item(item)
  }
}

extension PeerReach {
  fileprivate var json: JSON {
    var members: [JSON.Member] = [
      .init("host", .text(host.text)), .init("medium", .text(medium)), .init("linked", .bool(link != nil)),
    ]
    if let roundTrip { members.append(.init("roundTripMilliseconds", .real(roundTrip / .milliseconds(1)))) }
    return .object(members + (link?.quality ?? []))
  }
}
