import Wire

@testable import Engine

/// Bytes in flight between two hosts, in order, as TCP carries them.
final class Pipe {
  let id: LinkID
  let ends: [TestNetwork.Host]
  let medium: MediumID
  /// The bytes in flight, by the side that sent them.
  var flights: [[(due: Instant, bytes: [UInt8])]] = [[], []]
  /// Received bytes of an incomplete frame, where frames are filtered one by one; by the side that sent them.
  var arrived: [[UInt8]] = [[], []]
  /// Sides that have closed without the other's being able to notice.
  var isLeft = [false, false]

  init(id: LinkID, ends: [TestNetwork.Host], medium: MediumID = .first) {
    self.id = id
    self.ends = ends
    self.medium = medium
  }

  func side(of host: TestNetwork.Host) -> Int { ends[0] === host ? 0 : 1 }

  func bytes(from side: Int) -> Int { flights[side].reduce(0) { $0 + $1.bytes.count } }
}

extension TestNetwork {
  /// Cuts all links between two hosts so that both notice; bytes in flight are gone.
  func cut(_ a: Host, _ b: Host) {
    for pipe in pipes where pipe.ends.contains(where: { $0 === a }) && pipe.ends.contains(where: { $0 === b }) {
      close(pipe)
    }
  }

  /// One medium's links between all hosts end so that everybody notices.
  func cut(_ medium: MediumID) { for pipe in pipes where pipe.medium == medium { close(pipe) } }

  func isBlocked(_ pipe: Pipe) -> Bool { down.contains(pipe.medium) || isWalled(pipe.ends[0], pipe.ends[1]) }

  /// A wall comes down: bytes in flight arrive, and a side that was left in silence is notified.
  func heal(_ a: Host, _ b: Host) {
    walls.remove([a.name, b.name])
    for pipe in pipes where pipe.isLeft.contains(true) && !isBlocked(pipe) { close(pipe) }
  }

  func close(_ pipe: Pipe) {
    pipes.removeAll { $0 === pipe }
    for (side, end) in pipe.ends.enumerated() where hosts.contains(where: { $0 === end }) && !pipe.isLeft[side] {
      end.engine.linkClosed(pipe.id, at: now)
    }
  }

  /// One side closes: the other gets the bytes from before, and is notified.
  func close(_ pipe: Pipe, from side: Int) {
    guard !pipe.isLeft[side] else { return }
    if isBlocked(pipe) {
      pipe.isLeft[side] = true
      pipe.ends[side].engine.linkClosed(pipe.id, at: now)
      return
    }
    pump(pipe, from: side)
    let last = pipe.flights[side].flatMap(\.bytes)
    pipe.flights[side] = []
    if !last.isEmpty { hand(last, over: pipe, from: side) }
    if pipes.contains(where: { $0 === pipe }) { close(pipe) }
  }

  func pump(_ pipe: Pipe, from side: Int) {
    let host = pipe.ends[side]
    while !pipe.isLeft[side], pipe.bytes(from: side) < windowBytes {
      let bytes = filled(by: host.engine, for: pipe.id)
      if bytes.isEmpty { return }
      pipe.flights[side].append((now + (latencies[pipe.medium] ?? latency), bytes))
    }
  }

  func filled(by engine: Engine, for link: LinkID) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: 1_000) { buffer, count in
      let raw = UnsafeMutableRawBufferPointer(buffer)  // filled from its start, and finalised to what was written
      var out = unsafe OutputRawSpan(buffer: raw, initializedCount: 0)
      engine.fill(&out, for: link, at: now)
      count = unsafe out.finalize(for: raw)
    }
  }

  func canDeliver(_ pipe: Pipe, from side: Int) -> Bool {
    !pipe.ends[1 - side].isStalled && !pipe.isLeft[1 - side] && !isBlocked(pipe)
  }

  /// Delivers arrived bytes; false where there were none.
  func deliver() -> Bool {
    var isBusy = false
    for pipe in pipes {
      for side in 0...1 {
        while canDeliver(pipe, from: side), let first = pipe.flights[side].first, first.due <= now,
          pipes.contains(where: { $0 === pipe })
        {
          isBusy = true
          pipe.flights[side].removeFirst()
          hand(first.bytes, over: pipe, from: side)
          if pipes.contains(where: { $0 === pipe }) { pump(pipe, from: side) }
        }
      }
    }
    return isBusy
  }

  private func hand(_ bytes: [UInt8], over pipe: Pipe, from side: Int) {
    let passed = passing(bytes, over: pipe, from: side)
    pipe.ends[1 - side].engine.received(passed.span.bytes, on: pipe.id, at: now)
  }

  /// The whole frames that the filter lets through; the start of the next one waits.
  private func passing(_ bytes: [UInt8], over pipe: Pipe, from side: Int) -> [UInt8] {
    guard let filter else { return bytes }
    var passed: [UInt8] = []
    var rest = pipe.arrived[side][...] + bytes
    while let head = try? FrameHead.next(in: Array(rest).span.bytes) {
      if filter(head.type, pipe.ends[side], pipe.ends[1 - side]) { passed += rest.prefix(head.end) }
      rest = rest.dropFirst(head.end)
    }
    pipe.arrived[side] = Array(rest)
    return passed
  }
}
