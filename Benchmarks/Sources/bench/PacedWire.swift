import Engine
import Wire

/// A link that takes time: what is sent leaves at its pace, and arrives after its latency.
final class PacedWire {
  let link: LinkID
  private unowned let room: Room
  private let nanosecondsPerByte: Double
  private let latency: Duration
  /// By the number of the sending host.
  private var directions: [Direction] = [Direction(), Direction()]

  private struct Direction {
    var freeAt = Instant(nanoseconds: 0)
    var wants = false
    var flight: [(due: Instant, bytes: [UInt8])] = []
  }

  /// The send buffer of a socket: one record of TLS.
  private static let socketBytes = 16 << 10

  init(_ room: Room, _ link: LinkID, bytesPerSecond: Double, latency: Duration) {
    self.room = room
    self.link = link
    self.latency = latency
    nanosecondsPerByte = 1e9 / bytesPerSecond
  }

  func wants(_ host: Room.Host) { directions[host.number].wants = true }

  func run(_ time: Duration) {
    let end = room.now + time
    while let next = nextMoment, next <= end { step() }
    room.run(until: end)
  }

  /// Up to the next thing that happens, and that.
  func step() {
    room.drain()
    guard let moment = nextMoment else { preconditionFailure("nothing is under way") }
    room.run(until: moment)
    for number in 0..<2 {
      while let first = directions[number].flight.first, first.due <= room.now {
        directions[number].flight.removeFirst()
        room.touch(room.hosts[1 - number]).received(first.bytes.span.bytes, on: link, at: room.now)
        room.drain()
      }
      fill(number)
    }
  }

  private var nextMoment: Instant? {
    for number in 0..<2 { fill(number) }
    let moments = directions.flatMap { direction in
      (direction.wants ? [direction.freeAt] : []) + direction.flight.prefix(1).map(\.due)
    }
    return (moments + room.nextDeadline).min()
  }

  /// The socket takes more once what it had has left.
  private func fill(_ number: Int) {
    while directions[number].wants, directions[number].freeAt <= room.now {
      let bytes = [UInt8](unsafeUninitializedCapacity: Self.socketBytes) { buffer, count in
        let raw = UnsafeMutableRawBufferPointer(buffer)
        var out = OutputRawSpan(buffer: raw, initializedCount: 0)
        room.touch(room.hosts[number]).fill(&out, for: link, at: room.now)
        count = out.finalize(for: raw)
      }
      guard !bytes.isEmpty else {
        directions[number].wants = false
        return
      }
      let left = room.now + .nanoseconds(Int64(Double(bytes.count) * nanosecondsPerByte))
      directions[number].freeAt = left
      directions[number].flight.append((left + latency, bytes))
    }
  }
}
