import Engine
import Wire

/// The host that wears a relay out: circuits without end, and bytes without credit.
extension World {
  func floodCircuits(_ intruder: Intruder, _ line: Intruder.Line) {
    // The side that dialled has odd numbers.
    let first: UInt32 = line.side == 0 ? 1 : 2
    guard line.circuits > 0, intruder.random.flip() else {
      let targets = hosts.filter { !$0.isMalicious }.map(\.id)
      for place in 0..<Self.floodedCircuits {
        send(CircuitOpen(circuit: first + 2 * (line.circuits + place), to: intruder.random.pick(targets)), line)
      }
      line.circuits += Self.floodedCircuits
      return
    }
    // Over one of the first, which may be open by now. Its other end waits for the rest of a long record.
    var body = ArraySink()
    body.put(varint: first + 2 * UInt32(intruder.random.below(Int(Self.floodedCircuits))))
    body.put(u64: 1 << 20)
    body.bytes += intruder.random.bytes(Limits.circuitDataBytes - 8)
    var frame = ArraySink()
    frame.put(varint: UInt64(body.bytes.count + 1))
    frame.put(u8: FrameType.circuitData.rawValue)
    for _ in 0..<12 { send(bytes: frame.bytes + body.bytes, line) }
  }

  private static let floodedCircuits: UInt32 = 40
}
