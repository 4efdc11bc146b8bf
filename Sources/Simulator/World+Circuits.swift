import Engine
import Wire

/// Links over circuits: their bytes go through the engines of the relays, and not by wires of their own.
extension World {
  /// The medium of links over circuits; nil in a world without relays.
  var relayMedium: Int? { plan.media.firstIndex(where: \.profile.isRelayed) }

  func relay(at address: Address) -> HostID? {
    let text = address.description
    guard relayMedium != nil, text.hasPrefix("via:") else { return nil }
    return try? HostID(text: String(text.dropFirst(4)))
  }

  // MARK: Dialling

  func dial(_ dial: DialID, to target: HostID, through relays: [HostID], by host: SimHost, after late: Int64) {
    events.push(.circuitDial(host: host.index, run: host.run, dial, target, relays), at: now + late + 1_000_000)
  }

  /// Tries the relays one after another.
  func openCircuit(_ dial: DialID, to target: HostID, through relays: [HostID], _ host: SimHost, _ engine: Engine) {
    guard let medium = relayMedium else { return }
    for (place, relay) in relays.enumerated() {
      guard let id = engine.openCircuit(to: target, through: relay, at: host.local(now)) else { continue }
      let there = hostsByID[target] ?? host.index
      transcript.add(now, host.index) { "asks \(label(relay)) for a circuit to \(label(target))" }
      let link = SimLink(
        index: links.count, medium: medium, exporter: Digest(Bytes32(0, 0, 0, 0)), latency: 0, bandwidth: 0,
        ends: [SimLink.End(host: host.index, run: host.run), SimLink.End(host: there, run: hosts[there].run)])
      links.append(link)
      host.channels[id] = SimChannel(
        isDialed: true, dial: dial, to: target, relays: Array(relays[(place + 1)...]), link: link.index, of: host,
        nonce: wires.next())
      limitHandshake(id, host)
      return
    }
    transcript.add(now, host.index) { "gets no answer from \(label(target))" }
    engine.dialFailed(dial, at: host.local(now))
  }

  func label(_ host: HostID) -> String { hostsByID[host].map { "h\($0)" } ?? "nobody" }

  // MARK: Events

  func handle(_ event: SimHost.CircuitEvent, _ host: SimHost, _ engine: Engine) {
    switch event {
    case .opened(let id, let isDialed):
      if isDialed, let link = host.channels[id]?.link {
        host.channels[id]?.sayHello(link: link)
      } else if !isDialed {
        host.channels[id] = SimChannel(
          isDialed: false, dial: nil, to: host.id, relays: [], link: nil, of: host, nonce: wires.next())
        limitHandshake(id, host)
      }
      flush(id, host, engine)
    case .bytes(let id, let bytes):
      engine.consumed(bytes.count, of: id, at: host.local(now))
      guard host.channels[id] != nil else { return }
      host.channels[id]?.add(bytes)
      take(id, host, engine)
    case .writable(let id):
      flush(id, host, engine)
      if let link = host.channels[id]?.link { host.pumps.append(link) }
    case .ended(let id, let reason):
      guard let channel = host.channels.removeValue(forKey: id) else { return }
      lost(channel, reason, host, engine)
    }
  }

  private func limitHandshake(_ id: CircuitID, _ host: SimHost) {
    events.push(.handshakeTimeout(host: host.index, run: host.run, id), at: now + Self.handshakeMax)
  }

  private static let handshakeMax: Int64 = 5_000_000_000

  func handshakeTimesOut(_ id: CircuitID, _ host: SimHost, _ engine: Engine) {
    guard let channel = host.channels[id],
      !(channel.link.map { links[$0].ends[channel.isDialed ? 0 : 1].wasOpen } ?? false)
    else { return }
    host.channels[id] = nil
    engine.endCircuit(id, at: host.local(now))
    lost(channel, .timedOut, host, engine)
  }

  private func lost(_ channel: SimChannel, _ reason: Reason, _ host: SimHost, _ engine: Engine) {
    guard let index = channel.link else { return }
    let link = links[index]
    let side = channel.isDialed ? 0 : 1
    let wasOpen = link.ends[side].wasOpen
    link.ends[side].hasEnded = true
    if wasOpen {
      guard link.ends[side].isOpen else { return }
      link.ends[side].isOpen = false
      transcript.add(now, host.index) { "link to h\(link.ends[1 - side].host) by relay is gone (\(reason))" }
      engine.linkClosed(link.id, at: host.local(now))
    } else if let dial = channel.dial {
      transcript.add(now, host.index) { "gets no circuit to \(label(channel.target)) (\(reason))" }
      openCircuit(dial, to: channel.target, through: channel.relays, host, engine)
    }
  }

  private func take(_ id: CircuitID, _ host: SimHost, _ engine: Engine) {
    do throws(WireError) {
      while let piece = try host.channels[id]?.next() {
        guard let channel = host.channels[id] else { return }
        switch piece {
        case .hello(let index, let key): try hello(id, channel, index, key, host, engine)
        case .proved:
          guard !channel.isDialed, let index = channel.link else { throw WireError(.truncated) }
          open(links[index], 1, id, channel, host, engine)
        case .bytes(let bytes):
          guard let index = channel.link, links[index].ends[channel.isDialed ? 0 : 1].isOpen else { continue }
          engine.received(bytes.span.bytes, on: links[index].id, at: host.local(now))
          // Payloads of outputs go with the next mutation.
          drain(host, engine)
        }
      }
    } catch {
      // The bytes were not sealed by the other side.
      guard let channel = host.channels.removeValue(forKey: id) else { return }
      transcript.add(now, host.index) { "ends a circuit whose bytes were changed" }
      engine.endCircuit(id, at: host.local(now))
      lost(channel, .protocolViolation, host, engine)
    }
  }

  private func hello(
    _ id: CircuitID, _ channel: SimChannel, _ index: Int, _ key: PublicKey, _ host: SimHost, _ engine: Engine
  ) throws(WireError) {
    guard links.indices.contains(index), links[index].medium == relayMedium else { throw WireError(.truncated) }
    let link = links[index]
    link.keys[channel.isDialed ? 0 : 1] = key
    if channel.isDialed {
      host.channels[id]?.seal([])
      open(link, 0, id, channel, host, engine)
    } else {
      guard link.ends[1].host == host.index, !link.ends[1].wasOpen else { throw WireError(.truncated) }
      host.channels[id]?.link = index
      link.ends[1].run = host.run
      host.channels[id]?.sayHello(link: index)
    }
    flush(id, host, engine)
  }

  private func open(
    _ link: SimLink, _ side: Int, _ id: CircuitID, _ channel: SimChannel, _ host: SimHost, _ engine: Engine
  ) {
    guard let key = link.keys[side], let exporter = host.channels[id]?.exporter else { return }
    link.ends[side].isOpen = true
    link.ends[side].wasOpen = true
    link.circuits[side] = id
    if side == 0 { tally.links += 1 }
    transcript.add(now, host.index) { "has a link to h\(link.ends[1 - side].host) by relay" }
    engine.linkOpened(
      link.id, to: key, exporter: exporter, dial: channel.dial, datagramBytesMax: 0,
      medium: MediumID(rawValue: link.medium), circuit: id, at: host.local(now))
  }

  // MARK: Bytes

  /// Seals what a link has, as far as the circuit has room.
  func pumpCircuit(_ link: SimLink, _ side: Int, _ host: SimHost, _ engine: Engine) {
    guard let id = link.circuits[side] else { return }
    while link.ends[side].wants, host.channels[id]?.outbound.isEmpty ?? false {
      let bytes = filled(by: engine, for: link, host)
      guard !bytes.isEmpty else {
        link.ends[side].wants = false
        break
      }
      if link.ends[side].blame != nil, let bye = Self.byes(in: bytes).last {
        link.ends[side].blame = "(\(bye.reason)): \(bye.detail)"
      }
      tally.bytes += bytes.count
      host.channels[id]?.seal(bytes)
      flush(id, host, engine)
    }
    guard link.ends[side].isClosing, !link.ends[side].wants else { return }
    link.ends[side].isClosing = false
    link.ends[side].hasEnded = true
    host.channels[id]?.isClosing = true
    flush(id, host, engine)
    blame(link, side, host)
  }

  private func flush(_ id: CircuitID, _ host: SimHost, _ engine: Engine) {
    guard let channel = host.channels[id] else { return }
    if !channel.outbound.isEmpty {
      let count = engine.write(channel.outbound.span.bytes, to: id, at: host.local(now))
      host.channels[id]?.outbound.removeFirst(count)
    }
    guard channel.isClosing, host.channels[id]?.outbound.isEmpty ?? false else { return }
    host.channels[id] = nil
    engine.endCircuit(id, at: host.local(now))
  }

  /// A side's link over a circuit is gone in its host's eyes: so is the circuit.
  func dropCircuit(of link: SimLink, _ side: Int, _ host: SimHost, _ engine: Engine) {
    guard let id = link.circuits[side] else { return }
    host.channels[id] = nil
    engine.endCircuit(id, at: host.local(now))
  }
}
