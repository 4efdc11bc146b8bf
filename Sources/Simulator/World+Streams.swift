import Engine
import Wire

/// The bytes that a program has still to write.
struct Writing {
  let number: Int
  let plan: Streaming
  let content: Content
  var written = 0
  /// A write was refused, and room has not been reported yet.
  var isWaiting = false
  var isOver = false
}

/// A program's received and consumed bytes of a stream.
struct Reading {
  /// Nil where a stranger writes it.
  let number: Int?
  var manner: Streaming.Reading
  var received = 0
  var used = 0
  /// Whether it will read again by itself.
  var isDue = false
}

/// The programs of the peers that write and read streams.
extension World {
  func openStream(
    _ plan: Streaming, to target: PeerRef, _ peer: SimPeer, _ endpoint: EndpointID, _ host: SimHost, _ engine: Engine
  ) {
    guard let member = model.connected(of: endpoint, at: target) else { return }
    let number = model.streams.count
    do {
      let id = try engine.openStream(Model.name(ofStream: number), from: endpoint, to: member, at: host.local(now))
      tally.streams += 1
      model.opens(id, plan, from: endpoint, to: member, at: host)
      host.writing[id] = Writing(number: number, plan: plan, content: model.streams[number].content)
      log(
        host,
        "\(peer.ref) opens stream \(number) to \(model.label(member)), for \(plan.bytes) bytes; it is read \(plan.reading)"
      )
      later(host, after: 0, .write(id))
    } catch {
      log(host, "\(peer.ref) cannot open a stream: \(error)")
      let open = model.openStreams(from: endpoint, to: member)
      let most = model.endpoints[endpoint]?.settings.streamsMax ?? 0
      model.check(.callsThatMakeSenseWork, error.code == .unavailable && open >= Int(most)) {
        "\(peer.ref) cannot open a stream to a connected member: \(error)"
      }
    }
  }

  /// Writes until it is refused, has to wait, or is done.
  func write(_ id: StreamID, _ host: SimHost, _ engine: Engine) {
    for _ in 0..<16 {
      guard host.engine === engine, let writing = host.writing[id], !writing.isWaiting, !writing.isOver else { return }
      let plan = writing.plan
      let count = min(plan.write, plan.bytes - writing.written)
      guard count > 0 else { return finish(id, writing, host, engine) }
      do {
        try engine.write(
          writing.content.bytes(from: UInt64(writing.written), count: count), to: id, at: host.local(now))
        host.writing[id]?.written += count
        model.writes(count, to: writing.number, at: host)
      } catch {
        model.check(.callsThatMakeSenseWork, error.code == .unavailable) {
          "stream \(writing.number) cannot be written: \(error)"
        }
        model.refusesWrite(to: writing.number)
        host.writing[id]?.isWaiting = true
        return
      }
      settle(host)
      if plan.pause > 0 { return later(host, after: plan.pause, .write(id)) }
    }
    later(host, after: 0, .write(id))
  }

  private func finish(_ id: StreamID, _ writing: Writing, _ host: SimHost, _ engine: Engine) {
    host.writing[id]?.isOver = true
    switch writing.plan.ending {
    case .closes:
      log(host, "stream \(writing.number) is closed by its writer")
      model.closesStream(writing.number)
      engine.closeStream(id, at: host.local(now))
    case .cancels(let reason):
      log(host, "stream \(writing.number) is cancelled by its writer (\(reason))")
      model.cancelsStream(writing.number, reason)
      engine.cancelStream(id, reason, at: host.local(now))
    case .staysOpen: break
    }
  }

  // MARK: Reading

  func streamOpened(_ id: StreamID, _ host: SimHost) {
    if let number = model.place(of: id, at: host)?.number {
      host.reading[id] = Reading(number: number, manner: model.streams[number].plan.reading)
    } else {
      host.reading[id] = Reading(number: nil, manner: programs.flip() ? .atOnce : .never)
    }
  }

  func streamed(_ id: StreamID, _ count: Int, _ host: SimHost) {
    host.reading[id]?.received += count
    if let reading = host.reading[id] {
      let window = host.plan.settings.streamWindowBytes
      model.check(.windowsHold, reading.received - reading.used <= window) {
        "\(host.label) was told \(reading.received - reading.used) bytes of a stream that it has not used"
      }
    }
    guard let reading = host.reading[id], !reading.isDue else { return }
    host.reading[id]?.isDue = true
    switch reading.manner {
    case .slowly where !isHealed: later(host, after: 100, .read(id))
    case .pauses(let after, let milliseconds) where reading.received >= after && !isHealed:
      host.reading[id]?.manner = .atOnce
      later(host, after: milliseconds, .read(id))
    default: later(host, after: 0, .read(id))
    }
  }

  func read(_ id: StreamID, _ host: SimHost, _ engine: Engine) {
    guard let reading = host.reading[id] else { return }
    host.reading[id]?.isDue = false
    var count = reading.received - reading.used
    switch reading.manner {
    case .never: return
    case .slowly(let bytes) where !isHealed:
      count = min(count, bytes)
    case .cancels(let after, let reason) where reading.received >= after:
      if let number = reading.number { model.cancelsStream(number, reason) }
      log(
        host, "\(reading.number.map { "stream \($0)" } ?? "a stranger's stream") is cancelled by its reader (\(reason))"
      )
      return engine.cancelStream(id, reason, at: host.local(now))
    case .closes(let after) where reading.received >= after:
      if let number = reading.number { model.cancelsStream(number, .cancelled) }
      log(host, "\(reading.number.map { "stream \($0)" } ?? "a stranger's stream") is closed by its reader")
      return engine.closeStream(id, at: host.local(now))
    default: break
    }
    guard count > 0 else { return }
    host.reading[id]?.used += count
    if let number = reading.number { model.consumes(count, of: number) }
    engine.consumed(count, of: id, at: host.local(now))
    guard let reading = host.reading[id], reading.received > reading.used else { return }
    host.reading[id]?.isDue = true
    later(host, after: 100, .read(id))
  }

  /// Slow readers catch up once the world has healed; those that never read do not.
  func healReaders() {
    for host in hosts {
      for id in host.reading.keys.sorted(by: { $0.rawValue < $1.rawValue }) { later(host, after: 0, .read(id)) }
    }
  }
}
