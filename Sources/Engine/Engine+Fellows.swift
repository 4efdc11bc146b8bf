import Wire

/// Fellows: peers that are connected with a local endpoint, or about to be, are not invited again.
extension Engine {
  func isConnected(_ local: LocalEndpoint, with endpoint: EndpointID) -> Bool {
    local.group.members[endpoint].map { isFellow($0, of: local) && !isOnlySaid($0, of: local) } ?? false
  }

  func isConnected(_ local: LocalEndpoint, with peer: PeerID) -> Bool {
    local.group.members(of: peer).contains { isConnected(local, with: $0.id) }
  }

  /// A peer that is only announced by others may be invited all the same: the announcement may be wrong.
  private func isOnlySaid(_ member: RemoteMember, of local: LocalEndpoint) -> Bool {
    member.isHearsay && !member.isConnected(with: local.slot)
  }

  private func isFellow(_ member: RemoteMember, of local: LocalEndpoint) -> Bool {
    member.isConnected(with: local.slot)
      || (member.isConnecting(with: local.slot) && !member.isRefused(by: local.slot))
  }

  func isFellow(_ peer: PeerID, of local: LocalEndpoint) -> Bool {
    local.group.members(of: peer).contains { isFellow($0, of: local) }
  }
}
