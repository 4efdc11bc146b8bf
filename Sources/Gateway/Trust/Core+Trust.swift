internal import Nearby
internal import Notation

/// Lists of the host's identities, and of the certificates and peers that it trusts.
extension Core {
  /// Publishes the lists, after a change and at the start.
  func publishTrust() {
    identityList.replace(
      with: host.identities.map { identity in
        let id = identity.certificates.first?.id ?? ""
        return (id, ["id": .text(id), "certificates": .list(identity.certificates.map(\.json))], [:])
      }, owner: .operators)
    anchorList.replace(
      with: host.anchors.map { ($0.id, ["id": .text($0.id), "certificate": $0.json], [:]) }, owner: .operators)
    publishKnownPeers()
  }

  func publishKnownPeers() {
    let known = host.knownPeers + host.firstUsedPeers
    trustedPeerList.replace(
      with: known.map { peer in
        (
          peer.id.text,
          [
            "id": .text(peer.id.text), "displayName": .text(peer.name.text),
            "confirmation": .text(peer.confirmation.rawValue),
          ], ["confirmation": peer.confirmation.rawValue]
        )
      }, owner: .gateway)
    // The verification of members and found peers may have changed.
    for session in sessions.values {
      for known in session.knownMembers where known.view.isVerified != isVerified(known.member) {
        show(known.view, in: session)
      }
    }
    for browser in browsers.values {
      for peer in browser.present.values { publish(peer, in: browser) }
    }
  }

  func identity(_ id: String) throws(Problem) -> Identity {
    guard let identity = host.identities.first(where: { $0.certificates.first?.id == id }) else {
      throw .missing("identity", id)
    }
    return identity
  }
}

extension CertificateSummary {
  /// The fingerprint in a form for paths.
  var id: String { fingerprint.filter { $0 != ":" }.lowercased() }

  var json: JSON {
    var members: [JSON.Member] = [
      .init("subject", .text(subject)), .init("issuer", .text(issuer)), .init("serial", .text(serial)),
      .init("fingerprint", .text(fingerprint)),
    ]
    for (name, time) in [("validFrom", validFrom), ("validUntil", validUntil)] {
      if let time { members.append(.init(name, .text(Timestamp(seconds: time, nanoseconds: 0).description))) }
    }
    return .object(members)
  }
}

extension Collection {
  /// Replaces the content of the list; unchanged items are not announced.
  fileprivate func replace(with things: [(id: String, json: JSON, facets: [String: String])], owner: Owner) {
    let ids = Set(things.map(\.id))
    for item in page(after: 0, atMost: .max, for: .console, where: [:]).items where !ids.contains(item.id) {
      remove(item.id)
    }
    for thing in things { put(thing.id, thing.json, owner: owner, facets: thing.facets) }
  }
}
