import Wire

/// Bytes of a circuit that are owned; the view writes them, and they are described once more here to check the view.
struct CircuitData: Frame {
  static let type = FrameType.circuitData
  var circuit: UInt32
  var payload: [UInt8]

  init(circuit: UInt32, payload: [UInt8]) {
    self.circuit = circuit
    self.payload = payload
  }

  init(body: inout Reader) throws(WireError) {
    let view = try CircuitDataView(decoding: try body.rest("body", max: .max))
    circuit = view.circuit
    payload = [UInt8](view.payload)
  }

  func encodeBody<S: Sink & ~Copyable & ~Escapable>(into sink: inout S) {
    sink.put(varint: circuit)
    sink.put(raw: payload.span.bytes)
  }

  var viewed: [UInt8] {
    filled(CircuitDataView.encodedSize(circuit: circuit, payloadBytes: payload.count)) {
      CircuitDataView.writeHead(circuit: circuit, payloadBytes: payload.count, into: &$0)
      $0.put(raw: payload.span.bytes)
    }
  }
}

extension Sample {
  static let circuitData = [
    ("circuitData", CircuitData(circuit: 300, payload: Array("sealed".utf8))),
    ("circuitData-last", CircuitData(circuit: .max, payload: [7])),
  ]

  static let circuits =
    [
      Sample("circuitOpen", CircuitOpen(circuit: 1, to: HostID(id(0xa0)))),
      Sample("circuitOpen-greatest", CircuitOpen(circuit: .max, to: HostID(id(0xa0)))),
      Sample("circuitAccept", CircuitAccept(circuit: 300)),
      Sample("circuitEnd", CircuitEnd(circuit: 1, reason: .none)),
      Sample("circuitEnd-unreachable", CircuitEnd(circuit: 2, reason: .unreachable)),
      Sample("circuitGrant", CircuitGrant(circuit: 1, bytes: 8_192)),
      Sample("circuitGrant-full", CircuitGrant(circuit: .max, bytes: 32_768)),
      Sample("heard", Heard(isHeard: true, hosts: [HostID(id(0xa0)), HostID(id(0xb0))])),
      Sample("heard-none", Heard(isHeard: false, hosts: [])),
    ] + circuitData.map { Sample($0.0, $0.1) }
}
