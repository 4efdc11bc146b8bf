internal import Nearby
internal import Notation
internal import Web

extension Routes {
  static let identityFileBytesMax = 512 << 10

  static let trust: [Route] = [
    Route(.post, "/v1/identities", .role(.operator), body: .json, .later(addIdentity)),
    Route(.get, "/v1/identities", .role(.operator), .collection(facets: []) { core, _ in core.identityList }),
    Route(
      .get, "/v1/identities/{identity}", .role(.operator),
      .now { core, call in try core.item(call[0], in: core.identityList, "identity", call) }),
    Route(
      .delete, "/v1/identities/{identity}", .role(.operator),
      .later { core, call in
        try call.checkMatch(core.identityList[call[0]])
        if let identity = try? core.identity(call[0]) {
          try await core.host.remove(identity)
          try core.audit.add(.distrusted, call)
        }
        core.publishTrust()
        return .nothing
      }),

    Route(.post, "/v1/anchors", .role(.operator), body: .json, .later(addAnchors)),
    Route(.get, "/v1/anchors", .role(.operator), .collection(facets: []) { core, _ in core.anchorList }),
    Route(
      .get, "/v1/anchors/{anchor}", .role(.operator),
      .now { core, call in try core.item(call[0], in: core.anchorList, "anchor", call) }),
    Route(
      .delete, "/v1/anchors/{anchor}", .role(.operator),
      .later { core, call in
        try call.checkMatch(core.anchorList[call[0]])
        for anchor in core.host.anchors where anchor.id == call[0] {
          try await core.host.removeAnchor(anchor)
          try core.audit.add(.distrusted, call)
        }
        core.publishTrust()
        return .nothing
      }),

    Route(.post, "/v1/trusted-peers", .role(.operator), body: .json, .later(trustPeer)),
    Route(
      .get, "/v1/trusted-peers", .role(.viewer),
      .collection(facets: [Facet("confirmation", of: KnownPeer.Confirmation.self)]) { core, _ in core.trustedPeerList }),
    Route(
      .get, "/v1/trusted-peers/{peer}", .role(.viewer),
      .now { core, call in try core.item(call[0], in: core.trustedPeerList, "trusted peer", call) }),
    Route(
      .delete, "/v1/trusted-peers/{peer}", .role(.operator),
      .later { core, call in
        try call.checkMatch(core.trustedPeerList[call[0]])
        if let peer = try? PeerID(text: call[0]), core.trustedPeerList[call[0]] != nil {
          try await core.host.forget(peer)
          try core.audit.add(.distrusted, call)
        }
        core.publishKnownPeers()
        return .nothing
      }),
  ]

  private static func addIdentity(_ core: Core, _ call: Call) async throws -> Reply {
    var fields = try call.fields()
    let file = try fields.needBase64("data", encodedBy: "encoding", max: identityFileBytesMax)
    let password = try fields.text("password", max: 1_024) ?? ""
    try fields.end()
    let identity: Identity
    do {
      identity = try await core.host.importIdentity(file, password: password)
    } catch {
      throw Problem(error, field: "data", rule: "P-SEC-2")
    }
    core.publishTrust()
    guard let id = identity.certificates.first?.id, let item = core.identityList[id] else {
      throw Problem(.gone, "the identity was removed meanwhile")
    }
    core.audit.add(.trusted, about: "/v1/identities/\(id)", by: .client(try call.need().id))
    return .created(item, at: "/v1/identities/\(id)")
  }

  private static func addAnchors(_ core: Core, _ call: Call) async throws -> Reply {
    var fields = try call.fields()
    let text = try fields.needText("pem", max: 1 << 20)
    try fields.end()
    let added: [CertificateSummary]
    do {
      added = try await core.host.addAnchors(Array(text.utf8))
    } catch {
      throw Problem(error, field: "pem", rule: "P-SEC-4")
    }
    core.publishTrust()
    for anchor in added { core.audit.add(.trusted, about: "/v1/anchors/\(anchor.id)", by: .client(try call.need().id)) }
    var reply = Reply.json(["items": .list(added.map { ["id": .text($0.id), "certificate": $0.json] })], 201)
    reply.headers = [.init(name: "Location", value: "/v1/anchors/\(added.first?.id ?? "")")]
    return reply
  }

  private static func trustPeer(_ core: Core, _ call: Call) async throws -> Reply {
    var fields = try call.fields()
    let text = try fields.needText("peer")
    let name = try fields.needText("displayName")
    try fields.end()
    guard let peer = try? PeerID(text: text) else {
      throw Problem(.invalidParameter, "\(QuotedText.of(text)) is no peer ID", field: "peer", rule: "peerID")
    }
    do {
      try await core.host.trust(peer, as: name)
    } catch {
      throw Problem(error, field: "displayName", rule: "P-ID-1")
    }
    core.publishKnownPeers()
    guard let item = core.trustedPeerList[peer.text] else { throw Problem(.gone, "the peer was forgotten meanwhile") }
    core.audit.add(.trusted, about: "/v1/trusted-peers/\(peer.text)", by: .client(try call.need().id))
    return .created(item, at: "/v1/trusted-peers/\(peer.text)")
  }
}

extension AuditLog {
  /// Adds an entry about the path's target, by the caller.
  fileprivate func add(_ action: Action, _ call: Call) throws(Problem) {
    add(action, about: call.target, by: .client(try call.need().id))
  }
}
