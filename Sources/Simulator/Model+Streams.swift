import Engine
import Wire

/// A stream in truth: its bytes, its reports, and its end on each side.
final class StreamRecord {
  let number: Int
  let plan: Streaming
  let content: Content
  let at: Int64
  var writer: FlowSide
  var reader: FlowSide
  /// Bytes that the engine accepted, gave to the reader, and was notified of as consumed.
  var written: UInt64 = 0
  var told: UInt64 = 0
  var consumed: UInt64 = 0
  var isClosed = false
  /// The reasons with which the programs cancelled it, on either side or both.
  var cancels: [Reason] = []
  /// Since when a refused write waits, and whether the next one must be accepted.
  var refusedAt: Int64?
  var isWritable = false

  init(_ number: Int, plan: Streaming, at: Int64, writer: FlowSide, reader: FlowSide) {
    self.number = number
    self.plan = plan
    content = Content(number, of: 1)
    self.at = at
    self.writer = writer
    self.reader = reader
  }
}

/// One side of a stream or resource.
struct FlowSide {
  let endpoint: EndpointID
  let host: Int
  /// The run of its host in which it is known there; 0: not yet.
  var run = 0
  /// How often the pair had connected by then.
  var connection = 0
  var ended: Reason?
}

/// An end on one side that no program asked for: the world has to show a reason soon.
struct Unexplained {
  var flow: String
  /// When it began.
  var since: Int64
  var here: FlowSide
  var there: FlowSide
  var reason: Reason
  var at: Int64
}

extension Model {
  static func name(ofStream number: Int) -> String { "stream \(number)" }
  static func number(ofStream name: String) -> Int? { name.hasPrefix("stream ") ? Int(name.dropFirst(7)) : nil }

  // MARK: Programs

  func opens(_ id: StreamID, _ plan: Streaming, from: EndpointID, to: EndpointID, at host: SimHost) {
    var writer = FlowSide(endpoint: from, host: host.index)
    writer.run = host.run
    writer.connection = connections(of: from, with: to)
    let reader = FlowSide(endpoint: to, host: endpoints[to]?.ref.host ?? -1)
    let here = OfHost(host: host.index, run: host.run, id: id)
    check(.streamsEndOnce, streamPlaces[here] == nil) { "\(host.label) numbers two streams alike" }
    streamPlaces[here] = StreamPlace(number: streams.count, isWriter: true)
    openStreams.append(streams.count)
    streams.append(StreamRecord(streams.count, plan: plan, at: now, writer: writer, reader: reader))
  }

  func connections(of id: EndpointID, with remote: EndpointID) -> Int { endpoints[id]?.pair(remote).connections ?? 0 }

  func openStreams(from: EndpointID, to: EndpointID) -> Int {
    openStreams.count { number in
      let stream = streams[number]
      return stream.writer.ended == nil && stream.writer.endpoint == from && stream.reader.endpoint == to
    }
  }

  func writes(_ count: Int, to number: Int, at host: SimHost) {
    let stream = streams[number]
    stream.written += UInt64(count)
    stream.isWritable = false
    guard stream.reader.host >= 0 else { return }
    let window = plan.hosts[stream.reader.host].settings.streamWindowBytes
    // With any settings, a writer may have as much waiting as a reader consumes between two grants.
    let most = max(host.plan.settings.streamBacklogBytes, 64 << 10) + window + count
    check(.windowsHold, stream.written <= stream.consumed + UInt64(most)) {
      "\(words(stream)) took \(stream.written) bytes, where its reader has used \(stream.consumed) and \(most) may wait"
    }
  }

  func refusesWrite(to number: Int) {
    let stream = streams[number]
    check(.streamWritableIsReported, !stream.isWritable) { "\(words(stream)) was told writable, and refuses a write" }
    stream.refusedAt = now
  }

  func consumes(_ count: Int, of number: Int) { streams[number].consumed += UInt64(count) }
  func closesStream(_ number: Int) { streams[number].isClosed = true }
  func cancelsStream(_ number: Int, _ reason: Reason) { streams[number].cancels.append(reason) }

  // MARK: Engine outputs

  func place(of id: StreamID, at host: SimHost) -> StreamPlace? {
    streamPlaces[OfHost(host: host.index, run: host.run, id: id)]
  }

  func streamOpened(_ id: StreamID, _ name: String, _ from: EndpointID, _ to: EndpointID, at host: SimHost) {
    guard endpoints[from] != nil else {
      return check(.onlyTheReal, isMalicious.contains(true)) { "\(host.label) is told of a stream of nobody" }
    }
    guard let number = Self.number(ofStream: name), streams.indices.contains(number) else {
      return violate(.streamBytesInOrder, "\(host.label) is told of a stream that nobody opened: \(name)")
    }
    let stream = streams[number]
    check(.streamBytesInOrder, stream.writer.endpoint == from && stream.reader.endpoint == to) {
      "\(words(stream)) is told as from \(label(from)) to \(label(to))"
    }
    // A durable host that forgot unstored events gets them again.
    check(.streamBytesInOrder, stream.reader.run != host.run) { "\(words(stream)) is opened twice" }
    checkConnected(stream, "is opened")
    streamPlaces[OfHost(host: host.index, run: host.run, id: id)] = StreamPlace(number: number, isWriter: false)
    stream.reader.run = host.run
    stream.reader.ended = nil
    stream.reader.connection = connections(of: to, with: from)
  }

  private func checkConnected(_ stream: StreamRecord, _ what: String) {
    guard let here = endpoints[stream.reader.endpoint] else { return }
    let pair = here.pair(stream.writer.endpoint)
    check(.streamBytesInOrder, pair.state == .connected) { "\(words(stream)) \(what) while \(pair.state)" }
  }

  func streamed(_ id: StreamID, _ payload: Payload, at host: SimHost) {
    guard let place = place(of: id, at: host) else {
      return check(.streamBytesInOrder, isMalicious.contains(true)) {
        "\(host.label) is told bytes of a stream that was not opened"
      }
    }
    let stream = streams[place.number]
    checkConnected(stream, "goes on")
    check(.streamBytesInOrder, !place.isWriter && stream.reader.run == host.run && stream.reader.ended == nil) {
      "\(words(stream)) goes on after its end"
    }
    let end = stream.told + UInt64(payload.count)
    check(.streamBytesInOrder, end <= stream.written) { "\(words(stream)) has bytes that nobody wrote" }
    check(.streamBytesInOrder, payload.withBytes { stream.content.matches($0, at: stream.told) }) {
      "\(words(stream)) has other bytes at \(stream.told) than were written"
    }
    stream.told = end
    let window = host.plan.settings.streamWindowBytes
    check(.windowsHold, stream.told <= stream.consumed + UInt64(window)) {
      "\(words(stream)): its reader was told \(stream.told) bytes and has used \(stream.consumed)"
    }
  }

  /// Whether its reader may have as many open, or closed and not fully consumed, as it allows one member.
  private func isTooMany(_ stream: StreamRecord, _ reason: Reason) -> Bool {
    let most = endpoints[stream.reader.endpoint]?.settings.streamsMax ?? 0
    let others = streams.count { other in
      other.writer.endpoint == stream.writer.endpoint && other.reader.endpoint == stream.reader.endpoint
        && (other.writer.ended == nil || other.reader.ended == Reason.none)
    }
    return reason == .busy && stream.reader.run == 0 && others > Int(most)
  }

  func streamWritable(_ id: StreamID, at host: SimHost) {
    guard let place = place(of: id, at: host), place.isWriter else {
      return violate(.streamWritableIsReported, "\(host.label) is told writable of a stream that it does not write")
    }
    let stream = streams[place.number]
    check(.streamWritableIsReported, stream.refusedAt != nil && stream.writer.ended == nil) {
      "\(words(stream)) is writable again, and was never refused"
    }
    stream.refusedAt = nil
    stream.isWritable = true
  }

  func streamEnded(_ id: StreamID, _ reason: Reason, at host: SimHost) {
    guard let place = place(of: id, at: host) else {
      return check(.streamsEndOnce, isMalicious.contains(true)) { "\(host.label) ends a stream that nobody knows" }
    }
    let stream = streams[place.number]
    let side = place.isWriter ? stream.writer : stream.reader
    let end = "\(words(stream)) ends at its \(place.isWriter ? "writer" : "reader") (\(reason))"
    check(.streamsEndOnce, side.ended == nil) { end + " after it had (\(side.ended ?? .none))" }
    if reason == .none {
      check(.streamsEndOnce, stream.isClosed && stream.told == stream.written || stream.reader.host < 0) {
        end + " with \(stream.told) bytes told of \(stream.written), \(stream.isClosed ? "closed" : "not closed")"
      }
    } else if !stream.cancels.contains(reason), !isTooMany(stream, reason) {
      let (here, there) = place.isWriter ? (stream.writer, stream.reader) : (stream.reader, stream.writer)
      unexplained.append(Unexplained(flow: end, since: stream.at, here: here, there: there, reason: reason, at: now))
    }
    if place.isWriter {
      stream.writer.ended = reason
      stream.refusedAt = nil
    } else {
      stream.reader.ended = reason
    }
  }

  // MARK: From time to time, and at the end

  /// A stream is open only as long as its pair is connected.
  func checkStreams() {
    openStreams.removeAll { number in
      let stream = streams[number]
      for (side, other) in [(stream.writer, stream.reader), (stream.reader, stream.writer)] {
        guard side.ended == nil, isRunning(side), let since = apart(side, other) else { continue }
        check(.streamsEndWithPairs, now - since < 1_000_000_000) {
          "\(words(stream)) is open at \(label(side.endpoint)), whose pair with the other is not connected any more"
        }
      }
      return isOver(stream.writer) && isOver(stream.reader)
    }
    unexplained.removeAll { end in
      guard now - end.at > 3_000_000_000 else { return false }
      check(.streamsEndOnce, isExplained(end)) { end.flow + ", and nothing had happened" }
      return true
    }
  }

  /// Whether it is known there, by a host that has not restarted since.
  func isRunning(_ side: FlowSide) -> Bool {
    side.run > 0 && side.host >= 0 && isHostUp[side.host] && runs[side.host] == side.run
  }

  private func isOver(_ side: FlowSide) -> Bool {
    side.ended != nil || side.host < 0 || side.run > 0 && runs[side.host] != side.run
  }

  /// Since when the pair on which it was opened is not connected any more, as reported to this side.
  func apart(_ side: FlowSide, _ other: FlowSide) -> Int64? {
    guard let record = endpoints[side.endpoint], record.isWatched else { return nil }
    let pair = record.pair(other.endpoint)
    return pair.state == .connected && pair.connections == side.connection ? nil : pair.since
  }

  func isExplained(_ end: Unexplained) -> Bool {
    for (side, other) in [(end.here, end.there), (end.there, end.here)] {
      if side.host < 0 || isUnsettled[side.host] { return true }
      if cameUpAt[side.host] > end.since - 10_000_000_000 || !isHostUp[side.host] { return true }
      guard let record = endpoints[side.endpoint], record.isOpen, record.isWatched else { return true }
      if side.run > 0, apart(side, other) != nil { return true }
    }
    // The stream may have been in flight to a side that did not know it yet.
    return end.there.run == 0 && wereDisturbed(end.here.host, end.there.host, within: 30_000)
  }

  /// In the healed world every closed stream ends on both sides.
  func finishStreams() {
    for stream in streams {
      guard stream.isClosed || !stream.cancels.isEmpty, areTogether(stream.writer, stream.reader) else { continue }
      if stream.plan.reading == .never, stream.cancels.isEmpty { continue }
      let state = "\(stream.told) of \(stream.written) bytes told"
      check(.streamsFinish, stream.writer.ended != nil) { "\(words(stream)) has not ended at its writer: \(state)" }
      // A host that was restarted since has forgotten it.
      let mustEnd = stream.reader.run == 0 ? stream.writer.ended == Reason.none : isRunning(stream.reader)
      check(.streamsFinish, stream.reader.ended != nil || !mustEnd) {
        "\(words(stream)) has not ended at its reader: \(state)"
      }
    }
    for stream in streams where stream.refusedAt != nil && areTogether(stream.writer, stream.reader) {
      check(.streamWritableIsReported, stream.plan.reading == .never) {
        "\(words(stream)) refused a write, and was never told writable: \(stream.told) told of \(stream.written)"
      }
    }
  }

  /// Whether both sides are still those that began it, on the pair on which it was opened.
  private func areTogether(_ writer: FlowSide, _ reader: FlowSide) -> Bool {
    guard reader.host >= 0, isRunning(writer), !isUnsettled[writer.host], !isUnsettled[reader.host] else {
      return false
    }
    return isHostUp[reader.host] && apart(writer, reader) == nil
  }

  func words(_ stream: StreamRecord) -> String {
    "stream \(stream.number) of \(label(stream.writer.endpoint)) to \(label(stream.reader.endpoint))"
  }
}

/// The side and the stream or resource of an engine's number.
struct StreamPlace {
  var number: Int
  var isWriter: Bool
}
