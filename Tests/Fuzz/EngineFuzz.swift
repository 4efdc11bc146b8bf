import Engine
import Wire

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = [UInt8](UnsafeBufferPointer(start: start, count: count))
  EngineFuzz(input).run()
  return 0
}

/// One engine between an honest host and a hostile one; the input says what the hostile one does, and the owner.
///
/// Invariant: whatever comes, the engine does not trap, answers within a multiple of what it was asked, closes each
/// link once and only links of the host that offended, leaves no deadline behind, and keeps its session with the honest
/// host.
final class EngineFuzz {
  var source: Source
  var stage: FuzzNetwork
  private var steps = 0

  init(_ input: [UInt8]) {
    source = Source(input)
    stage = FuzzNetwork(StartingState(&source))
  }

  /// The limit of the outputs of one step, beyond a multiple of its input.
  private static let outputsPerStep = 4_000
  private static let bytesPerStep = 256 << 10
  private static let stepsMax = 48

  func run() {
    while !source.atEnd, steps < Self.stepsMax {
      steps += 1
      step()
      stage.settle()
      stage.resumeCalmly()
      let bytes = stage.bytesGiven * 64 + steps * Self.bytesPerStep
      precondition(stage.outputCount <= steps * Self.outputsPerStep, "\(stage.outputCount) outputs in \(steps) steps")
      precondition(stage.bytesTaken <= bytes, "\(stage.bytesTaken) bytes for \(stage.bytesGiven) in \(steps) steps")
    }
    stage.finish()
  }

  private func step() {
    let kind = source.u8()
    if kind >= 180 { return flowStep(kind) }
    switch kind % 18 {
    case 0: stage.give(source.bytes(max: 64))
    case 1: stage.give(Shaper.framed(source.pick(FrameType.allCases).rawValue, source.bytes(max: 255)))
    case 2: mutateCaptured()
    case 3: stage.giveDatagram(datagram())
    case 4: links()
    case 5: stage.advance(source.pick([1, 20, 100, 250, 1_000, 2_000, 5_000]))
    case 6: stage.jump(seconds: source.pick([3, 6, 20, 35, 70, 130, 700, 4_000]))
    case 7, 8: call()
    case 9: stage.persist()
    case 10: stage.restart(damage: source.flag ? { [self] in damaged($0) } : nil)
    case 11: restoreInvented()
    default:
      let frame = Shaper.frame(&source, &stage.attacker)
      stage.give(frame)
    }
  }

  private func flowStep(_ kind: UInt8) {
    switch kind {
    case ..<212: stage.give(Shaper.flowFrame(&source, &stage.attacker))
    case ..<244: callFlow()
    case ..<248: flood()
    case ..<252: stage.relinkHonest(losing: Int(source.u8() % 4))
    default: stage.restart { [self] in damagedResources($0) }
    }
  }

  /// The same kind of frame over and over, each as it should follow.
  private func flood() {
    let kind = source.bytes(max: 6)
    for _ in 0..<(source.u8() % 16) {
      var repeated = Source(kind)
      stage.give(Shaper.flowFrame(&repeated, &stage.attacker))
    }
  }

  private func links() {
    switch source.u8() % 4 {
    case 0: stage.openHostileLink(greets: source.flag, &source)
    case 1: stage.closeHostileLink(Int(source.u8()))
    case 2: stage.chosen = Int(source.u8())
    default: stage.stalls.toggle()
    }
  }

  private func mutateCaptured() {
    guard !stage.attacker.frames.isEmpty else { return }
    var frame = stage.attacker.frames[Int(source.u8()) % stage.attacker.frames.count]
    for _ in 0..<(source.u8() % 4) where !frame.body.isEmpty {
      let place = (Int(source.u8()) << 8 | Int(source.u8())) % frame.body.count
      switch source.u8() % 3 {
      case 0: frame.body[place] = source.u8()
      case 1: frame.body.insert(contentsOf: source.bytes(max: 10), at: place)
      default: frame.body.remove(at: place)
      }
    }
    stage.give(Shaper.framed(frame.type.rawValue, stage.attacker.renumbered(frame)))
  }

  private func datagram() -> [UInt8] {
    source.flag
      ? source.bytes(max: 64)
      : Shaper.framed(FrameType.datagram.rawValue, Shaper.datagramBody(&source, &stage.attacker, isTyped: false))
  }

  private func damaged(_ facts: [Fact]) -> [Fact] {
    guard !facts.isEmpty else { return facts }
    var facts = facts
    for _ in 0...(source.u8() % 4) {
      let number = Int(source.u8()) % facts.count
      switch source.u8() % 5 {
      case 0: facts[number].value = source.bytes(max: 64)
      case 1: facts[number].key = source.bytes(max: 40)
      case 2: facts.append(facts[number])
      case 3: facts.remove(at: number)
      default:
        guard var value = facts[number].value, !value.isEmpty else { continue }
        let place = (Int(source.u8()) << 8 | Int(source.u8())) % value.count
        if source.flag {
          value[place] = source.u8()
        } else {
          value.replaceSubrange(place...place, with: source.bytes(max: 10))
        }
        facts[number].value = value
      }
      if facts.isEmpty { return facts }
    }
    return facts
  }

  /// One byte after another of what is stored of resources becomes another.
  private func damagedResources(_ facts: [Fact]) -> [Fact] {
    var facts = facts
    for number in facts.indices where facts[number].key.starts(with: [1, 7]) {
      guard var value = facts[number].value, !value.isEmpty, source.flag else { continue }
      let place = Int(source.u8()) % value.count
      value.replaceSubrange(place..<min(value.count, place + 1 + Int(source.u8() % 9)), with: source.bytes(max: 9))
      facts[number].value = value
    }
    return facts
  }

  private func restoreInvented() {
    var facts: [Fact] = []
    for _ in 0...(source.u8() % 6) {
      facts.append(Fact(key: [1, source.u8() % 8] + source.bytes(max: 32), value: source.bytes(max: 160)))
    }
    stage.restart { _ in facts }
  }

  // MARK: What the owner does

  private func call() {
    let now = stage.now
    let engine = stage.engine
    let endpoint = stage.endpoint(source.u8())
    let peer = stage.peer(source.u8())
    let remote = stage.attacker.peerID(&source)
    let type = source.flag ? stage.type : stage.otherType
    switch source.u8() % 20 {
    case 0:
      _ = try? engine.invite(
        remote, as: type, to: endpoint, context: source.bytes(max: 16), timeout: source.duration(), at: now)
    case 1: connect(endpoint, to: remote)
    case 2, 3: if let id = stage.invitation(source.u8()) { try? engine.accept(id, with: endpoint, at: now) }
    case 4: if let id = stage.invitation(source.u8()) { try? engine.decline(id, at: now) }
    case 5: if let id = stage.invitation(source.u8()) { engine.cancel(id, at: now) }
    case 6: try? engine.remove(stage.attacker.endpoint(&source), from: endpoint, ban: source.flag, at: now)
    case 7: engine.lock(endpoint, source.flag, at: now)
    case 8: engine.block(remote, from: endpoint, source.flag, at: now)
    case 9, 10:
      let payload = source.bytes(max: 40)
      let to =
        source.flag ? RecipientIDs.all : .only([stage.attacker.endpoint(&source), stage.attacker.endpoint(&source)])
      _ = try? engine.send(
        payload.span.bytes, from: endpoint, to: to, source.flag ? .reliable : .unreliable, receipt: source.flag, at: now
      )
    case 11: engine.leave(endpoint, at: now)
    case 12: engine.closeSession(endpoint, at: now)
    case 13: if let id = stage.decision(source.u8()) { try? engine.decide(id, source.flag, at: now) }
    case 14: _ = try? engine.compare(peer, with: remote, at: now)
    case 15: if let id = stage.comparison(source.u8()) { try? engine.conclude(id, matches: source.flag, at: now) }
    case 16: stage.openSession(peer, &source)
    case 17:
      if source.flag {
        try? engine.startAdhoc(endpoint, type, info: .empty, at: now)
      } else {
        engine.stopAdhoc(endpoint, at: now)
      }
    case 18:
      if source.flag {
        try? engine.startAdvertising(peer, type, info: .empty, at: now)
      } else {
        engine.stopBrowsing(peer, type, at: now)
      }
    default: stage.sight(&source)
    }
  }
}

extension EngineFuzz {
  /// Calls of a program that connects by means of its own, and late findings of a medium.
  private func connect(_ endpoint: EndpointID, to remote: PeerID) {
    let (engine, now) = (stage.engine, stage.now)
    switch source.u8() % 8 {
    case 0: engine.setAddresses((0..<source.u8() % 12).map { AttackerState.address("own \($0)") }, at: now)
    case 1: engine.linkCarriesDatagrams(stage.link(source.u8()), bytesMax: source.pick([0, 8, 1_200, -1]), at: now)
    case 2:
      _ = try? engine.connect(endpoint, to: remote, with: source.bytes(max: 80), timeout: source.duration(), at: now)
    default:
      guard source.flag, let own = try? engine.connectionData(of: endpoint, at: now) else {
        let host = HostID(digest: stage.crypto.hash(HostID.preimage(of: source.pick(stage.attacker.hostKeys))))
        let data = ConnectionData(peer: remote, host: host, endpoint: stage.attacker.endpoint(&source), addresses: [])
        _ = try? engine.connect(endpoint, to: remote, with: data.bytes, timeout: source.duration(), at: now)
        return
      }
      let other = stage.endpoint(source.u8())
      _ = try? engine.connect(
        other, to: stage.peer(source.u8()), with: own, timeout: source.duration(), at: now)
    }
  }
}

/// The input, read from its start; past its end everything is 0.
struct Source {
  private var bytes: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { self.bytes = bytes[...] }

  var atEnd: Bool { bytes.isEmpty }

  mutating func u8() -> UInt8 { bytes.popFirst() ?? 0 }

  var flag: Bool { mutating get { u8() & 1 == 1 } }

  mutating func bytes(max: Int) -> [UInt8] {
    let count = min(Int(u8()) % (max + 1), bytes.count)
    defer { bytes = bytes.dropFirst(count) }
    return Array(bytes.prefix(count))
  }

  mutating func pick<T>(_ choices: [T]) -> T { choices[Int(u8()) % choices.count] }

  /// Mostly the edges, where arithmetic gives way.
  mutating func u64() -> UInt64 {
    switch u8() % 8 {
    case 0: 0
    case 1: 1
    case 2: .max
    case 3: .max - 1
    case 4: UInt64(Int64.max)
    case 5: UInt64(UInt32.max)
    default: UInt64(u8())
    }
  }

  mutating func u32() -> UInt32 {
    switch u8() % 6 {
    case 0: 0
    case 1: .max
    case 2: .max - 1
    default: UInt32(u8())
    }
  }

  mutating func duration() -> Duration {
    pick([
      .zero, .seconds(-1), .milliseconds(1), .seconds(5), .seconds(30), .seconds(Int64.max), .nanoseconds(Int64.min),
    ])
  }
}

/// The state of things when the input begins to speak.
struct StartingState {
  /// How far the hostile host has come in an honest manner: not at all, greeted, attached, a member.
  var progress: UInt8
  var isDurable: Bool
  /// Whether the session that the hostile host is a member of asks about each member, and has a second local peer in it.
  var asks: Bool
  var hasFellow: Bool
  var isAdhoc: Bool
  /// Whether the hostile host also has a record that stands for a roster.
  var hasRoster: Bool
  /// Whether streams and resources go on, slowly, between the honest host and the engine.
  var isCalm: Bool
  /// Whether resources are accepted automatically, and whether the owner handles reports of flows at once.
  var takesAll: Bool
  var isPrompt: Bool

  init(_ source: inout Source) {
    progress = source.u8() % 4
    let flags = source.u8()
    isDurable = flags & 1 != 0
    asks = flags & 2 != 0
    hasFellow = flags & 4 != 0
    isAdhoc = flags & 8 != 0
    hasRoster = flags & 16 != 0
    isCalm = flags & 32 != 0
    takesAll = flags & 64 != 0
    isPrompt = flags & 128 != 0
  }
}
