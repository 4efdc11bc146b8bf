import Wire

@testable import Engine

/// A few hosts in one room, joined by pipes that take no time; what each is told is written down as it happens.
final class Stage {
  final class Host {
    let name: String
    let engine: Engine
    let peer: PeerID
    let key: PublicKey
    var lines: [String] = []
    var outputs: [Output] = []
    var facts: [[UInt8]: [UInt8]] = [:]

    init(name: String, engine: Engine, peer: PeerID, key: PublicKey) {
      self.name = name
      self.engine = engine
      self.peer = peer
      self.key = key
    }
  }

  struct Pipe {
    var ends: (Host, Host)
    var buffers: ([UInt8], [UInt8]) = ([], [])
  }

  private(set) var now = Instant(nanoseconds: 0)
  let crypto = ToyCrypto()
  private(set) var hosts: [Host] = []
  private var pipes: [UInt64: Pipe] = [:]
  private var lastLink: UInt64 = 0
  private var lastSighting: UInt64 = 0
  private var sightings: [(id: UInt64, spot: String)] = []
  /// Links that exist but carry nothing, and hosts that cannot be reached.
  var cutLinks: Set<UInt64> = []
  var unreachable: Set<String> = []
  var datagramBytesMax = 1_200
  /// What hosts see of each other's advertisements.
  var sees: (Host, Host) -> Bool = { _, _ in true }
  private var names: [String: String] = [:]

  func host(_ name: String, _ settings: Settings = Settings(), incarnation: UInt64 = 1) throws -> Host {
    var settings = settings
    settings.addresses = [try Address(text: name)]
    let key = crypto.key(named: "peer " + name)
    let engine = Engine(
      host: crypto.key(named: "host " + name), incarnation: Incarnation(incarnation), settings: settings,
      crypto: crypto, seed: crypto.hash(Array("\(name) \(incarnation)".utf8)), at: now)
    let peer = engine.addPeer(key, name: try DisplayName(name), at: now)
    let host = Host(name: name, engine: engine, peer: peer, key: key)
    names[peer.text] = name
    hosts.removeAll { $0.name == name }
    hosts.append(host)
    return host
  }

  func call(_ endpoint: EndpointID, _ name: String) { names[endpoint.text] = name }

  // MARK: Time

  /// Runs everything that is due, up to `time` from now.
  func run(_ time: Duration = .zero) {
    let end = now + time
    drain()
    while let due = hosts.compactMap(\.engine.nextDeadline).min(), due <= end {
      now = max(now, due)
      for host in hosts where host.engine.nextDeadline.map({ $0 <= now }) ?? false { host.engine.advance(to: now) }
      drain()
    }
    now = end
  }

  func drain() {
    var isBusy = true
    while isBusy {
      isBusy = false
      for host in hosts {
        while let output = host.engine.nextOutput() {
          isBusy = true
          carryOut(output, of: host)
        }
      }
    }
  }

  // MARK: Network

  func kill(_ host: Host) {
    hosts.removeAll { $0 === host }
    for (id, pipe) in pipes where pipe.ends.0 === host || pipe.ends.1 === host { cutLinks.insert(id) }
  }

  /// Cuts all links between two hosts so that both notice.
  func cut(_ a: Host, _ b: Host) {
    for (id, pipe) in pipes.sorted(by: { $0.key < $1.key })
    where (pipe.ends.0 === a && pipe.ends.1 === b) || (pipe.ends.0 === b && pipe.ends.1 === a) {
      close(id)
    }
  }

  private func close(_ id: UInt64) {
    guard let pipe = pipes.removeValue(forKey: id) else { return }
    pipe.ends.0.engine.linkClosed(LinkID(rawValue: id), at: now)
    pipe.ends.1.engine.linkClosed(LinkID(rawValue: id), at: now)
  }

  private func carryOut(_ output: Output, of host: Host) {
    switch output {
    case .dial(let dial, let remote, let address):
      guard let other = hosts.first(where: { $0.name == address.description }), !unreachable.contains(other.name),
        !unreachable.contains(host.name)
      else { return host.engine.dialFailed(dial, at: now) }
      _ = remote
      lastLink += 1
      let link = LinkID(rawValue: lastLink)
      pipes[lastLink] = Pipe(ends: (host, other))
      let exporter = crypto.hash(Array("link \(lastLink)".utf8))
      host.engine.linkOpened(
        link, to: crypto.key(named: "host " + other.name), exporter: exporter, dial: dial,
        datagramBytesMax: datagramBytesMax, at: now)
      other.engine.linkOpened(
        link, to: crypto.key(named: "host " + host.name), exporter: exporter, dial: nil,
        datagramBytesMax: datagramBytesMax, at: now)
    case .wantsToSend(let link): pump(link.rawValue, from: host)
    case .close(let link, _):
      pump(link.rawValue, from: host)
      close(link.rawValue)
    case .datagram(let link, let bytes):
      guard let pipe = pipes[link.rawValue], !cutLinks.contains(link.rawValue) else { return }
      let other = pipe.ends.0 === host ? pipe.ends.1 : pipe.ends.0
      let payload = host.engine.payload(bytes)
      other.engine.receivedDatagram(payload.span.bytes, on: link, at: now)
    case .publish(let peer, let type, let name, let info):
      for other in hosts where other !== host && sees(other, host) {
        let spot = "\(other.name) \(peer.text) \(type.text)"
        let id = sightings.first { $0.spot == spot }?.id ?? {
          lastSighting += 1
          sightings.append((lastSighting, spot))
          return lastSighting
        }()
        let addresses = [try? Address(text: host.name)].compactMap { $0 }
        other.engine.sighted(
          SightingID(rawValue: id),
          Sighting(peer: peer, host: host.engine.hostID, type: type, name: name, info: info, addresses: addresses),
          at: now)
      }
    case .withdraw(let peer, let type):
      for other in hosts where other !== host {
        if let known = sightings.first(where: { $0.spot == "\(other.name) \(peer.text) \(type.text)" }) {
          other.engine.sightingGone(SightingID(rawValue: known.id), at: now)
        }
      }
    case .persist(let batch, let facts):
      for fact in facts { host.facts[fact.key] = fact.value }
      host.engine.persisted(batch, at: now)
    default:
      host.outputs.append(output)
      if let line = describe(output, host) { host.lines.append(line) }
    }
  }

  private func pump(_ id: UInt64, from host: Host) {
    while true {
      guard var pipe = pipes[id] else { return }
      let piece = [UInt8](unsafeUninitializedCapacity: 1_000) { buffer, count in
        let raw = UnsafeMutableRawBufferPointer(buffer)  // filled from its start, and finalised to what was written
        var out = unsafe OutputRawSpan(buffer: raw, initializedCount: 0)
        host.engine.fill(&out, for: LinkID(rawValue: id), at: now)
        count = unsafe out.finalize(for: raw)
      }
      if piece.isEmpty { return }
      if cutLinks.contains(id) { continue }
      let isFirst = pipe.ends.0 === host
      let other = isFirst ? pipe.ends.1 : pipe.ends.0
      var bytes = isFirst ? pipe.buffers.1 : pipe.buffers.0
      bytes += piece
      let consumed = other.engine.received(bytes.span.bytes, on: LinkID(rawValue: id), at: now)
      bytes.removeFirst(consumed)
      if isFirst { pipe.buffers.1 = bytes } else { pipe.buffers.0 = bytes }
      pipes[id] = pipe
    }
  }

  // MARK: Reading

  private func name(_ endpoint: EndpointID) -> String { names[endpoint.text] ?? String(endpoint.text.prefix(6)) }
  private func name(_ peer: PeerID) -> String { names[peer.text] ?? String(peer.text.prefix(6)) }
  private func names(_ locals: Locals) -> String { locals.all.map(name).joined(separator: "+") }

  private func describe(_ output: Output, _ host: Host) -> String? {
    switch output {
    case .found(_, let type, let peer, _, _): "found \(name(peer)) as \(type.text)"
    case .updated(_, _, let peer, _, _): "updated \(name(peer))"
    case .lost(_, _, let peer): "lost \(name(peer))"
    case .invitation(_, let from, _, _, _, let context, _):
      "invited by \(name(from)) with \(String(decoding: context, as: UTF8.self))"
    case .invitationEnded(_, let reason): "invitation ended: \(reason)"
    case .member(let member, let state, let locals):
      switch state {
      case .connecting: "\(names(locals)): \(name(member.peer)) connecting"
      case .connected: "\(names(locals)): \(name(member.peer)) connected"
      case .notConnected(let reason): "\(names(locals)): \(name(member.peer)) notConnected \(reason)"
      }
    case .suspended(let member, let isSuspended, _): "\(name(member.peer)) \(isSuspended ? "suspended" : "resumed")"
    case .message(let from, let to, let mode, let bytes):
      "\(names(to)) < \(name(from)) \(mode == .reliable ? "" : "~")"
        + String(decoding: host.engine.payload(bytes), as: UTF8.self)
    case .fate(_, _, let to, let fate): "\(fate) to \(to.map(name).joined(separator: "+"))"
    case .writable: "writable"
    case .decision(_, let member, _, _, _): "decide on \(name(member.peer))"
    case .decisionEnded: "decision ended"
    case .comparison(_, _, _, let code): "code \(code)"
    case .comparisonEnded(_, let reason): "comparison ended: \(reason)"
    case .conflict: "conflict"
    default: nil
    }
  }
}

extension Stage.Host {
  /// What was told since the last look.
  func take() -> [String] {
    defer { lines = [] }
    return lines
  }

  var lastInvitation: InvitationID? {
    for case .invitation(let id, _, _, _, _, _, _) in outputs.reversed() { return id }
    return nil
  }

  var lastDecision: DecisionID? {
    for case .decision(let id, _, _, _, _) in outputs.reversed() { return id }
    return nil
  }
}

extension Engine {
  func say(
    _ text: String, from endpoint: EndpointID, to: Recipients = .all, _ mode: Mode = .reliable, receipt: Bool = false,
    at now: Instant
  ) throws(EngineError) {
    let bytes = Array(text.utf8)
    try send(bytes.span.bytes, from: endpoint, to: to, mode, receipt: receipt, at: now)
  }
}

/// Keys by name; a signature is a hash that only the registry can make.
final class ToyCrypto: Crypto {
  private let secret: UInt64 = 0x5eed

  func key(named name: String) -> PublicKey { PublicKey(hash(Array(name.utf8)).raw) }

  func hash(_ bytes: [UInt8]) -> Digest {
    var words: [UInt64] = [0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB, 0x2545_F491_4F6C_DD1D]
    for (position, byte) in bytes.enumerated() {
      let lane = position & 3
      words[lane] = (words[lane] ^ UInt64(byte)) &* 0x100_0000_01B3
      words[(lane + 1) & 3] ^= words[lane] >> 29
    }
    for round in 0..<8 {
      let lane = round & 3
      words[lane] = (words[lane] ^ (words[(lane + 3) & 3] >> 31)) &* 0xFF51_AFD7_ED55_8CCD
      words[(lane + 2) & 3] ^= words[lane] >> 33
    }
    return Digest(Bytes32(words[0], words[1], words[2], words[3]))
  }

  func sign(_ bytes: [UInt8], with key: PublicKey) -> Signature {
    let mark = hash(bytes + key.bytes).raw
    return Signature(r: mark, s: Bytes32(secret, 0, 0, 0))
  }

  func verify(_ signature: Signature, of bytes: [UInt8], by key: PublicKey) -> Bool { sign(bytes, with: key) == signature }

  func sign(_ bytes: [UInt8], with identity: IdentityID) -> [UInt8]? { hash(bytes + [UInt8(identity.rawValue)]).bytes }

  func verify(_ signature: [UInt8], of bytes: [UInt8], byLeafOf chain: [[UInt8]]) -> Bool {
    hash(bytes + chain[0]).bytes == signature
  }
}
