import Engine
import Wire

/// Hosts in one memory, joined by pipes that take no time: nothing costs anything but the engines.
///
/// Invariant: what one end fills, the other has taken whole before the call returns.
final class Room {
  final class Host {
    let number: Int
    let key: PublicKey
    /// Nil once the host has gone.
    fileprivate(set) var engine: Engine!
    /// Which session each of its peers answers invitations with.
    var answers: [PeerID: EndpointID] = [:]
    fileprivate(set) var isBusy = false
    /// How many pairs it was told are connected, and how many messages came, for how many of its peers.
    fileprivate(set) var pairs = 0
    fileprivate(set) var messages = 0
    fileprivate(set) var deliveries = 0
    /// The time that its engine took while times were measured.
    fileprivate(set) var time = Duration.zero
    /// The bytes of streams and resources that arrived, and the number of transfers that were reported complete.
    fileprivate(set) var flowBytes = 0
    fileprivate(set) var wholes = 0

    init(number: Int, key: PublicKey) {
      self.number = number
      self.key = key
    }
  }

  private struct Pipe {
    let ends: (Host, Host)
    var isOpen = true
  }

  /// The frames that went through all pipes, by type.
  struct Traffic {
    var frames: [FrameType: Int] = [:]
    var bytes: [FrameType: Int] = [:]
  }

  private(set) var now = Instant(nanoseconds: 0)
  private(set) var hosts: [Host] = []
  /// Counted while it is not nil.
  var traffic: Traffic?
  private let crypto = ToyCrypto()
  private let settings: Settings
  private var pipes: [Pipe] = []
  private var busy: [Host] = []
  /// Links that have something to send.
  private var pumps: [(LinkID, Host)] = []
  private var pumped = 0
  /// Four chunks in their frames.
  private static let pieceBytes = 66 << 10
  private var lastSighting: UInt64 = 0
  private static let source = [UInt8](repeating: 7, count: 256 << 10)
  private static let digest = Digest(Bytes32(1, 2, 3, 4))
  /// A pipe that takes time, if one does.
  var wire: PacedWire?
  private var isTiming = false

  init(_ settings: Settings = Settings()) { self.settings = settings }

  @discardableResult
  func addHost() -> Host {
    let host = Host(number: hosts.count, key: crypto.key(.host, hosts.count, 0))
    var settings = settings
    settings.addresses = [try! Address(text: "\(host.number)")]  // a number is a valid address
    host.engine = Engine(
      host: host.key, incarnation: Incarnation(1), settings: settings, crypto: crypto,
      seed: Digest(host.key.raw), at: now)
    hosts.append(host)
    return host
  }

  /// A peer with a session, which answers invitations with it.
  func addPeer(_ number: Int, at host: Host, _ session: SessionSettings = SessionSettings()) throws -> (
    peer: PeerID, endpoint: EndpointID
  ) {
    let peer = host.engine.addPeer(
      crypto.key(.peer, host.number, number), name: try DisplayName("\(host.number).\(number)"), at: now)
    let endpoint = try host.engine.openSession(peer, session, at: now)
    host.answers[peer] = endpoint
    return (peer, endpoint)
  }

  func remove(_ host: Host) { host.engine = nil }

  // MARK: Time

  /// Does what has been asked for, and everything that falls due up to `time` from now.
  func run(_ time: Duration = .zero) {
    run(until: now + time)
  }

  /// When an engine wants to be called next.
  var nextDeadline: [Instant] { hosts.compactMap { $0.engine?.nextDeadline } }

  func run(until end: Instant) {
    drain()
    while let due = hosts.lazy.compactMap({ $0.engine?.nextDeadline }).min(), due <= end {
      now = max(now, due)
      for host in hosts {
        if let engine = host.engine, let due = engine.nextDeadline, due <= now {
          call(host) { _ in engine.advance(to: now) }
        }
      }
      drain()
    }
    now = max(now, end)
  }

  /// The host's engine, for one call; what it has to say is carried out by the next `run`.
  @discardableResult
  func touch(_ host: Host) -> Engine {
    if !host.isBusy {
      host.isBusy = true
      busy.append(host)
    }
    return host.engine
  }

  func drain() {
    while true {
      while let host = busy.popLast() {
        host.isBusy = false
        if isTiming {
          for output in timed(host, { engine in Array(sequence(state: engine) { $0.nextOutput() }) }) {
            perform(output, of: host)
          }
        } else {
          while host.engine != nil, let output = host.engine.nextOutput() { perform(output, of: host) }
        }
      }
      // In turn, so that what was said first comes first.
      guard pumped < pumps.count else { break }
      let (link, host) = pumps[pumped]
      pumped += 1
      if pump(link, from: host) { pumps.append((link, host)) }
    }
    pumps.removeAll(keepingCapacity: true)
    pumped = 0
  }

  // MARK: Times

  /// Begins to take the time that each engine takes, calls and outputs, until `stopTiming`. Outputs are taken together: the
  /// clock would cost more than they do.
  func startTiming() {
    isTiming = true
    for host in hosts { host.time = .zero }
  }

  /// The most that one engine took.
  func stopTiming() -> Duration {
    isTiming = false
    return hosts.map(\.time).max() ?? .zero
  }

  /// A call from a program, whose time counts as its host's.
  @discardableResult
  func call<R, E: Error>(_ host: Host, _ body: (Engine) throws(E) -> R) throws(E) -> R {
    touch(host)
    return try timed(host, body)
  }

  private func timed<R, E: Error>(_ host: Host, _ body: (Engine) throws(E) -> R) throws(E) -> R {
    guard isTiming else { return try body(host.engine) }
    let start = threadTime()
    defer { host.time += threadTime() - start - Self.clockTime }
    return try body(host.engine)
  }

  /// The time between two readings of the clock: each is a system call, and there are hundreds in a join.
  private static let clockTime =
    (0..<1_000).map { _ in
      let start = threadTime()
      return threadTime() - start
    }.min() ?? .zero

  // MARK: What the engines want

  private func perform(_ output: Output, of host: Host) {
    switch output {
    case .message(_, let locals, _, _, let bytes):
      bytes.withBytes { consume($0.byteCount) }
      host.messages += 1
      host.deliveries += locals.count
    case .wantsToSend(let link):
      if let wire, wire.link == link { wire.wants(host) } else { pumps.append((link, host)) }
    case .streamed(let stream, let bytes):
      bytes.withBytes { consume($0.byteCount) }
      host.flowBytes += bytes.count
      touch(host).consumed(bytes.count, of: stream, at: now)
    case .read(let resource, let offset, let count):
      // The array is shared, and hashing is not what is measured. It is what was asked for, so it is taken.
      try! touch(host).supply(
        count == Self.source.count ? Self.source : Array(Self.source.prefix(count)),
        digests: Array(repeating: Self.digest, count: (count + Limits.chunkBytes - 1) / Limits.chunkBytes),
        isLast: false, of: resource, from: offset, at: now)
    case .store(let resource, let offset, let bytes, let digest):
      bytes.withBytes { consume($0.byteCount) }
      consume(digest)
      host.flowBytes += bytes.count
      touch(host).stored(resource, through: offset + UInt64(bytes.count), at: now)
    case .keep(let resource): touch(host).kept(resource, at: now)
    case .resourceEnded(_, .none), .streamEnded(_, .none): host.wholes += 1
    case .members(let members, .connected, let locals): host.pairs += members.count * locals.count
    // An address in this room is a host's number.
    case .dial(let dial, _, let addresses): connect(host, to: hosts[Int(addresses[0].description)!], dial)
    case .close(let link, _):
      while pump(link, from: host) {}
      close(link)
    case .publish(let peer, let type, let name, let info):
      let sighting = Sighting(
        peer: peer, host: host.engine.hostID, type: type, name: name, info: info,
        addresses: [try! Address(text: "\(host.number)")])  // a number is a valid address
      for other in hosts where other !== host {
        lastSighting += 1
        call(other) { $0.sighted(SightingID(rawValue: lastSighting), sighting, at: now) }
      }
    case .invitation(let id, _, _, let peer, _, _, _):
      guard let endpoint = host.answers[peer] else { return }
      // It was told just now, and the session is this peer's.
      call(host) { try! $0.accept(id, with: endpoint, at: now) }
    default: break
    }
  }

  private func connect(_ host: Host, to other: Host, _ dial: DialID) {
    pipes.append(Pipe(ends: (host, other)))
    let link = LinkID(rawValue: UInt64(pipes.count))
    let exporter = Digest(Bytes32(link.rawValue, 0, 0, 0))
    touch(host).linkOpened(link, to: other.key, exporter: exporter, dial: dial, datagramBytesMax: 1_200, at: now)
    touch(other).linkOpened(link, to: host.key, exporter: exporter, dial: nil, datagramBytesMax: 1_200, at: now)
  }

  private func close(_ link: LinkID) {
    let pipe = pipes[Int(link.rawValue) - 1]
    guard pipe.isOpen else { return }
    pipes[Int(link.rawValue) - 1].isOpen = false
    for host in [pipe.ends.0, pipe.ends.1] where host.engine != nil { touch(host).linkClosed(link, at: now) }
  }

  /// Moves a piece over, and says whether there was one.
  private func pump(_ link: LinkID, from host: Host) -> Bool {
    let pipe = pipes[Int(link.rawValue) - 1]
    let other = pipe.ends.0 === host ? pipe.ends.1 : pipe.ends.0
    guard pipe.isOpen, host.engine != nil, other.engine != nil else { return false }
    var isMoved = false
    // The one copy on the way of a payload: from where the sender keeps it to where the receiver reads it.
    call(other) { engine in
      engine.receive(upTo: Self.pieceBytes, on: link, at: now) { out in
        // The sender's own time for it counts as the sender's.
        let start = isTiming ? threadTime() : .zero
        host.engine.fill(&out, for: link, at: now)
        if isTiming {
          let time = threadTime() - start
          host.time += time - Self.clockTime
          other.time -= time + Self.clockTime
        }
        isMoved = out.byteCount > 0
        tally(out.bytes)
      }
    }
    return isMoved
  }

  private func tally(_ bytes: RawSpan) {
    guard traffic != nil else { return }
    var rest = bytes
    while let head = try! FrameHead.next(in: rest) {  // the engine has taken them
      traffic?.frames[head.type, default: 0] += 1
      traffic?.bytes[head.type, default: 0] += head.end
      rest = rest.extracting(droppingFirst: head.end)
    }
  }
}

/// Costs next to nothing, and proves nothing.
final class ToyCrypto: Crypto {
  enum Kind: UInt64 { case host, peer }

  func key(_ kind: Kind, _ host: Int, _ number: Int) -> PublicKey {
    PublicKey(Bytes32(kind.rawValue, UInt64(host), UInt64(number), 0))
  }

  func hash(_ bytes: [UInt8]) -> Digest {
    var a: UInt64 = 0x9E37_79B9_7F4A_7C15
    var b: UInt64 = 0xBF58_476D_1CE4_E5B9
    bytes.withUnsafeBytes { bytes in
      var offset = 0
      while offset < bytes.count {
        var word: UInt64 = 0
        let size = min(8, bytes.count - offset)
        withUnsafeMutableBytes(of: &word) { $0.copyMemory(from: .init(rebasing: bytes[offset..<offset + size])) }
        a = (a ^ word) &* 0xFF51_AFD7_ED55_8CCD
        b = (b &+ a) ^ (b >> 29)
        a ^= a >> 32
        offset += 8
      }
    }
    return Digest(Bytes32(a, b, a ^ (b << 7), b ^ (a >> 9)))
  }

  func sign(_ bytes: [UInt8], with key: PublicKey) -> Signature {
    Signature(r: hash(bytes).raw, s: key.raw)
  }

  func verify(_ signature: Signature, of bytes: [UInt8], by key: PublicKey) -> Bool {
    signature == sign(bytes, with: key)
  }

  func sign(_ bytes: [UInt8], with identity: IdentityID) -> [UInt8]? { nil }
  func verify(_ signature: [UInt8], of bytes: [UInt8], byLeafOf chain: [[UInt8]]) -> Bool { false }
}
