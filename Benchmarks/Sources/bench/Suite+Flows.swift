import Engine
import Report
import Wire

/// The cost of streams and resources through both engines, and the latency of a message beside them.
extension Suite {
  /// Written in pieces as large as a chunk, and used as soon as they are told.
  mutating func measureStreams() throws {
    let (room, ends) = try Room.session(hosts: 2)
    let (writer, reader) = (room.hosts[0], room.hosts[1])
    let stream = try room.touch(writer).openStream("bench", from: ends[0], to: ends[1], at: room.now)
    room.run()
    let piece = [UInt8](repeating: 7, count: Limits.chunkBytes)
    measureBulk("stream") { chunks in
      for _ in 0..<chunks {
        // It is open and its reader keeps up, so there is room.
        try! room.touch(writer).write(piece, to: stream, at: room.now)
        room.drain()
      }
    }
    check(reader.flowBytes % Limits.chunkBytes == 0 && reader.flowBytes > 0, "the stream has lost bytes")
  }

  /// From a source that is in memory and hashed already, to a receiver that stores at once.
  mutating func measureResources() throws {
    let (room, ends) = try Room.session(hosts: 2) { $0.resources.acceptsUnasked = true }
    let (sender, receiver) = (room.hosts[0], room.hosts[1])
    var resources = 0
    measureBulk("resource") { chunks in
      let info = ResourceInfo(name: "bench", size: UInt64(chunks * Limits.chunkBytes))
      // The two are connected, and no other resource is on its way.
      _ = try! room.touch(sender).offer(info, from: ends[0], to: ends[1], at: room.now)
      room.run(.milliseconds(30))
      resources += 1
    }
    check(sender.wholes == resources && receiver.wholes == resources, "a resource has not arrived whole")
  }

  private mutating func measureBulk(_ name: String, _ move: (_ chunks: Int) -> Void) {
    // 1 GiB at a time.
    measure("\(name)-chunk", operations: (1 << 30) / Limits.chunkBytes) { move($0) }
    guard let chunk = table.value("\(name)-chunk", "ns") else { return }
    report("\(name)-between-engines", Double(Limits.chunkBytes) / chunk, "GB/s", goal: .atLeast(2))
  }

  /// In the time of a link of 1 Gbit/s whose way takes half a millisecond, and whose socket takes 16 KiB at a time.
  mutating func measureDelay() throws {
    let alone = try delays(isBulky: false)
    let beside = try delays(isBulky: true)
    report("message-delay-p99", alone, "µs")
    report("message-delay-p99-under-bulk", beside, "µs")
    table.add("message-delay-ratio", beside / alone, "times", goal: .atMost(2), gates: true)
    check(beside / alone <= 2, "A bulk transfer makes a message's delay \(beside / alone) times as long.")
  }

  private func delays(isBulky: Bool) throws -> Double {
    let (room, ends) = try Room.session(hosts: 2) { $0.resources.acceptsUnasked = true }
    let (sender, receiver) = (room.hosts[0], room.hosts[1])
    let wire = PacedWire(room, LinkID(rawValue: 1), bytesPerSecond: 125_000_000, latency: .microseconds(500))
    room.wire = wire
    if isBulky {
      for size in [UInt64(1) << 33, 1 << 34] {
        _ = try room.touch(sender).offer(
          ResourceInfo(name: "bulk", size: size), from: ends[0], to: ends[1], at: room.now)
      }
    }
    wire.run(.milliseconds(200))
    let payload = [UInt8](repeating: 7, count: 100)
    var delays: [Double] = []
    for number in 0..<2_000 {
      // At no particular moment of what else is under way.
      wire.run(.microseconds(700 + number * 37 % 211))
      let (heard, start) = (receiver.messages, room.now)
      try room.touch(sender).send(
        payload.span.bytes, from: ends[0], to: .all, .reliable, receipt: false, at: room.now)
      while receiver.messages == heard { wire.step() }
      delays.append((room.now - start) / .microseconds(1))
    }
    precondition(!isBulky || receiver.flowBytes > 100_000_000, "the bulk did not move")
    return delays.sorted()[delays.count * 99 / 100]
  }
}
