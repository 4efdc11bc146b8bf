import Wire

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let input = [UInt8](UnsafeBufferPointer(start: start, count: count))
  WireFuzz.stream(input)
  WireFuzz.everyKind(input)
  WireFuzz.connectionData(input)
  return 0
}

/// Any bytes may be refused, none may trap, and what decodes must encode to the same bytes.
private enum WireFuzz {
  /// Reads as a link does: frame after frame, until more bytes are needed or one is refused.
  static func stream(_ input: [UInt8]) {
    var rest = input[...]
    while true {
      let bytes = Array(rest)
      guard let head = try? FrameHead.next(in: bytes.span.bytes) else { return }
      precondition(head.body.lowerBound >= 2 && head.end <= bytes.count, "a frame outside of its bytes")
      if let recoded = try? recoded(head.type, Array(bytes[head.body])) {
        precondition(recoded == Array(bytes[..<head.end]), "\(head.type) encodes to other bytes than it came from")
      }
      rest = rest.dropFirst(head.end)
    }
  }

  /// The input as the body of a frame of every kind.
  static func everyKind(_ input: [UInt8]) {
    for type in FrameType.allCases {
      guard let frame = try? recoded(type, input) else { continue }
      guard input.count < Limits.frameLengthMax else { continue }
      let head = try? FrameHead.next(in: frame.span.bytes)
      precondition(head?.type == type && head?.end == frame.count, "\(type) encodes to no frame of its kind")
      precondition(head.map { Array(frame[$0.body]) } == input, "\(type) encodes to other bytes than it came from")
    }
  }

  static func connectionData(_ input: [UInt8]) {
    guard let data = try? ConnectionData(decoding: input.span.bytes) else { return }
    precondition(data.bytes == input, "connection data encode to other bytes than they came from")
  }

  /// The frame that a body decodes to, encoded again.
  private static func recoded(_ type: FrameType, _ body: [UInt8]) throws(WireError) -> [UInt8] {
    switch type {
    case .hello: try recoded(Hello.self, body)
    case .attach: try recoded(Attach.self, body)
    case .ping: try recoded(Ping.self, body)
    case .pong: try recoded(Pong.self, body)
    case .bye: try recoded(Bye.self, body)
    case .ack: try recoded(Ack.self, body)
    case .browse: try recoded(Browse.self, body)
    case .browseEnd: try recoded(BrowseEnd.self, body)
    case .advertised: try recoded(Advertised.self, body)
    case .withdrawn: try recoded(Withdrawn.self, body)
    case .away: try recoded(Away.self, body)
    case .browseTypes: try recoded(BrowseTypes.self, body)
    case .advertisedTypes: try recoded(AdvertisedTypes.self, body)
    case .invite: try recoded(Invite.self, body)
    case .answer: try recoded(Answer.self, body)
    case .confirm: try recoded(Confirm.self, body)
    case .cancel: try recoded(Cancel.self, body)
    case .connect: try recoded(Connect.self, body)
    case .join: try recoded(Join.self, body)
    case .leave: try recoded(Leave.self, body)
    case .verdict: try recoded(Verdict.self, body)
    case .introduce: try recoded(Introduce.self, body)
    case .gone: try recoded(Gone.self, body)
    case .digest: try recoded(RosterDigest.self, body)
    case .circuitOpen: try recoded(CircuitOpen.self, body)
    case .circuitAccept: try recoded(CircuitAccept.self, body)
    case .circuitEnd: try recoded(CircuitEnd.self, body)
    case .circuitData: try recodedCircuitData(body)
    case .circuitGrant: try recoded(CircuitGrant.self, body)
    case .heard: try recoded(Heard.self, body)
    case .clockRequest: try recoded(ClockRequest.self, body)
    case .clockReply: try recoded(ClockReply.self, body)
    case .compareCommit: try recoded(CompareCommit.self, body)
    case .compareReveal: try recoded(CompareReveal.self, body)
    case .compareEnd: try recoded(CompareEnd.self, body)
    case .identity: try recoded(IdentityFrame.self, body)
    case .message, .typedMessage: try recodedMessage(body, isTyped: type == .typedMessage)
    case .datagram, .typedDatagram: try recodedDatagram(body, isTyped: type == .typedDatagram)
    case .streamOpen: try recoded(StreamOpen.self, body)
    case .streamEnd: try recoded(StreamEnd.self, body)
    case .streamStop: try recoded(StreamStop.self, body)
    case .streamGrant: try recoded(StreamGrant.self, body)
    case .streamData: try recodedStreamData(body)
    case .resourceOffer: try recoded(ResourceOffer.self, body)
    case .resourceEnd: try recoded(ResourceEnd.self, body)
    case .resourceStop: try recoded(ResourceStop.self, body)
    case .resourceWant: try recoded(ResourceWant.self, body)
    case .resourceChunk: try recodedResourceChunk(body)
    }
  }

  private static func recoded<F: Frame>(_ type: F.Type, _ body: [UInt8]) throws(WireError) -> [UInt8] {
    let frame = try F(decoding: body.span.bytes)
    let bytes = filled(frame.encodedSize) { frame.write(into: &$0) }
    precondition(bytes == frame.encoded(), "the two ways to encode \(F.type) differ")
    return bytes
  }

  private static func recodedMessage(_ body: [UInt8], isTyped: Bool) throws(WireError) -> [UInt8] {
    let view = try MessageView(decoding: body.span.bytes, isTyped: isTyped)
    let (record, from, seen, to) = (view.record, view.from, view.seen, view.selection.owned)
    let (contentType, payload) = (view.contentType, [UInt8](view.payload))
    let size = MessageView.encodedSize(
      record: record, from: from, seen: seen, to: to, contentType: contentType, payloadBytes: payload.count)
    return filled(size) {
      MessageView.write(
        record: record, from: from, seen: seen, to: to, contentType: contentType, payload: payload.span.bytes,
        into: &$0)
    }
  }

  private static func recodedDatagram(_ body: [UInt8], isTyped: Bool) throws(WireError) -> [UInt8] {
    let view = try DatagramView(decoding: body.span.bytes, isTyped: isTyped)
    let (from, seen, to, payload) = (view.from, view.seen, view.selection.owned, [UInt8](view.payload))
    let contentType = view.contentType
    let size = DatagramView.encodedSize(
      from: from, seen: seen, to: to, contentType: contentType, payloadBytes: payload.count)
    return filled(size) {
      DatagramView.write(
        from: from, seen: seen, to: to, contentType: contentType, payload: payload.span.bytes, into: &$0)
    }
  }

  private static func recodedStreamData(_ body: [UInt8]) throws(WireError) -> [UInt8] {
    let view = try StreamDataView(decoding: body.span.bytes)
    let (flow, offset, payload) = (view.flow, view.offset, [UInt8](view.payload))
    return filled(StreamDataView.encodedSize(flow: flow, offset: offset, payloadBytes: payload.count)) {
      StreamDataView.writeHead(flow: flow, offset: offset, payloadBytes: payload.count, into: &$0)
      $0.put(raw: payload.span.bytes)
    }
  }

  private static func recodedCircuitData(_ body: [UInt8]) throws(WireError) -> [UInt8] {
    let view = try CircuitDataView(decoding: body.span.bytes)
    let (circuit, payload) = (view.circuit, [UInt8](view.payload))
    return filled(CircuitDataView.encodedSize(circuit: circuit, payloadBytes: payload.count)) {
      CircuitDataView.writeHead(circuit: circuit, payloadBytes: payload.count, into: &$0)
      $0.put(raw: payload.span.bytes)
    }
  }

  private static func recodedResourceChunk(_ body: [UInt8]) throws(WireError) -> [UInt8] {
    let view = try ResourceChunkView(decoding: body.span.bytes)
    let (flow, turn, offset, digest) = (view.flow, view.turn, view.offset, view.digest)
    let payload = [UInt8](view.payload)
    let size = ResourceChunkView.encodedSize(
      flow: flow, turn: turn, offset: offset, digest: digest, payloadBytes: payload.count)
    let frame = filled(size) {
      ResourceChunkView.writeHead(
        flow: flow, turn: turn, offset: offset, digest: digest, payloadBytes: payload.count, into: &$0)
      $0.put(raw: payload.span.bytes)
    }
    guard view.proofCount > 0 else { return frame }
    // A proof is never written, so the frame must differ from the one that was read by that alone.
    let proofBytes = view.proofCount * Digest.byteCount
    let head = body.count - payload.count - proofBytes - 1
    precondition(frame.suffix(head + 1 + payload.count).elementsEqual(body.prefix(head) + [0] + payload))
    var sink = ArraySink()
    sink.put(varint: UInt64(body.count + 1))
    sink.put(u8: FrameType.resourceChunk.rawValue)
    return sink.bytes + body
  }

  /// The bytes that work writes into a buffer of exactly this size.
  private static func filled(_ size: Int, _ work: (inout OutputRawSpan) -> Void) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      let raw = UnsafeMutableRawBufferPointer(buffer)
      var out = OutputRawSpan(buffer: raw, initializedCount: 0)
      work(&out)
      precondition(out.isFull, "a frame is smaller than its measure")
      count = out.finalize(for: raw)
    }
  }
}
