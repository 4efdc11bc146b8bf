import Engine
import Wire

/// The host that wears a relay out: circuits without end, and bytes without credit.
extension World {
  func floodCircuits(_ intruder: Intruder, _ line: Intruder.Line) {
    // The side that dialled has odd numbers.
    let first: UInt32 = line.side == 0 ? 1 : 2
    let targets = hosts.filter { !$0.isMalicious }.map(\.id)
    for place in UInt32(0)..<40 {
      let circuit = first + 2 * (line.circuits + place)
      send(CircuitOpen(circuit: circuit, to: intruder.random.pick(targets)), line)
    }
    line.circuits += 40
    var body = ArraySink()
    body.put(varint: first + 2 * UInt32(intruder.random.below(8)))
    body.bytes += intruder.random.bytes(Limits.circuitDataBytes)
    var frame = ArraySink()
    frame.put(varint: UInt64(body.bytes.count + 1))
    frame.put(u8: FrameType.circuitData.rawValue)
    for _ in 0..<8 { send(bytes: frame.bytes + body.bytes, line) }
  }
}
