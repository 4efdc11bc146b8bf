internal import Nearby
internal import Notation
internal import Store

/// The removal of a client, with all that was its own.
extension Core {
  /// Revokes the token, and removes all that was the client's: its peers, their sessions, keys, messages and files.
  /// Returns when that would survive a power cut.
  ///
  /// One transaction records the removal. The next start completes it if this process cannot.
  func revoke(_ id: ClientID) async throws {
    guard clients.clients[id] != nil else { return await waitForRemovals() }
    try requireStore("deleted")
    let owned = peers.values.filter { $0.owner == .client(id) }
    let entered = sessions.values.filter { $0.owner == .client(id) }
    try await forgetStored(id)
    // Sessions and peers end by themselves, too: this waits for their end.
    for session in entered { await session.session.close() }
    for peer in owned { await peer.peer.remove() }
    if sessionStore.isDurable { await sessionStore.write(PendingWrite { _ in }, host) }
    while (try? await store.perform { try $0.removeEndedSessions() }) == true {}
    try? await store.truncateLog()
  }

  private func forgetStored(_ id: ClientID) async throws {
    let text = id.text
    guard sessionStore.isDurable else {
      try await store.perform { try $0.removeClient(text) }
      return removeState(of: id)
    }
    guard await sessionStore.write(PendingWrite { try $0.removeClient(text) }, host, with: { removeState(of: id) })
    else {
      throw Problem(.unavailable, "the gateway stopped before the client was deleted: ask again once it is back")
    }
  }

  private func removeState(of id: ClientID) {
    // Another request may have been faster.
    guard clients.revoke(id) != nil else { return }
    clientList.remove(id.text)
    sockets.close(of: id, .forbidden, "the token was revoked")
    channels.endFollowers(of: id)
    exports[id]?.abort()
    for peer in peers.values where peer.owner == .client(id) { remove(peer) }
    events.list.removeAll(of: .client(id))
    idempotency.forget(id)
    responseBudget.forget(id)
    presence.forget(id)
    audit.removeEntries(of: id)
    events.publish("revoked", about: "/v1/clients/\(id)", .operators)
  }
}
