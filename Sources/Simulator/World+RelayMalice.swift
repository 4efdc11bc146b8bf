import Engine
import Wire

/// The malicious relay: an honest engine whose frames of circuits are tampered with on their way out.
extension World {
  /// The bytes that a host's link sends in place of these.
  func tampered(_ bytes: [UInt8], _ link: SimLink, _ side: Int, _ host: SimHost) -> [UInt8] {
    let malice = host.plan.relayMalice
    guard !malice.isEmpty else { return bytes }
    var out: [UInt8] = []
    link.tampering[side].rest += bytes
    if isHealed || link.tampering[side].delayedUntil <= now { out += link.tampering[side].takeDelayed() }
    while true {
      let rest = link.tampering[side].rest
      guard let head = try? FrameHead.next(in: rest.span.bytes) else { break }
      let frame = Array(rest[..<head.end])
      link.tampering[side].rest.removeFirst(head.end)
      switch head.type {
      case .circuitData where !isHealed && link.tampering[side].swallowsUntil > now: break
      case .circuitData where !isHealed && link.tampering[side].delayedUntil > now:
        link.tampering[side].delayed += frame
      case .circuitData where !isHealed: out += tampered(frame, head, malice, &link.tampering[side], host)
      case .heard where malice.contains(.lies) && !isHealed: out += frame + lie(host)
      default: out += frame
      }
      if isHealed { out += link.tampering[side].takeHeld() }
    }
    // The start of a frame is kept until its rest has come.
    return out
  }

  private func tampered(
    _ frame: [UInt8], _ head: FrameHead, _ malice: RelayMalice, _ tampering: inout SimLink.Tampering, _ host: SimHost
  ) -> [UInt8] {
    guard wires.chance(perMille: 60) else { return frame + tampering.takeHeld() }
    let kinds = (0..<RelayMalice.count).map { RelayMalice(rawValue: 1 << $0) }.filter { malice.contains($0) }
    let kind = wires.pick(kinds)
    tally.faults += 1
    model.disturbed(host.index, host.index, until: now)
    let circuit = Array(frame[head.body].prefix(while: { $0 >= 0x80 })) + [frame[head.body].first { $0 < 0x80 } ?? 1]
    var payload = Array(frame[head.body].dropFirst(circuit.count))
    switch kind {
    case .drops: return tampering.takeHeld()
    case .truncates: payload = Array(payload.prefix(max(1, payload.count / 2)))
    case .changes: payload[wires.below(payload.count)] ^= UInt8(1 << wires.below(8))
    case .replays: return frame + frame + tampering.takeHeld()
    case .reorders:
      tampering.held += frame
      return []
    case .delays:
      tampering.delayed = frame
      tampering.delayedUntil = now + Int64(wires.within(50...4_000)) * 1_000_000
      return tampering.takeHeld()
    case .swallows:
      tampering.swallowsUntil = now + Int64(wires.within(12_000...25_000)) * 1_000_000
      return tampering.takeHeld()
    default: return frame
    }
    var sink = ArraySink()
    sink.put(varint: UInt64(1 + circuit.count + payload.count))
    sink.put(u8: FrameType.circuitData.rawValue)
    return sink.bytes + circuit + payload
  }

  private func lie(_ host: SimHost) -> [UInt8] {
    tally.faults += 1
    let nobody = (0..<wires.within(1...5)).map { _ in HostID(ID128(high: wires.next(), low: wires.next())) }
    let others = hosts.filter { $0 !== host && wires.flip() }.map(\.id)
    let truth = Heard(isHeard: wires.flip(), hosts: others).encoded()
    return Heard(isHeard: true, hosts: nobody).encoded() + truth
  }
}

extension SimLink {
  struct Tampering {
    var rest: [UInt8] = []
    var held: [UInt8] = []
    var delayed: [UInt8] = []
    var delayedUntil = Int64.min
    var swallowsUntil = Int64.min

    /// The delayed frames, in order.
    mutating func takeDelayed() -> [UInt8] {
      defer { delayed = [] }
      return delayed
    }

    mutating func takeHeld() -> [UInt8] {
      defer { held = [] }
      return held
    }
  }
}
