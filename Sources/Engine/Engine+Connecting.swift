public import Wire

/// Connecting: two programs exchange connection data by their own means, and their endpoints connect without discovery.
///
/// Invariant: connection data prove nothing and open nothing. An endpoint admits only the one endpoint of the one peer
/// that its own program named, by that peer's own proof, and only while it waits for it; to everybody else it does not
/// exist.
extension Engine {
  /// The data for the program at the other end, to be handed to it unchanged.
  public func connectionData(of endpoint: EndpointID, at now: Instant) throws(EngineError) -> [UInt8] {
    beginMutation(now)
    defer { finishMutation() }
    let local = try local(endpoint)
    return ConnectionData(
      peer: local.peer.id, host: hostID, endpoint: local.id,
      addresses: Array(settings.addresses.prefix(Limits.helloAddressesMax))
    ).bytes
  }

  /// Waits for the endpoint that the data name, whose program does the same with this one's, before or after. Ends as
  /// an invitation does: `.none` where the two are in one session. Zero or a negative timeout means 30 seconds.
  public func connect(
    _ endpoint: EndpointID, to peer: PeerID, with data: [UInt8], timeout: Duration, at now: Instant
  ) throws(EngineError) -> InvitationID {
    beginMutation(now)
    defer { finishMutation() }
    let local = try local(endpoint)
    guard peer != local.peer.id else { throw EngineError(.invalidParameter, "a peer cannot connect with itself") }
    let data = try connectionData(data)
    guard data.peer != local.peer.id else {
      throw EngineError(
        .invalidParameter, "these connection data are peer \(data.peer)'s own; use those that the other program made")
    }
    guard data.peer == peer else {
      throw EngineError(
        .invalidParameter, "these connection data are of peer \(data.peer), not of \(peer); ask that one for its own")
    }
    guard !local.banned.contains(peer), !local.blocked.contains(peer) else {
      throw EngineError(.invalidParameter, "peer \(peer) is banned or blocked here; lift that first")
    }
    let host = host(data.host)
    host.learn(fromData: data.addresses)
    return invite(peer, at: host, by: .data(data.endpoint), to: local, timeout: timeout)
  }

  private func connectionData(_ bytes: [UInt8]) throws(EngineError) -> ConnectionData {
    do throws(WireError) {
      // A UInt8 has no padding to show.
      return try ConnectionData(decoding: unsafe bytes.span.bytes)
    } catch {
      let why =
        switch error.rule {
        case .truncated: "they are cut short"
        case .trailingBytes(let count): "\(count) bytes follow them"
        default: error.description
        }
      throw EngineError(
        .invalidParameter, "the connection data cannot be read (\(why)); hand them over as they were made")
    }
  }

  /// Asks nobody and stores nothing: a request that nothing waits for now is repeated when the other side begins to
  /// wait, since that side then asks too.
  func consider(_ request: InvitationRequest, to target: EndpointID, from link: Link) {
    let host = link.host
    guard let local = endpoints[target], local.peer.id == request.to else { return }
    let inviter = peerID(of: request.entry.peer)
    let invitation = incoming(request, by: inviter, to: local.peer, from: host)
    guard let own = host.asked.first(where: { crosses(invitation, $0) }) ?? anybodys(local) else {
      if isConnected(local, with: request.entry.endpoint) {
        send(Answer(id: request.id, outcome: .declined(.already)), on: link)
      }
      return
    }
    guard local.peer.id < inviter, own.to == inviter else { return answer(own, by: invitation) }
    // Both ask for the same, and the lower peer's request counts; it may have come before it was expected.
    send(Answer(id: request.id, outcome: .declined(.duplicate)), on: link)
    own.saidOn = nil
    send(own)
  }

  private func anybodys(_ local: LocalEndpoint) -> OutgoingInvitation? {
    sabotage.contains(.connectsAnybody) ? outgoing.first { $0.isPending && $0.local === local } : nil
  }

  /// The two have met in another way than the one that they wait for.
  func endAttempts(with cohort: Cohort, _ slots: SlotSet) {
    let group = cohort.presence.group
    for invitation in cohort.presence.host.asked.values {
      guard case .data(let target) = invitation.call, invitation.local.group === group,
        slots.contains(invitation.local.slot), group.members[target]?.cohort === cohort
      else { continue }
      end(invitation, .already)
    }
  }
}
