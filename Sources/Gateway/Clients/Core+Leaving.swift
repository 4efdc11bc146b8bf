internal import Nearby
internal import Notation
internal import Store

/// How a client goes, with all that was its own.
extension Core {
  /// The token is worth nothing from now on, and what was the client's goes: its peers, their sessions, keys, messages and
  /// files. Returns when that would be so after a power cut.
  ///
  /// One transaction says that it is gone. What is then still to be done the next start does, if this process cannot.
  func revoke(_ id: ClientID) async throws {
    guard clients.clients[id] != nil else { return await gone() }
    try needStore("deleted")
    let owned = peers.values.filter { $0.owner == .client(id) }
    let entered = sessions.values.filter { $0.owner == .client(id) }
    try await forgetStored(id)
    // These end by themselves, too: here it is waited for.
    for session in entered { await session.session.close() }
    for peer in owned { await peer.peer.remove() }
    if archive.isLasting { await archive.settled(PendingWrite { _ in }, host) }
    while (try? await store.perform { try $0.clearAway() }) == true {}
    try? await store.emptyLog()
  }

  private func forgetStored(_ id: ClientID) async throws {
    let text = id.text
    guard archive.isLasting else {
      try await store.perform { try $0.removeClient(text) }
      return letGo(of: id)
    }
    guard await archive.settled(PendingWrite { try $0.removeClient(text) }, host, with: { letGo(of: id) }) else {
      throw Problem(.unavailable, "the gateway stopped before the client was deleted: ask again once it is back")
    }
  }

  private func letGo(of id: ClientID) {
    // Somebody else may have been faster.
    guard clients.revoke(id) != nil else { return }
    clientList.remove(id.text)
    sockets.close(of: id, .forbidden, "the token was revoked")
    dismiss(id)
    exports[id]?.cut()
    for peer in peers.values where peer.owner == .client(id) { remove(peer) }
    eventList.removeAll(of: .client(id))
    forget(id)
    attendance.forget(id)
    forgetDeeds(of: id)
    tell("revoked", about: "/v1/clients/\(id)", .operators)
  }
}
