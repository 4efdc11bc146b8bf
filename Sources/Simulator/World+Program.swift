import Engine
import Wire

/// The programs of the peers: their reactions to events and questions.
enum Reaction {
  case accept(InvitationID, PeerRef)
  case decline(InvitationID)
  case decide(DecisionID, Bool)
  case invite(PeerRef, PeerID, type: Int)
  case write(StreamID)
  case read(StreamID)
  case answer(ResourceID, Bool)
  case cancelResource(ResourceID)
  case supply(ResourceID, from: UInt64, bytes: Int, series: Int)
  case wrote(ResourceID, [SimFile.Chunk], series: Int)
  case rehash(ResourceID, from: UInt64, bytes: Int)
  case kept(ResourceID)
}

extension World {
  func later(_ host: SimHost, _ delayMax: Int, _ reaction: Reaction) {
    let delay = Int64(programs.below(delayMax * 1_000 + 1)) * 1_000
    events.push(.program(host: host.index, run: host.run, reaction), at: now + delay)
  }

  func later(_ host: SimHost, after milliseconds: Int, _ reaction: Reaction) {
    events.push(.program(host: host.index, run: host.run, reaction), at: now + Int64(milliseconds) * 1_000_000)
  }

  /// A program's reaction to an output.
  func program(_ output: Output, _ host: SimHost) {
    switch output {
    case .invitation(let id, _, _, let to, _, _, _):
      guard let peer = host.peers.first(where: { $0.id == to }) else { return }
      switch peer.plan.answer {
      case .accepts: later(host, peer.plan.answerDelay, .accept(id, peer.ref))
      case .declines: later(host, peer.plan.answerDelay, .decline(id))
      case .either: later(host, peer.plan.answerDelay, programs.flip() ? .accept(id, peer.ref) : .decline(id))
      case .ignores: break
      }
    case .invitationEnded(let id, _):
      for peer in host.peers where peer.made.contains(id) { peer.made.removeAll { $0 == id } }
    case .decision(let id, _, let endpoint, _):
      guard let record = model.endpoints[endpoint], let peer = peer(record.ref), peer.plan.decides else { return }
      later(host, peer.plan.answerDelay, .decide(id, programs.chance(perMille: peer.plan.trusts)))
    case .found(let by, let type, let found, _, _, _):
      guard let peer = host.peers.first(where: { $0.id == by }), peer.plan.invitesFoundPeers else { return }
      guard let number = Self.types.firstIndex(of: type) else { return }
      later(host, 50, .invite(peer.ref, found, type: number))
    case .streamOpened(let id, _, _, _): streamOpened(id, host)
    case .streamed(let id, let payload): streamed(id, payload.count, host)
    case .streamWritable(let id):
      host.writing[id]?.isWaiting = false
      later(host, after: 0, .write(id))
    case .streamEnded(let id, _):
      host.writing[id] = nil
      host.reading[id] = nil
    case .resource(let id, let view): resource(id, view, host)
    case .read(let id, let offset, let bytes): read(id, from: offset, bytes: bytes, host)
    case .store(let id, let offset, let payload, let digest): store(id, at: offset, payload, digest, host)
    case .rehash(let id, let offset, let bytes): onDisk(host, .rehash(id, from: offset, bytes: bytes))
    case .keep(let id): onDisk(host, .kept(id))
    case .resourceEnded(let id, _):
      host.sources[id] = nil
      host.files[id] = nil
    default: break
    }
  }

  func react(_ reaction: Reaction, _ host: SimHost, _ engine: Engine) {
    switch reaction {
    case .accept(let id, let ref):
      let peer = host.peers[ref.peer]
      guard peer.isThere, let endpoint = peer.endpoints.first(where: { model.endpoints[$0]?.isOpen ?? false }) else {
        return
      }
      guard model.isPending(id, at: host) else { return }
      do {
        try engine.accept(id, with: endpoint, at: host.local(now))
        model.accepts(id, with: endpoint, at: host)
        log(host, "\(ref) accepts")
      } catch {
        log(host, "\(ref) cannot accept: \(error)")
      }
    case .decline(let id):
      guard model.isPending(id, at: host) else { return }
      log(host, "declines")
      try? engine.decline(id, at: host.local(now))
    case .decide(let id, let admit):
      guard model.decides(id, admit, at: host) else { return }
      log(host, admit ? "says yes" : "says no")
      try? engine.decide(id, admit, at: host.local(now))
    case .invite(let ref, let guest, let type):
      let peer = host.peers[ref.peer]
      guard peer.isThere, let endpoint = peer.endpoints.first else { return }
      invite(guest, type, 20_000, peer, endpoint, host, engine)
    case .write(let id): write(id, host, engine)
    case .read(let id): read(id, host, engine)
    case .answer(let id, let accepts): answer(id, accepts, host, engine)
    case .cancelResource(let id): cancelResource(id, host, engine)
    case .supply(let id, let offset, let bytes, let series):
      supply(id, from: offset, bytes: bytes, series: series, host, engine)
    case .wrote(let id, let chunks, let series): wrote(id, chunks, series: series, host, engine)
    case .rehash(let id, let offset, let bytes): rehash(id, from: offset, bytes: bytes, host, engine)
    case .kept(let id):
      model.keeps(id, at: host)
      engine.kept(id, at: host.local(now))
    }
  }
}
