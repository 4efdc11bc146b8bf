import Engine
import Wire

/// The steps of a plan. A step that is impossible by now, because its host is down or its endpoint has gone, does
/// nothing: the shrinker may have removed what it built on.
extension World {
  static let types = ["talk", "play", "wall"].map { try! ServiceType($0) }

  /// One short pair is always within the limits.
  static func info(_ number: Int) -> DiscoveryInfo {
    number == 0 ? .empty : try! DiscoveryInfo(["v": "\(number)"])
  }

  func add(_ peer: SimPeer, _ host: SimHost, _ engine: Engine) {
    let id = engine.addPeer(peer.key, name: peer.name, at: host.local(now))
    model.check(.keysMakePeers, id == peer.id) { "\(peer.ref) is called \(id)" }
    peer.isThere = true
  }

  /// Opens a peer's sessions, and repeats its program's wishes from before a restart.
  func join(_ peer: SimPeer, _ host: SimHost, _ engine: Engine) {
    setAway(peer, host, engine)
    let kept = host.plan.isDurable ? peer.endpoints.filter { model.endpoints[$0]?.isKept ?? false } : []
    peer.endpoints = []
    for (place, var settings) in peer.plan.endpoints.enumerated() {
      if place < kept.count {
        peer.endpoints.append(kept[place])
        continue
      }
      settings.identity = peer.identity
      do {
        let endpoint = try engine.openSession(peer.id, settings, at: host.local(now))
        peer.endpoints.append(endpoint)
        model.opened(endpoint, by: peer, settings, at: host)
      } catch {
        model.violate(.callsThatMakeSenseWork, "\(peer.ref) cannot open a session: \(error)")
      }
    }
    for type in peer.advertised.keys.sorted() {
      try? engine.startAdvertising(
        peer.id, Self.types[type], info: Self.info(peer.advertised[type] ?? 0), at: host.local(now))
    }
    for type in peer.browsed.sorted() {
      model.browses(peer, type, true)
      try? engine.startBrowsing(peer.id, Self.types[type], at: host.local(now))
    }
    for end in peer.adhoc.keys.sorted() where end < peer.endpoints.count {
      startAdhoc(peer, end, peer.adhoc[end] ?? 0, host, engine)
    }
  }

  private func setAway(_ peer: SimPeer, _ host: SimHost, _ engine: Engine) {
    do {
      try engine.setAway(peer.id, since: peer.awayAt.map(host.local), at: host.local(now))
    } catch {
      model.violate(.callsThatMakeSenseWork, "\(peer.ref) cannot say that it is away: \(error)")
    }
  }

  func startAdhoc(_ peer: SimPeer, _ end: Int, _ type: Int, _ host: SimHost, _ engine: Engine) {
    do {
      model.startsAdhoc(peer.endpoints[end], type)
      try engine.startAdhoc(peer.endpoints[end], Self.types[type], info: .empty, at: host.local(now))
    } catch {
      model.violate(.callsThatMakeSenseWork, "\(peer.ref) cannot start ad hoc mode: \(error)")
    }
  }

  private func acting(_ ref: PeerRef, _ body: (SimHost, Engine, SimPeer) -> Void) {
    guard hosts.indices.contains(ref.host), hosts[ref.host].peers.indices.contains(ref.peer) else { return }
    let peer = hosts[ref.host].peers[ref.peer]
    with(ref.host, hosts[ref.host].run) { host, engine in
      guard peer.isThere else { return }
      body(host, engine, peer)
    }
  }

  private func acting(_ ref: PeerRef, _ end: Int, _ body: (SimHost, Engine, SimPeer, EndpointID) -> Void) {
    acting(ref) { host, engine, peer in
      guard end < peer.endpoints.count, model.endpoints[peer.endpoints[end]]?.isOpen ?? false else { return }
      body(host, engine, peer, peer.endpoints[end])
    }
  }

  func peer(_ ref: PeerRef) -> SimPeer? {
    guard hosts.indices.contains(ref.host), hosts[ref.host].peers.indices.contains(ref.peer) else { return nil }
    return hosts[ref.host].peers[ref.peer]
  }

  func perform(_ act: Act) {
    switch act {
    case .advertise(let ref, let type, let info):
      acting(ref) { host, engine, peer in
        log(host, "\(ref) advertises \(Self.types[type])")
        peer.advertised[type] = info
        try? engine.startAdvertising(peer.id, Self.types[type], info: Self.info(info), at: host.local(now))
      }
    case .stopAdvertising(let ref, let type):
      acting(ref) { host, engine, peer in
        log(host, "\(ref) advertises \(Self.types[type]) no more")
        peer.advertised[type] = nil
        engine.stopAdvertising(peer.id, Self.types[type], at: host.local(now))
      }
    case .browse(let ref, let type):
      acting(ref) { host, engine, peer in
        log(host, "\(ref) browses for \(Self.types[type])")
        peer.browsed.insert(type)
        model.browses(peer, type, true)
        try? engine.startBrowsing(peer.id, Self.types[type], at: host.local(now))
      }
    case .stopBrowsing(let ref, let type):
      acting(ref) { host, engine, peer in
        log(host, "\(ref) browses for \(Self.types[type]) no more")
        peer.browsed.remove(type)
        engine.stopBrowsing(peer.id, Self.types[type], at: host.local(now))
        model.browses(peer, type, false)
      }
    case .invite(let ref, let end, let guest, let type, let timeout):
      acting(ref, end) { host, engine, peer, endpoint in
        guard let guest = self.peer(guest) else { return }
        invite(guest.id, type, timeout, peer, endpoint, host, engine)
      }
    case .cancel(let ref):
      acting(ref) { host, engine, peer in
        guard let last = peer.made.last else { return }
        log(host, "\(ref) cancels its invitation")
        engine.cancel(last, at: host.local(now))
      }
    case .connect(let ref, let end, let other, let otherEnd, let timeout):
      guard let data = connectionData(of: other, otherEnd) else { return }
      acting(ref, end) { host, engine, peer, endpoint in
        connect(data, timeout, peer, endpoint, host, engine)
      }
    case .adhoc(let ref, let end, let type):
      acting(ref, end) { host, engine, peer, _ in
        log(host, "\(ref) starts ad hoc mode")
        peer.adhoc[end] = type
        startAdhoc(peer, end, type, host, engine)
      }
    case .stopAdhoc(let ref, let end):
      acting(ref, end) { host, engine, peer, endpoint in
        log(host, "\(ref) stops ad hoc mode")
        peer.adhoc[end] = nil
        model.stopsAdhoc(endpoint)
        engine.stopAdhoc(endpoint, at: host.local(now))
      }
    case .leave(let ref, let end):
      acting(ref, end) { host, engine, peer, endpoint in
        log(host, "\(ref) leaves")
        peer.adhoc[end] = nil
        model.leaves(endpoint)
        engine.leave(endpoint, at: host.local(now))
      }
    case .close(let ref, let end):
      acting(ref, end) { host, engine, peer, endpoint in
        log(host, "\(ref) closes its session")
        peer.adhoc[end] = nil
        model.closes(endpoint)
        engine.closeSession(endpoint, at: host.local(now))
      }
    case .away(let ref, let isAway):
      acting(ref) { host, engine, peer in
        log(host, "\(ref) is \(isAway ? "away" : "here")")
        peer.awayAt = isAway ? now : nil
        setAway(peer, host, engine)
      }
    case .readClock(let ref, let end):
      acting(ref, end) { host, engine, _, endpoint in readClock(ref, endpoint, host, engine) }
    case .removePeer(let ref):
      acting(ref) { host, engine, peer in
        log(host, "\(ref) goes away")
        peer.isThere = false
        peer.advertised = [:]
        peer.browsed = []
        peer.adhoc = [:]
        model.goes(peer)
        engine.removePeer(peer.id, at: host.local(now))
      }
    case .remove(let ref, let end, let target, let ban):
      acting(ref, end) { host, engine, peer, endpoint in
        guard let member = model.members(of: endpoint).first(where: { model.endpoints[$0]?.ref == target }) else {
          return
        }
        log(host, "\(ref) \(ban ? "bans" : "removes") \(target)")
        model.removes(member, from: endpoint, ban: ban)
        try? engine.remove(member, from: endpoint, ban: ban, at: host.local(now))
      }
    case .lock(let ref, let end, let locked):
      acting(ref, end) { host, engine, _, endpoint in
        log(host, "\(ref) \(locked ? "locks" : "unlocks") its session")
        model.locks(endpoint, locked)
        engine.lock(endpoint, locked, at: host.local(now))
      }
    case .block(let ref, let end, let target, let blocked):
      acting(ref, end) { host, engine, _, endpoint in
        guard let target = self.peer(target) else { return }
        log(host, "\(ref) \(blocked ? "blocks" : "unblocks") \(target.ref)")
        model.blocks(target.id, from: endpoint, blocked)
        engine.block(target.id, from: endpoint, blocked, at: host.local(now))
      }
    case .send(let ref, let end, let sending):
      acting(ref, end) { host, engine, peer, endpoint in send(sending, peer, endpoint, host, engine) }
    case .stream(let ref, let end, let target, let streaming):
      acting(ref, end) { host, engine, peer, endpoint in
        openStream(streaming, to: target, peer, endpoint, host, engine)
      }
    case .offer(let ref, let end, let target, let offering):
      acting(ref, end) { host, engine, peer, endpoint in offer(offering, to: target, peer, endpoint, host, engine) }
    case .compare(let ref, let other):
      acting(ref) { host, engine, peer in
        guard let other = self.peer(other) else { return }
        log(host, "\(ref) compares codes with \(other.ref)")
        _ = try? engine.compare(peer.id, with: other.id, at: host.local(now))
      }
    default: disturb(act)
    }
  }

  func log(_ host: SimHost, _ text: @autoclosure () -> String) {
    transcript.add(now, host.index, text)
  }

  func invite(
    _ guest: PeerID, _ type: Int, _ timeout: Int, _ peer: SimPeer, _ endpoint: EndpointID, _ host: SimHost,
    _ engine: Engine
  ) {
    let number = model.invitations.count
    let duration = Duration.milliseconds(timeout)
    do {
      let id = try engine.invite(
        guest, as: Self.types[type], to: endpoint, context: Model.context(number), timeout: duration,
        at: host.local(now))
      log(host, "\(peer.ref) invites \(model.label(guest))")
      peer.made.append(id)
      model.invites(id, guest, from: endpoint, by: peer, timeout: timeout <= 0 ? 30_000 : timeout, at: host)
    } catch {
      log(host, "\(peer.ref) cannot invite \(model.label(guest)): \(error)")
      let isRefused = guest == peer.id || model.refuses(guest, at: endpoint)
      model.check(.callsThatMakeSenseWork, error.code != .invalidParameter || isRefused) {
        "\(peer.ref) cannot invite \(model.label(guest)): \(error)"
      }
    }
  }

  private func connectionData(of ref: PeerRef, _ end: Int) -> [UInt8]? {
    var data: [UInt8]?
    acting(ref, end) { host, engine, _, endpoint in
      data = try? engine.connectionData(of: endpoint, at: host.local(now))
    }
    return data
  }

  private func connect(
    _ bytes: [UInt8], _ timeout: Int, _ peer: SimPeer, _ endpoint: EndpointID, _ host: SimHost, _ engine: Engine
  ) {
    guard let data = try? ConnectionData(decoding: bytes.span.bytes) else {
      return model.violate(.callsThatMakeSenseWork, "\(host.label) was given connection data that cannot be read")
    }
    do {
      let id = try engine.connect(
        endpoint, to: data.peer, with: bytes, timeout: .milliseconds(timeout), at: host.local(now))
      log(host, "\(peer.ref) waits for \(model.label(data.endpoint))")
      peer.made.append(id)
      model.connects(id, data, from: endpoint, by: peer, timeout: timeout <= 0 ? 30_000 : timeout, at: host)
    } catch {
      model.violate(.callsThatMakeSenseWork, "\(peer.ref) cannot wait for \(model.label(data.endpoint)): \(error)")
    }
  }

  func send(_ sending: Sending, _ peer: SimPeer, _ endpoint: EndpointID, _ host: SimHost, _ engine: Engine) {
    for _ in 0..<sending.count {
      let connected = model.connected(of: endpoint)
      var to = connected
      if sending.recipients > 0 {
        while to.count > sending.recipients { to.remove(at: programs.below(to.count)) }
      }
      guard !to.isEmpty else { return }
      let payload = model.payload(bytes: max(16, sending.bytes))
      do {
        let id = try engine.send(
          payload.span.bytes, contentType: model.contentType, from: endpoint,
          to: sending.recipients == 0 ? .all : .only(to), sending.mode,
          receipt: sending.receipt, at: host.local(now))
        model.sends(id, from: endpoint, to: to, sending, at: host)
        log(host, "\(peer.ref) sends #\(model.messages.count - 1), \(payload.count) bytes, to \(to.map(model.label))")
      } catch {
        log(host, "\(peer.ref) cannot send: \(error)")
        if error.code == .unavailable, sending.mode == .reliable { model.refusedSends[endpoint] = now }
        model.check(.callsThatMakeSenseWork, error.code == .unavailable || sending.mode == .unreliable) {
          "\(peer.ref) cannot send to connected members: \(error)"
        }
        return
      }
      settle(host)
    }
  }

  // MARK: The world's own steps

  private func disturb(_ act: Act) {
    guard !isHealed else { return }
    switch act {
    case .cut(let a, let b, let time, let notice):
      tally.faults += 1
      transcript.add(now, nil) { "the cable between h\(a) and h\(b) is cut for \(time) ms (\(notice) notice)" }
      bringDown(from: a, to: b, until: now + Int64(time) * 1_000_000)
      bringDown(from: b, to: a, until: now + Int64(time) * 1_000_000)
      resetLinks(a, b, notice)
    case .deafen(let from, let to, let time):
      tally.faults += 1
      transcript.add(now, nil) { "h\(to) hears nothing of h\(from) for \(time) ms" }
      bringDown(from: from, to: to, until: now + Int64(time) * 1_000_000)
      model.disturbed(to, from, until: now + Int64(time) * 1_000_000)
    case .partition(let apart, let time):
      tally.faults += 1
      transcript.add(now, nil) { "\(apart.map { "h\($0)" }) are apart for \(time) ms" }
      for a in apart {
        for b in hosts.indices where !apart.contains(b) {
          bringDown(from: a, to: b, until: now + Int64(time) * 1_000_000)
          bringDown(from: b, to: a, until: now + Int64(time) * 1_000_000)
        }
      }
    case .reset(let a, let b, let notice):
      tally.faults += 1
      transcript.add(now, nil) { "the links between h\(a) and h\(b) are reset (\(notice) notice)" }
      resetLinks(a, b, notice)
    case .hide(let from, let viewer, let time):
      tally.faults += 1
      transcript.add(now, nil) { "h\(viewer) sees no announcements of h\(from) for \(time) ms" }
      hiddenUntil[from * hosts.count + viewer] = now + Int64(time) * 1_000_000
      events.push(.discovery(viewer: viewer, publisher: from), at: now + Int64(time) * 1_000_000)
    case .crash(let index, let back, let after):
      guard hosts[index].isUp else { return }
      tally.faults += 1
      if back == .stored { spoilFiles(of: hosts[index]) }
      stop(hosts[index])
      events.push(.restart(host: index, back), at: now + Int64(after) * 1_000_000)
    case .backUp(let index):
      hosts[index].backup = hosts[index].disk
    case .move(let index, let isNoticed):
      tally.faults += 1
      transcript.add(now, nil) { "h\(index) moves to another address (\(isNoticed ? "noticed" : "unnoticed"))" }
      move(hosts[index], noticing: isNoticed)
    case .outage(let medium, let a, let b, let time, let notice):
      tally.faults += 1
      fail(medium, between: a, b, for: time, notice)
    case .turnOff(let medium, let index, let time, let isNoticed):
      tally.faults += 1
      turnOff(medium, at: hosts[index], for: time, isNoticed: isNoticed)
    default: preconditionFailure("a step that nobody performs: \(act)")
    }
  }
}
