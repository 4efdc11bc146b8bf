import Engine
import Wire

/// The transcript of a run: text where somebody will read it, and always a digest.
struct Transcript {
  let isRecording: Bool
  private(set) var lines: [String] = []
  private(set) var digest: UInt64 = 0
  /// Lines that count events of a crowd, by host and kind: the place of each, since when, how often.
  private var counts: [String: (place: Int, since: Int64, count: Int)] = [:]

  init(isRecording: Bool) { self.isRecording = isRecording }

  mutating func add(_ time: Int64, _ host: Int?, _ text: () -> String) {
    if isRecording { lines.append(Self.line(time, host, text())) }
  }

  /// One line for equal events of a host within a second.
  mutating func count(_ time: Int64, _ host: Int, _ times: Int, _ what: String) {
    guard isRecording else { return }
    let key = "\(host) \(what)"
    var entry = counts[key] ?? (0, .min, 0)
    if entry.since == .min || time - entry.since >= 1_000_000_000 {
      entry = (lines.count, time, 0)
      lines.append("")
    }
    entry.count += times
    counts[key] = entry
    lines[entry.place] = Self.line(entry.since, host, "\(entry.count) × \(what)")
  }

  private static func line(_ time: Int64, _ host: Int?, _ text: String) -> String {
    let milliseconds = time / 1_000_000
    let fraction = String(1_000 + milliseconds % 1_000).dropFirst()
    let seconds =
      String(repeating: " ", count: max(0, 4 - String(milliseconds / 1_000).count)) + "\(milliseconds / 1_000)"
    let who = host.map { "h\($0)" } ?? "--"
    let column = who + String(repeating: " ", count: max(0, 4 - who.count))
    return "\(seconds).\(fraction)  \(column) \(text)"
  }

  private mutating func mix(_ value: UInt64) { digest = Random.mix(digest ^ value) &+ 0x9E37_79B9_7F4A_7C15 }

  mutating func mark(_ time: Int64, _ host: Int, _ output: Output) {
    mix(UInt64(bitPattern: time))
    mix(UInt64(host) << 8 | Self.kind(of: output))
    switch output {
    case .wantsToSend(let link): mix(link.rawValue)
    case .dial(let dial, let host, _):
      mix(dial.rawValue)
      mix(host.raw.low)
    case .dialAlso(let dial, _): mix(dial.rawValue)
    case .circuitOpened(let id, _), .circuitWritable(let id): mix(id.rawValue)
    case .circuitBytes(let id, let bytes): mix(id.rawValue << 32 | UInt64(bytes.count))
    case .circuitEnded(let id, let reason): mix(id.rawValue << 8 | UInt64(reason.rawValue))
    case .close(let link, let reason): mix(link.rawValue << 8 | UInt64(reason.rawValue))
    case .found(let by, _, let peer, _, _, _), .updated(let by, _, let peer, _, _, _), .lost(let by, _, let peer):
      mix(by.raw.low)
      mix(peer.raw.low)
    case .members(let views, let state, let locals):
      for view in views { mix(view.endpoint.raw.low) }
      mix(Self.code(of: state))
      for local in locals.all { mix(local.raw.low) }
    case .mediumChanged(let host, let medium, _): mix(host.raw.low &+ UInt64(medium.rawValue))
    case .away(let view, let locals):
      mix(view.endpoint.raw.low)
      mix(view.awaySince == nil ? 0 : 1)
      for local in locals.all { mix(local.raw.low) }
    case .message(let from, let locals, _, _, let bytes):
      mix(from.raw.low)
      mix(UInt64(bytes.count))
      for local in locals.all { mix(local.raw.low) }
    case .persist(let batch, let facts):
      mix(batch)
      mix(UInt64(facts.count))
    case .streamOpened(let id, _, _, _), .streamWritable(let id): mix(id.rawValue)
    case .streamed(let id, let bytes): mix(id.rawValue << 32 | UInt64(bytes.count))
    case .streamEnded(let id, let reason): mix(id.rawValue << 8 | UInt64(reason.rawValue))
    case .resource(let id, let view): mix(id.rawValue << 32 ^ view.bytes)
    case .read(let id, let offset, _), .rehash(let id, let offset, _), .store(let id, let offset, _, _):
      mix(id.rawValue << 32 ^ offset)
    case .keep(let id): mix(id.rawValue)
    case .progress(let id, let told): mix(id.rawValue << 32 ^ told.bytes)
    case .resourceEnded(let id, let reason): mix(id.rawValue << 8 | UInt64(reason.rawValue))
    default: break
    }
  }

  private static func code(of state: PairState) -> UInt64 {
    switch state {
    case .connecting: 1
    case .connected: 2
    case .notConnected(let reason): 3 << 8 | UInt64(reason.rawValue)
    }
  }

  private static func kind(of output: Output) -> UInt64 {
    switch output {
    case .publish: 1
    case .withdraw: 2
    case .browse: 3
    case .stopBrowsing: 4
    case .probe: 5
    case .dial: 6
    case .wantsToSend: 7
    case .datagram: 8
    case .close: 9
    case .persist: 10
    case .found: 11
    case .updated: 12
    case .lost: 13
    case .invitation: 14
    case .invitationEnded: 15
    case .members: 16
    case .suspended: 17
    case .message: 18
    case .deliveryStatus: 19
    case .writable: 20
    case .decision: 21
    case .decisionEnded: 22
    case .comparison: 23
    case .comparisonEnded: 24
    case .conflict: 25
    case .publishRoster: 26
    case .withdrawRoster: 27
    case .streamOpened: 28
    case .streamed: 29
    case .streamWritable: 30
    case .streamEnded: 31
    case .resource: 32
    case .read: 33
    case .store: 34
    case .progress: 35
    case .resourceEnded: 36
    case .keep: 37
    case .rehash: 42
    case .types: 41
    case .dialAlso: 38
    case .mediumChanged: 43
    case .away: 39
    case .inviteeNotConnected: 40
    case .clockStepped: 43
    case .publishRelay: 44
    case .withdrawRelay: 45
    case .circuitOpened: 46
    case .circuitBytes: 47
    case .circuitWritable: 48
    case .circuitEnded: 49
    }
  }
}
