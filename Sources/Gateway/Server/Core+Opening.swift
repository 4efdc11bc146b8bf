internal import Media
internal import Nearby
internal import Notation
internal import Store

extension Core {
  /// Opens the gateway's own peer, and follows its host's conditions and advice.
  func open() async throws {
    let peer = try await host.peer(named: options.name)
    add(PeerModel(peer, .gateway, .stored, at: Timestamp.now))
    let host = host
    try await restore()
    try await presence.begin()
    for peer in peers.values { try await restore(peer) }
    try await restoreRequests()
    let waitingCount = sessionStore.endUnrestored(of: host.id)
    if waitingCount > 0 {
      log(
        .warning, for: .operator, "otherKeys",
        "the store has sessions of other keys: restore those keys, and start again, to resume them",
        [.init("sessions", .number(waitingCount))])
    }
    reportLosses()
    prune()
    recordMetrics()
    publishTrust()
    start { core in
      for await condition in host.conditions { core.handle(condition) }
    }
    start { core in
      for await advice in host.advice {
        core.log(.warning, for: .client, "advice", "\(advice)", [.init("peer", .text(advice.peer.text))])
        core.report(advice)
      }
    }
    start { core in
      for await pairing in host.bluetoothPairings { core.handle(pairing) }
    }
    if RadioControl.hasRadios { start { core in await core.endAbandonedNetworks() } }
    addresses = await host.addresses
    try await openCertificate()
  }

  private func reportLosses() {
    if let loss = store.loss {
      log(
        .error, for: .operator, "lost",
        "\(loss); clients get snapshots of their channels; restore a backup if needed")
    }
    if sessionStore.unknownFileCount > 0 {
      log(
        .warning, for: .operator, "leftovers",
        "files that the store does not know were moved to the quarantine, where they stay for seven days",
        [
          .init("files", .number(sessionStore.unknownFileCount)),
          .init("folder", .text(Quarantine(in: options.folder).path)),
        ])
    }
  }

  /// Restores clients of earlier runs, and their peers.
  private func restore() async throws {
    let (stored, carried, auditEntries, settings) = try await store.perform {
      (try $0.clients(), try $0.peers(), try $0.auditEntries(), try $0.settings())
    }
    restoreSettings(settings)
    clients.restore(stored)
    audit.restore(auditEntries, of: clients)
    for client in clients.clients.values.sorted(by: { $0.createdAt < $1.createdAt }) { show(client) }
    for peer in carried {
      guard let key = peer.key else { continue }
      let owner = Owner.client(ClientID(text: peer.client))
      let time = Timestamp(milliseconds: peer.created)
      add(PeerModel(try await host.carry(key, named: peer.name), owner, .stored, at: time))
    }
  }

  func handle(_ condition: Condition) {
    gateway?.report(condition)
    switch condition {
    case .discoveryUnavailable(let cause, let cure):
      discoveryError = (cause, cure)
      events.publish(
        "discoveryUnavailable", about: "/v1/gateway", .gateway,
        [.init("cause", .text(cause)), .init("cure", .text(cure))])
    // The gateway's log has it.
    case .mediumUnavailable: break
    case .discoveryAvailable:
      discoveryError = nil
      events.publish("discoveryAvailable", about: "/v1/gateway", .gateway)
    case .addresses(let addresses):
      self.addresses = addresses
      renewCertificate()
    case .notStored(let cause):
      events.publish("notStored", about: "/v1/gateway", .operators, [.init("cause", .text(cause))])
    case .storedAgain: events.publish("storedAgain", about: "/v1/gateway", .operators)
    case .conflict(let host):
      conflict = host
      events.publish("conflict", about: "/v1/gateway", .operators, [.init("host", .text(host.text))])
    }
  }
}
