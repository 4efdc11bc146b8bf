public import Wire

/// Streams: bytes in order from a local endpoint to a member, with flow control by the reader.
///
/// Invariant: opening, closing and cancelling are records, so each arrives once. Bytes go beside the records, from the
/// reader's position up to its credit; on a new link they wait until it has stated both again.
extension Engine {
  // MARK: Writing

  /// Opens a stream, to which bytes may be written at once; the member sees its name.
  public func openStream(
    _ name: String, from endpoint: EndpointID, to member: EndpointID, at now: Instant
  ) throws(EngineError) -> StreamID {
    beginMutation(now)
    defer { finishMutation() }
    guard name.utf8.count <= Limits.streamNameBytesMax else {
      throw EngineError(
        .invalidParameter,
        "a stream's name of \(name.utf8.count) bytes is too long; at most \(Limits.streamNameBytesMax)")
    }
    let local = try local(endpoint)
    let member = try connected(member, with: local)
    let pair = Pair(local: local.id, member: member.id)
    guard flows.writers.values(where: { $0.pair == pair }).count < Int(local.settings.streamsMax) else {
      throw EngineError(
        .unavailable, "\(local.settings.streamsMax) streams to this member are open: close one first",
        endpoints: [member.id])
    }
    let writer = StreamSender(id: StreamID(rawValue: number()), flow: entropy.word(crypto), pair: pair)
    flows.add(writer)
    member.host.bond?.lanes.writers[writer.flow] = writer
    record(member.presence) {
      StreamOpen(
        record: $0, flow: writer.flow, incarnation: incarnation, from: local.index, to: member.index ?? 0, name: name)
    }
    return writer.id
  }

  /// Accepts all of the bytes or none: they arrive in order, or the reader gets an end of the stream before them.
  public func write(_ bytes: [UInt8], to stream: StreamID, at now: Instant) throws(EngineError) {
    beginMutation(now)
    defer { finishMutation() }
    guard let writer = flows.writers[stream], !writer.isClosed else {
      throw EngineError(.invalidParameter, "this stream is not open for writing")
    }
    guard bytes.count <= Self.writeBytesMax else {
      throw EngineError(
        .invalidParameter, "\(bytes.count) bytes are too many for one write; at most \(Self.writeBytesMax)")
    }
    guard writer.backlog < streamBacklog else {
      writer.isWaiting = true
      throw EngineError(queueFull: "the stream is full: its reader is behind; go on when it is writable")
    }
    writer.bytes.append(bytes)
    wake(writer)
  }

  /// Below one grant of the reader each side would wait for the other.
  private var streamBacklog: Int { max(settings.streamBacklogBytes, StreamReceiver.grantBytes) }

  /// A larger write would defeat the backlog's limit.
  private static let writeBytesMax = 1 << 20

  /// Closes a stream: written bytes still arrive. On a reader's side, cancels it.
  public func closeStream(_ stream: StreamID, at now: Instant) {
    guard let writer = flows.writers[stream] else { return cancelStream(stream, .cancelled, at: now) }
    beginMutation(now)
    defer { finishMutation() }
    guard !writer.isClosed else { return }
    writer.isClosed = true
    send(.none, of: writer)
  }

  /// Ends a stream from either side, at once.
  public func cancelStream(_ stream: StreamID, _ reason: Reason, at now: Instant) {
    precondition(reason != .none, "a stream is cancelled for a reason")
    beginMutation(now)
    defer { finishMutation() }
    if let writer = flows.writers[stream] {
      if !sabotage.contains(.forgetsCancel) { send(reason, of: writer) }
      end(writer, reason)
    } else if let reader = flows.readers[stream] {
      stop(reader, reason)
    }
  }

  private func send(_ reason: Reason, of writer: StreamSender) {
    guard let member = member(of: writer.pair) else { return }
    record(member.presence) {
      StreamEnd(record: $0, flow: writer.flow, reason: reason, size: writer.bytes.end)
    }
  }

  private func wake(_ writer: StreamSender) {
    guard writer.canSend, let bond = member(of: writer.pair)?.host.bond else { return }
    bond.lanes.wake(writer)
    wakeLink(of: bond)
  }

  private func end(_ writer: StreamSender, _ reason: Reason) {
    flows.remove(writer.id)
    writer.beginLink()
    member(of: writer.pair)?.host.bond?.openLanes?.writers[writer.flow] = nil
    emit(.streamEnded(writer.id, reason))
  }

  func handle(_ grant: StreamGrant, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    // It may have ended while this was in flight.
    guard let lanes = bond.openLanes, let writer = lanes.writers[grant.flow] else { return }
    guard writer.grant(received: grant.received, limit: grant.limit, isLate: sabotage.contains(.forgetsStreamBytes))
    else {
      throw ProtocolViolation(
        .protocolViolation, "a grant that has received \(grant.received) bytes of a stream, which is untrue")
    }
    if writer.isWaiting, writer.backlog < streamBacklog {
      writer.isWaiting = false
      if !sabotage.contains(.forgetsWriters) { emit(.streamWritable(writer.id)) }
    }
    lanes.wake(writer)
    if lanes.hasUnsent { wake(link) }
  }

  func handle(_ stop: StreamStop, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    _ = try count(stop.record, bytes: 0, over: bond)
    guard let writer = bond.openLanes?.writers[stop.flow] else { return }
    guard stop.reason != .none || writer.isClosed && writer.hasSentAll else {
      throw ProtocolViolation(.protocolViolation, "a stream that its reader has all of, and that was not sent")
    }
    end(writer, stop.reason)
  }

  // MARK: Reading

  func handle(_ open: StreamOpen, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    _ = try count(open.record, bytes: 0, over: bond)
    // Its writer has been restarted since, and has forgotten it.
    guard bond.host.incarnation.map({ open.incarnation >= $0 }) ?? true else { return }
    guard let (member, local) = connected(open.from, open.to, over: bond) else {
      answerStray(bond) { StreamStop(record: $0, flow: open.flow, reason: .gone) }
      return
    }
    let lanes = bond.lanes
    guard lanes.readers[open.flow] == nil else {
      throw ProtocolViolation(.protocolViolation, "a stream that is open already")
    }
    let pair = Pair(local: local.id, member: member.id)
    guard lanes.unread.count < Self.readersMax || bond.host.isSelf,
      flows.readers.values(where: { $0.pair == pair }).count < Int(local.settings.streamsMax)
    else {
      record(member.presence) { StreamStop(record: $0, flow: open.flow, reason: .busy) }
      return
    }
    let hasFullWindow = lanes.unread.count < Self.fullWindowsMax
    let reader = StreamReceiver(
      id: StreamID(rawValue: number()), flow: open.flow, pair: pair,
      windowBytes: hasFullWindow ? streamWindow : Limits.chunkBytes)
    flows.add(reader)
    lanes.readers[open.flow] = reader
    lanes.unread.insert(reader.id)
    emit(.streamOpened(reader.id, name: open.name, from: member.id, to: local.id))
    send(reader.grant, on: link)
  }

  /// Open streams of one host; those past the first ones get a small window, so that this host's programs hold no more
  /// than some 32 MiB for it.
  private static let readersMax = 1_024
  private var streamWindow: Int {
    sabotage.contains(.overgrants) ? 1 << 30 : max(Limits.chunkBytes, settings.streamWindowBytes)
  }
  private static let fullWindowsMax = 64

  func handle(streamData body: RawSpan, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    let view: StreamDataView
    do throws(WireError) { view = try StreamDataView(decoding: body) } catch {
      throw ProtocolViolation(.protocolViolation, "streamData: \(error)")
    }
    guard let reader = bond.openLanes?.readers[view.flow] else { return }
    guard reader.expects(view.payload.byteCount, at: view.offset) || sabotage.contains(.ignoresCredit) else {
      throw ProtocolViolation(
        .protocolViolation,
        "\(view.payload.byteCount) bytes of a stream at \(view.offset), which are not the next or were not asked for")
    }
    reader.take(view.payload.byteCount)
    emit(.streamed(reader.id, payload(view.payload, of: link)))
    finishIfWhole(reader)
  }

  func handle(_ end: StreamEnd, from link: Link) throws(ProtocolViolation) {
    let bond = try bond(of: link)
    _ = try count(end.record, bytes: 0, over: bond)
    guard let reader = bond.openLanes?.readers[end.flow] else { return }
    guard end.reason == .none else { return self.end(reader, end.reason) }
    guard reader.size == nil, end.size >= reader.received else {
      throw ProtocolViolation(.protocolViolation, "a stream of \(end.size) bytes that is closed already or has more")
    }
    reader.size = end.size
    finishIfWhole(reader)
  }

  /// Reports the end, but the stream keeps its place until its bytes are consumed: else many short ones would make a
  /// long queue.
  private func finishIfWhole(_ reader: StreamReceiver) {
    guard reader.isWhole || reader.size != nil && sabotage.contains(.endsStreamEarly),
      let member = member(of: reader.pair)
    else { return }
    record(member.presence) { StreamStop(record: $0, flow: reader.flow, reason: .none) }
    emit(.streamEnded(reader.id, .none))
    member.host.bond?.openLanes?.readers[reader.flow] = nil
    reader.isOver = true
    if reader.isUsed { forget(reader) }
  }

  /// The program has consumed so many of the bytes: the writer gets new credit.
  public func consumed(_ bytes: Int, of stream: StreamID, at now: Instant) {
    beginMutation(now)
    defer { finishMutation() }
    guard let reader = flows.readers[stream] else { return }
    let isNews = reader.consume(bytes)
    if reader.isOver, reader.isUsed { return forget(reader) }
    guard isNews, !reader.isOver, let bond = member(of: reader.pair)?.host.bond, bond.isOpen, let link = bond.link
    else { return }
    send(reader.grant, on: link)
  }

  private func stop(_ reader: StreamReceiver, _ reason: Reason) {
    if !reader.isOver, let member = member(of: reader.pair) {
      record(member.presence) { StreamStop(record: $0, flow: reader.flow, reason: reason) }
    }
    end(reader, reason)
  }

  private func end(_ reader: StreamReceiver, _ reason: Reason) {
    forget(reader)
    if !reader.isOver { emit(.streamEnded(reader.id, reason)) }
  }

  private func forget(_ reader: StreamReceiver) {
    flows.remove(reader.id)
    guard let lanes = member(of: reader.pair)?.host.bond?.openLanes else { return }
    lanes.readers[reader.flow] = nil
    lanes.unread.remove(reader.id)
  }

  // MARK: The pair

  /// Ends streams with their pair, on each side as it learns of it.
  func endStreams(_ reason: Reason, where test: (Pair) -> Bool) {
    precondition(reason != .none, "a pair ends for a reason")
    for writer in flows.writers.values where test(writer.pair) {
      send(reason, of: writer)
      end(writer, reason)
    }
    for reader in flows.readers.values where test(reader.pair) { end(reader, reason) }
  }
}
