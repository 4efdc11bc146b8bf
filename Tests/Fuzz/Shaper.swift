import Engine
import Wire

/// Makes frames that are well formed and well signed, with numbers from the input.
enum Shaper {
  static func framed(_ type: UInt8, _ body: [UInt8]) -> [UInt8] {
    var sink = ArraySink()
    sink.put(varint: UInt64(body.count + 1))
    sink.put(u8: type)
    return sink.bytes + body
  }

  static func frame(_ source: inout Source, _ attacker: inout AttackerState) -> [UInt8] {
    switch source.u8() % 31 {
    case 0: hello(&source, attacker).encoded()
    case 1:
      source.flag
        ? attacker.attach().encoded()
        : attacker.attach(&source).encoded()
    case 2: Ping(token: source.u64()).encoded()
    case 3: Pong(token: source.u64()).encoded()
    case 4: Bye(reason: source.pick(Reason.allCases), detail: "").encoded()
    case 5: Ack(strand: strand(&source), received: source.u64()).encoded()
    case 6: Browse(type: type(&source)).encoded()
    case 7:
      Advertised(type: type(&source), peer: attacker.peerID(&source), name: AttackerState.name("a"), info: .empty)
        .encoded()
    case 8: Withdrawn(type: type(&source), peer: attacker.peerID(&source)).encoded()
    case 9: invite(&source, attacker).encoded()
    case 10: connect(&source, attacker).encoded()
    case 11: answer(&source, attacker).encoded()
    case 12: Confirm(id: attacker.invite(&source), reason: reason(&source), rank: source.u32()).encoded()
    case 13: Cancel(id: attacker.invite(&source), reason: source.pick(Reason.allCases)).encoded()
    case 14, 15: join(&source, &attacker).encoded()
    case 16:
      Leave(
        record: record(&source, &attacker), index: attacker.index(&source), reason: source.pick(Reason.allCases),
        seen: source.u64()
      ).encoded()
    case 17:
      Verdict(
        record: record(&source, &attacker), about: attacker.index(&source), by: selection(&source, attacker),
        reason: reason(&source), seen: source.u64()
      ).encoded()
    case 18, 19:
      Introduce(record: record(&source, &attacker), spread: source.flag, introduction: introduction(&source, attacker))
        .encoded()
    case 20: gone(&source, &attacker).encoded()
    case 21: RosterDigest(strand: strand(&source), count: source.u32(), sum: source.u64()).encoded()
    case 22:
      source.flag
        ? framed(FrameType.message.rawValue, messageBody(&source, &attacker, isTyped: false))
        : framed(FrameType.typedMessage.rawValue, messageBody(&source, &attacker, isTyped: true))
    case 23:
      source.flag
        ? framed(FrameType.datagram.rawValue, datagramBody(&source, &attacker, isTyped: false))
        : framed(FrameType.typedDatagram.rawValue, datagramBody(&source, &attacker, isTyped: true))
    case 24: comparison(&source, attacker)
    case 25:
      Away(
        isLast: source.flag,
        peers: [.init(peer: attacker.peerID(&source), milliseconds: source.flag ? UInt64(source.u32()) : nil)]
      ).encoded()
    case 26: BrowseTypes(isOn: source.flag).encoded()
    case 27: AdvertisedTypes(types: source.flag ? [type(&source)] : [type(&source), type(&source)]).encoded()
    case 28:
      source.flag
        ? ClockRequest(strand: strand(&source), token: source.u64(), time: UInt64(source.u32())).encoded()
        : ClockReply(token: source.u64(), time: source.u64() >> 4, bound: UInt64(source.u32())).encoded()
    case 29: circuit(&source)
    default:
      IdentityFrame(
        from: attacker.index(&source), to: attacker.index(&source),
        chain: source.pick([[], [[1]], [[1], [2]]]), signature: source.bytes(max: 32)
      ).encoded()
    }
  }

  /// Frames of circuits with few numbers, so that they meet; the hosts are not there.
  private static func circuit(_ source: inout Source) -> [UInt8] {
    let circuit = UInt32(source.u8() % 4) + 1
    let host = HostID(ID128(high: 0, low: UInt64(source.u8() % 4)))
    return switch source.u8() % 6 {
    case 0: CircuitOpen(circuit: circuit, to: host).encoded()
    case 1: CircuitAccept(circuit: circuit).encoded()
    case 2: CircuitEnd(circuit: circuit, reason: source.pick(Reason.allCases)).encoded()
    case 3: CircuitGrant(circuit: circuit, bytes: source.u32() % UInt32(Limits.circuitWindowBytes) + 1).encoded()
    case 4: Heard(isHeard: source.flag, hosts: [host]).encoded()
    default: framed(FrameType.circuitData.rawValue, [UInt8(circuit)] + source.bytes(max: 255))
    }
  }

  private static func type(_ source: inout Source) -> ServiceType {
    AttackerState.serviceType(source.pick(["chat", "other", "x"]))
  }

  static func reason(_ source: inout Source) -> Reason {
    source.flag ? .none : source.pick(Reason.allCases)
  }

  private static func strand(_ source: inout Source) -> UInt32 { source.flag ? UInt32(source.u8() % 4) : source.u32() }

  static func record(_ source: inout Source, _ attacker: inout AttackerState) -> RecordHead {
    let number = source.u8()
    if number == 255 { return RecordHead(strand: source.u32(), sequence: max(1, source.u64())) }
    return attacker.record(number < 200 ? UInt32(number % 3) : source.u32())
  }

  private static func hello(_ source: inout Source, _ attacker: AttackerState) -> Hello {
    var hello = attacker.hello()
    if source.flag { return hello }
    hello.incarnation = Incarnation(source.u64())
    hello.bond = max(1, source.u64())
    if source.flag { hello.expects = source.u64() }
    hello.ordinal = source.u32()
    if source.flag { hello.addresses = [AttackerState.address("new")] }
    return hello
  }

  private static func terms(_ source: inout Source) -> Terms {
    Terms(
      encryption: source.pick([.required, .optional, .none]), showsIdentity: source.flag,
      peersMax: max(2, source.flag ? 256 : source.u32()))
  }

  private static func entry(_ source: inout Source, _ attacker: AttackerState) -> Entry {
    let shape = source.u8()
    if shape < 100, let known = attacker.knownEntry(&source) {
      var entry = known
      if shape < 40 { return entry }
      switch source.u8() % 6 {
      case 0: entry.incarnation.count = source.u32()
      case 1: entry.rank = source.u32()
      case 2: entry.terms = terms(&source)
      case 3: entry.peer = source.pick(attacker.peerKeys)
      case 4: entry.host = host(&source, attacker)
      default: entry.inviter = attacker.endpoint(&source)
      }
      return entry
    }
    let own = shape < 220
    return Entry(
      endpoint: attacker.endpoint(&source),
      incarnation: EndpointIncarnation(host: Incarnation(source.u64()), count: source.u32()),
      peer: own ? attacker.peerKeys[0] : source.pick(attacker.peerKeys),
      host: own
        ? HostID(digest: attacker.crypto.hash(HostID.preimage(of: attacker.hostKeys[0]))) : host(&source, attacker),
      name: AttackerState.name("e"), terms: terms(&source), rank: source.u32(), inviter: attacker.endpoint(&source),
      addresses: source.flag ? [AttackerState.address("e")] : [])
  }

  private static func host(_ source: inout Source, _ attacker: AttackerState) -> HostID {
    let number = source.u8()
    return number < 200
      ? HostID(digest: attacker.crypto.hash(HostID.preimage(of: source.pick(attacker.hostKeys))))
      : HostID(ID128(high: 3, low: UInt64(number)))
  }

  private static func carrier(_ key: PublicKey, _ source: inout Source, _ attacker: AttackerState) -> Carrier {
    let incarnation = Incarnation(source.flag ? 1 : source.u64())
    let host = attacker.hostKeys[source.u8() < 200 ? 0 : 1]
    let signed = Carrier.signedBytes(peer: key, host: host, incarnation: incarnation)
    return Carrier(peer: key, incarnation: incarnation, signature: attacker.crypto.sign(signed, with: key))
  }

  private static func standing(_ source: inout Source) -> Standing {
    source.flag
      ? Standing(size: 1, peersMax: 256, needs: [])
      : Standing(size: max(1, source.u32()), peersMax: max(2, source.u32()), needs: Needs(rawValue: source.u8() & 3))
  }

  private static func invite(_ source: inout Source, _ attacker: AttackerState) -> Invite {
    let entry = entry(&source, attacker)
    return Invite(
      id: attacker.invite(&source), type: type(&source), to: attacker.peerID(&source), adhoc: source.flag,
      group: GroupID(ID128(high: 1, low: UInt64(source.u8()))), entry: entry,
      carrier: carrier(entry.peer, &source, attacker), standing: standing(&source), millisecondsLeft: source.u32(),
      context: source.bytes(max: 8))
  }

  private static func connect(_ source: inout Source, _ attacker: AttackerState) -> Connect {
    let entry = entry(&source, attacker)
    return Connect(
      id: attacker.invite(&source), to: attacker.peerID(&source), target: attacker.endpoint(&source), entry: entry,
      carrier: carrier(entry.peer, &source, attacker), standing: standing(&source), millisecondsLeft: source.u32())
  }

  private static func answer(_ source: inout Source, _ attacker: AttackerState) -> Answer {
    let id = attacker.invite(&source)
    let reason = reason(&source)
    guard reason == .none else { return Answer(id: id, outcome: .declined(reason)) }
    let entry = entry(&source, attacker)
    return Answer(
      id: id,
      outcome: .accepted(
        Acceptance(
          group: GroupID(ID128(high: 1, low: 1)), entry: entry, carrier: carrier(entry.peer, &source, attacker),
          standing: standing(&source))))
  }

  private static func selection(_ source: inout Source, _ attacker: AttackerState) -> EndpointSelection {
    let kind = source.u8() % 4
    if kind < 2 { return .all }
    let indexes = Set((0..<(source.u8() % 4)).map { _ in attacker.index(&source) }).sorted()
    return kind == 2 ? .only(indexes) : .allBut(indexes)
  }

  private static func introduction(_ source: inout Source, _ attacker: AttackerState) -> Introduction {
    let known = attacker.knownEntry(&source)
    let introducer = source.flag ? known?.endpoint ?? attacker.endpoint(&source) : attacker.endpoint(&source)
    let incarnation =
      known.flatMap { $0.endpoint == introducer ? $0.incarnation : nil }
      ?? EndpointIncarnation(host: Incarnation(1), count: source.u32())
    let entries = (0...(source.u8() % 4)).map { _ in entry(&source, attacker) }
    let group = GroupID(ID128(high: 1, low: 1))
    let signed = Introduction.signedBytes(
      group: group, introducer: introducer, introducerIncarnation: incarnation, entries: entries)
    return Introduction(
      group: group, introducer: introducer, introducerIncarnation: incarnation, entries: entries,
      signature: attacker.crypto.sign(signed, with: known?.peer ?? source.pick(attacker.peerKeys)))
  }

  private static func gone(_ source: inout Source, _ attacker: inout AttackerState) -> Gone {
    let endpoint = attacker.endpoint(&source)
    return Gone(
      record: record(&source, &attacker), endpoint: endpoint, incarnation: attacker.incarnation(of: endpoint, &source))
  }

  private static func join(_ source: inout Source, _ attacker: inout AttackerState) -> Join {
    let entry = entry(&source, attacker)
    let target = attacker.endpoint(&source)
    return Join(
      record: record(&source, &attacker), index: attacker.index(&source), target: target,
      targetIncarnation: attacker.incarnation(of: target, &source), seen: source.u64(),
      admits: selection(&source, attacker),
      entry: entry, carrier: carrier(entry.peer, &source, attacker),
      tickets: source.u8() < 180 ? [] : [introduction(&source, attacker)])
  }

  private static func messageBody(_ source: inout Source, _ attacker: inout AttackerState, isTyped: Bool) -> [UInt8] {
    var sink = ArraySink()
    record(&source, &attacker).encode(into: &sink)
    return sink.bytes + datagramBody(&source, &attacker, isTyped: isTyped)
  }

  static func datagramBody(_ source: inout Source, _ attacker: inout AttackerState, isTyped: Bool) -> [UInt8] {
    var sink = ArraySink()
    sink.put(varint: attacker.index(&source))
    sink.put(varint: source.u64())
    selection(&source, attacker).encode(into: &sink)
    if isTyped { sink.put(text: source.pick(["a/b", "text/plain; charset=utf-8", "a", ""]), max: 127) }
    return sink.bytes + source.bytes(max: 16)
  }

  private static func comparison(_ source: inout Source, _ attacker: AttackerState) -> [UInt8] {
    let nonce = attacker.crypto.hash([9])
    var committed = ArraySink(Array("vicinity nonce v1".utf8) + [0])
    nonce.encode(into: &committed)
    let id = attacker.comparison(&source)
    switch source.u8() % 4 {
    case 0, 1:
      return CompareCommit(
        id: id, from: attacker.peerID(&source), to: attacker.peerID(&source),
        commitment: attacker.crypto.hash(committed.bytes)
      ).encoded()
    case 2: return CompareReveal(id: id, nonce: nonce).encoded()
    default: return CompareEnd(id: id, reason: source.pick(Reason.allCases)).encoded()
    }
  }
}
