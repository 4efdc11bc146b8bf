internal import Glibc
internal import Nearby

/// A host with one peer, one session, and whoever is in that.
///
/// Times are those of the monotonic clock, which all processes of a machine share.
final class Partner {
  struct Refusal: Error, CustomStringConvertible {
    let description: String
  }

  /// The media of the next host.
  private var media = [HostMedium.lan]
  private var host: Host?
  private var peer: Peer?
  private var session: Session?
  private var browser: Browser?
  private var advertiser: Advertiser?
  private var found: FoundPeer?

  func obey(_ words: [String]) async throws -> String {
    func number(_ position: Int) throws -> Int {
      guard position < words.count, let number = Int(words[position]) else {
        throw Refusal(description: "'\(words.joined(separator: " "))' lacks a number")
      }
      return number
    }
    switch words.first {
    case "media": return try choose(words.dropFirst())
    case "avahi": return try await start(.avahi)
    case "fixed": return try await start(.fixed(Array(words.dropFirst())))
    case "advertise": return try await advertise(words[1])
    case "browse": return try await browse(words[1])
    case "find": return try await find()
    case "invite": return try await Self.invite(words[1], expect(found), expect(session))
    case "accept": return try await Self.accept(expect(advertiser), expect(session))
    // Both again, where the host does its own work.
    case "invite-at-once":
      let (found, session) = (try expect(found), try expect(session))
      return try await withTaskExecutorPreference(expect(host).executor) {
        try await Self.invite(words[1], found, session)
      }
    case "accept-at-once":
      let (advertiser, session) = (try expect(advertiser), try expect(session))
      return try await withTaskExecutorPreference(expect(host).executor) {
        try await Self.accept(advertiser, session)
      }
    case "members": return try await members(number(1))
    case "parting": return try await parting()
    case "send": return try await send(number(1), bytes: number(2))
    case "receive": return try await Self.receive(number(1), expect(session))
    case "converse": return try await converse(number(1), bytes: number(2), expecting: number(3))
    case "ping": return try await Self.ping(try number(1), bytes: try number(2), expect(session))
    case "echo": return try await Self.echo(try number(1), expect(session))
    // Both again, where the host does its own work.
    case "ping-at-once":
      let (count, bytes, session) = (try number(1), try number(2), try expect(session))
      return try await withTaskExecutorPreference(expect(host).executor) {
        try await Self.ping(count, bytes: bytes, session)
      }
    case "echo-at-once":
      let (count, session) = (try number(1), try expect(session))
      return try await withTaskExecutorPreference(expect(host).executor) { try await Self.echo(count, session) }
    case "talk": return try await talk(milliseconds: number(1))
    case "listen": return try await Self.listen(expect(session))
    case "offer": return try await offer(words[1])
    case "take": return try await take(words[1])
    case "leave":
      await leave()
      return ""
    default: throw Refusal(description: "there is no command '\(words.joined(separator: " "))'")
    }
  }

  // MARK: Meeting

  private func choose(_ words: some Sequence<String>) throws -> String {
    media = try words.map { word in
      guard let medium = HostMedium(word) else { throw Refusal(description: "'\(word)' is no medium") }
      return medium
    }
    return ""
  }

  private func start(_ discovery: DiscoveryMethod) async throws -> String {
    await leave()
    var options = HostOptions()
    options.keys = .ephemeral
    options.media = media
    options.discovery = discovery
    let host = try await Host.start(options)
    let peer = try await host.peer(named: "Partner")
    (self.host, self.peer, session) = (host, peer, try await peer.openSession())
    return await host.addresses.first?.split(separator: ":").last.map(String.init) ?? ""
  }

  func leave() async {
    (session, browser, advertiser, found) = (nil, nil, nil, nil)
    await host?.stop()
    host = nil
  }

  private func advertise(_ type: String) async throws -> String {
    let start = now()
    advertiser = try await expect(peer).advertise(type)
    return "\(start)"
  }

  private func browse(_ type: String) async throws -> String {
    browser = try await expect(peer).browse(type)
    return ""
  }

  private func find() async throws -> String {
    for await event in try expect(browser).events {
      guard case .found(let peer) = event else { continue }
      found = peer
      return "\(now())"
    }
    throw Refusal(description: "the browser has ended")
  }

  private static func invite(_ type: String, _ found: FoundPeer, _ session: Session) async throws -> String {
    let start = now()
    try await session.invite(found.id, as: type)
    return "\(start) \(now())"
  }

  private static func accept(_ advertiser: Advertiser, _ session: Session) async throws -> String {
    for await invitation in advertiser.invitations {
      try await invitation.accept(with: session)
      return "\(now())"
    }
    throw Refusal(description: "the advertiser has ended")
  }

  /// Waits until so many are connected.
  private func members(_ count: Int) async throws -> String {
    let session = try expect(session)
    if session.members.count >= count { return "" }
    for await event in session.events {
      if case .member(_, .connected) = event, session.members.count >= count { return "" }
    }
    throw Refusal(description: "the session has ended")
  }

  /// When a member is told as gone, and when its peer is told as lost.
  private func parting() async throws -> String {
    let (session, browser) = (try expect(session), try expect(browser))
    async let gone = Self.time(in: session.events) {
      if case .member(_, .notConnected) = $0 { true } else { false }
    }
    async let lost = Self.time(in: browser.events) { if case .lost = $0 { true } else { false } }
    return "\(await gone) \(await lost)"
  }

  private static func time<Event>(in events: Events<Event>, of isIt: @Sendable (Event) -> Bool) async -> UInt64 {
    for await event in events where isIt(event) { return now() }
    return 0
  }

  // MARK: Messages

  private func send(_ count: Int, bytes: Int) async throws -> String {
    let session = try expect(session)
    let message = [UInt8](repeating: 7, count: bytes)
    let start = now()
    for _ in 0..<count { try await session.send(message) }
    return "\(start)"
  }

  /// Sends and receives at the same time.
  private func converse(_ count: Int, bytes: Int, expecting others: Int) async throws -> String {
    let session = try expect(session)
    async let end = Self.receive(others, session)
    _ = try await send(count, bytes: bytes)
    return try await end
  }

  private static func receive(_ count: Int, _ session: Session) async throws -> String {
    var left = count
    for await event in session.events {
      guard case .message = event else { continue }
      left -= 1
      if left == 0 { return "\(now())" }
    }
    throw Refusal(description: "the session has ended \(left) messages too soon")
  }

  /// The median time there and back, and that of the slowest hundredth.
  private static func ping(_ count: Int, bytes: Int, _ session: Session) async throws -> String {
    let message = [UInt8](repeating: 7, count: bytes)
    var times: [UInt64] = []
    var start = now()
    try await session.send(message)
    for await event in session.events {
      guard case .message = event else { continue }
      times.append(now() - start)
      if times.count == count { break }
      start = now()
      try await session.send(message)
    }
    times.sort()
    return "\(times[times.count / 2]) \(times[times.count * 99 / 100])"
  }

  private static func echo(_ count: Int, _ session: Session) async throws -> String {
    var left = count
    for await event in session.events {
      guard case .message(let message) = event else { continue }
      try await session.send(message.bytes)
      left -= 1
      if left == 0 { return "" }
    }
    throw Refusal(description: "the session has ended")
  }

  /// Says the time each millisecond, in a reliable message and in an unreliable one, and then nothing; answers how often.
  private func talk(milliseconds: Int) async throws -> String {
    let session = try expect(session)
    let end = now() + UInt64(milliseconds) * 1_000_000
    var count = 0
    while now() < end {
      let time = now()
      let stamp = (0..<8).map { UInt8(truncatingIfNeeded: time >> (8 * $0)) }
      for mode in [Mode.reliable, .unreliable] { try await session.send(stamp, mode) }
      count += 1
      poll(nil, 0, 1)
    }
    // The unreliable ones have come by then.
    poll(nil, 0, 200)
    try await session.send([])
    return "\(count)"
  }

  /// The longest time that a reliable one took, and how many unreliable ones have come.
  private static func listen(_ session: Session) async throws -> String {
    var (longest, count): (UInt64, Int) = (0, 0)
    for await event in session.events {
      guard case .message(let message) = event else { continue }
      if message.bytes.isEmpty { return "\(longest) \(count)" }
      if message.mode == .unreliable {
        count += 1
      } else {
        longest = max(longest, now() - message.bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) })
      }
    }
    throw Refusal(description: "the session has ended")
  }

  // MARK: Resources

  private func offer(_ path: String) async throws -> String {
    let session = try expect(session)
    let start = now()
    let resource = try await session.send(.file(path), to: try expect(session.members.first))
    try await resource.finished()
    return "\(start) \(now())"
  }

  private func take(_ folder: String) async throws -> String {
    for await event in try expect(session).events {
      guard case .resource(let resource) = event else { continue }
      try await resource.accept(into: folder)
      return "\(try await resource.finished()) \(now())"
    }
    throw Refusal(description: "the session has ended")
  }

  private func expect<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw Refusal(description: "there is none of \(Value.self) yet") }
    return value
  }
}

func now() -> UInt64 {
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
