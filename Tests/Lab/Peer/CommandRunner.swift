internal import Glibc
internal import Nearby

/// All that the program holds, under the names that its lines gave.
actor CommandRunner {
  let host: Host
  private var peers: [String: Peer] = [:]
  private var sessions: [String: Session] = [:]
  private var advertisers: [String: Advertiser] = [:]
  private var browsers: [String: Browser] = [:]
  /// The members by session and peer; those that have gone, too.
  private var members: [String: [String: Member]] = [:]
  private var writers: [String: StreamWriter] = [:]
  private var readers: [String: StreamReader] = [:]
  private var resources: [String: IncomingResource] = [:]
  /// How much of each stream was taken so far.
  private(set) var written: [String: Int] = [:]
  private var giveUps: [String: AsyncStream<Never>.Continuation] = [:]

  init(_ host: Host) { self.host = host }

  /// Gives what is left to be done while further lines are obeyed.
  func obey(_ line: String) async -> Command.Work? {
    let words = Words(line)
    do {
      guard let command = Command.all[words.command] else {
        throw Misunderstanding("there is no '\(words.command)': \(Command.all.keys.sorted().joined(separator: ", "))")
      }
      let work = try await command.run(self, words)
      if work == nil { EventWriter.tell("done", ["command": words.command]) }
      return work
    } catch {
      EventWriter.tell(error, of: words.command)
      return nil
    }
  }

  /// A command that goes on in the background and reports its end; it can be cancelled by name.
  func working(
    _ words: Words, cancelledAs name: String? = nil, _ body: @escaping @Sendable () async throws -> Void
  ) -> Command.Work {
    let (end, entrance) = AsyncStream<Never>.makeStream()
    if let name { giveUps[name] = entrance }
    return {
      await withDiscardingTaskGroup { group in
        group.addTask {
          do {
            try await body()
            EventWriter.tell("done", ["command": words.command])
          } catch {
            EventWriter.tell(error, of: words.command)
          }
          entrance.finish()
        }
        for await _ in end {}
        group.cancelAll()
      }
    }
  }

  func giveUp(_ name: String) throws {
    try named(name, in: giveUps).finish()
  }

  // MARK: Names

  func session(_ name: String) throws -> Session { try named(name, in: sessions) }
  func advertiser(_ name: String) throws -> Advertiser { try named(name, in: advertisers) }
  func writer(_ name: String) throws -> StreamWriter { try named(name, in: writers) }
  func reader(_ name: String) throws -> StreamReader { try named(name, in: readers) }

  private func named<Value>(_ name: String, in values: [String: Value]) throws -> Value {
    guard let value = values[name] else { throw Misunderstanding("nothing was named '\(name)'") }
    return value
  }

  func addressees(_ word: String, of session: String) throws -> Recipients {
    switch word {
    case "all": .all
    case "nobody": .only([])
    default: .only(try word.split(separator: ",").map { try named(String($0), in: members[session] ?? [:]) })
    }
  }

  // MARK: Peers

  func makePeer(_ key: String, _ name: String) async throws -> Command.Work? {
    let peer = try await host.peer(named: name)
    peers[key] = peer
    EventWriter.tell("peer", ["key": key, "peer": peer.id.text])
    return nil
  }

  /// Advertises; every inviter is admitted to the session.
  func advertise(_ words: Words) async throws -> Command.Work? {
    let (key, type) = (try words.word(0), try words.word(2))
    let (peer, session) = (try named(words.word(1), in: peers), try session(words.word(3)))
    let advertiser = try await peer.advertise(type, info: words.pairs(from: 4))
    advertisers[key] = advertiser
    return {
      for await invitation in advertiser.invitations {
        EventWriter.tell("invitation", ["on": key, "peer": invitation.from.text])
        do { try await invitation.accept(with: session) } catch { EventWriter.tell(error, of: words.command) }
      }
    }
  }

  func browse(_ key: String, _ peer: String, _ type: String) async throws -> Command.Work? {
    let browser = try await named(peer, in: peers).browse(type)
    browsers[key] = browser
    return {
      for await event in browser.events {
        switch event {
        case .found(let peer): EventWriter.tell("found", ["on": key, "peer": peer.id.text])
        case .updated(let peer): EventWriter.tell("updated", ["on": key, "peer": peer.id.text])
        case .lost(let peer): EventWriter.tell("lost", ["on": key, "peer": peer.id.text])
        }
      }
    }
  }

  // MARK: Sessions

  func openSession(_ key: String, _ peer: String) async throws -> Command.Work? {
    let session = try await named(peer, in: peers).openSession()
    sessions[key] = session
    return { for await event in session.events { await self.take(event, on: key) } }
  }

  private func take(_ event: SessionEvent, on session: String) {
    switch event {
    case .member(let member, let state):
      members[session, default: [:]][member.peer.text] = member
      switch state {
      case .connecting: EventWriter.tell("connecting", member, on: session)
      case .connected: EventWriter.tell("connected", member, on: session, ["endpoint": member.id.text])
      case .notConnected(let reason):
        EventWriter.tell("notConnected", member, on: session, ["reason": reason.description])
      }
    case .notConnected(let invitee, let reason):
      EventWriter.tell(
        "invitedNotConnected",
        ["session": session, "peer": invitee.peer.text, "name": invitee.name, "reason": reason.description])
    case .suspended(let member, let isSuspended):
      EventWriter.tell(isSuspended ? "suspended" : "resumed", member, on: session)
    case .mediumChanged(let member):
      EventWriter.tell("mediumChanged", member, on: session, ["medium": member.medium ?? ""])
    case .away(let member): EventWriter.tell(member.awaySince == nil ? "here" : "away", member, on: session)
    case .message(let message):
      let text = String(decoding: message.bytes.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
      EventWriter.tell("message", message.from, on: session, ["mode": "\(message.mode)", "text": text])
    case .stream(let reader):
      readers[reader.name] = reader
      EventWriter.tell("stream", reader.member, on: session, ["stream": reader.name])
    case .undelivered(let members, let status):
      for member in members { EventWriter.tell("undelivered", member, on: session, ["deliveryStatus": "\(status)"]) }
    case .resource(let resource):
      resources[resource.name] = resource
      EventWriter.tell("resource", resource.member, on: session, ["resource": resource.name])
    case .decision, .comparison, .comparisonFailed, .clockStepped, .sending, .deliveryStatus, .adhocEnded:
      // The command line covers these events, but for the last, which no test needs.
      break
    }
  }

  // MARK: Streams

  func openStream(_ name: String, _ session: String, _ peer: String) async throws -> Command.Work? {
    let member = try named(peer, in: members[session] ?? [:])
    let writer = try await self.session(session).openStream(name, to: member)
    writers[name] = writer
    return {
      EventWriter.tell("streamEnded", ["stream": name, "direction": "out", "reason": await writer.ended.description])
    }
  }

  func write(_ words: Words) throws -> Command.Work? {
    let (name, count) = (try words.word(0), try words.number(1))
    let writer = try writer(name)
    return working(words) {
      var left = count
      while left > 0 {
        let start = await self.written[name] ?? 0
        let bytes = Self.pattern(start..<start + min(left, 64 << 10))
        try await writer.write(bytes)
        await self.count(bytes.count, of: name)
        left -= bytes.count
      }
    }
  }

  private func count(_ bytes: Int, of stream: String) { written[stream, default: 0] += bytes }

  func read(_ name: String) throws -> Command.Work? {
    let reader = try reader(name)
    return {
      var (count, fault) = (0, -1)
      var progress = Progress()
      var reason = Reason.none
      do {
        for try await bytes in reader {
          if bytes != Self.pattern(count..<count + bytes.count), fault < 0 { fault = count }
          count += bytes.count
          if progress.isDue { EventWriter.tell("streamed", ["stream": name, "bytes": "\(count)"]) }
        }
      } catch {
        reason = (error as? NearbyError)?.reason ?? .cancelled
      }
      let told = ["stream": name, "direction": "in", "bytes": "\(count)", "fault": "\(fault)", "reason": "\(reason)"]
      EventWriter.tell("streamEnded", told)
    }
  }

  /// Says that some of a flow has come, and not with every piece.
  private struct Progress {
    private var last = ContinuousClock.now

    var isDue: Bool {
      mutating get {
        let now = ContinuousClock.now
        guard now - last > .milliseconds(20) else { return false }
        last = now
        return true
      }
    }
  }

  /// The bytes of every stream at these positions: they repeat after a prime number of bytes, which no piece has.
  private static func pattern(_ places: Range<Int>) -> [UInt8] {
    var (bytes, place) = ([UInt8](), places.lowerBound)
    while place < places.upperBound {
      let start = place % period.count
      bytes += period[start..<min(period.count, start + places.upperBound - place)]
      place = places.lowerBound + bytes.count
    }
    return bytes
  }

  private static let period = (0..<65_521).map { UInt8(truncatingIfNeeded: ($0 &* 0x9e37_79b1) >> 13) }

  // MARK: Resources

  func offer(_ session: String, _ peer: String, _ path: String) async throws -> Command.Work? {
    let member = try named(peer, in: members[session] ?? [:])
    let resource = try await self.session(session).send(.file(path), to: member)
    return {
      await Self.follow("out", resource.name) {
        try await resource.finished(); return path
      }
    }
  }

  func keep(_ name: String) async throws -> Command.Work? {
    let resource = try named(name, in: resources)
    try await resource.accept()
    return {
      await withDiscardingTaskGroup { group in
        group.addTask {
          for await progress in resource.progress {
            EventWriter.tell("stored", ["resource": name, "bytes": "\(progress.bytes)"])
          }
        }
        await Self.follow("in", name) { try await resource.finished() }
        group.cancelAll()
      }
    }
  }

  func forget(_ name: String) throws { resources[name] = nil }

  private static func follow(_ direction: String, _ name: String, _ end: () async throws -> String) async {
    var told = ["resource": name, "direction": direction]
    do {
      told["path"] = try await end()
      told["reason"] = Reason.none.description
    } catch {
      told["reason"] = (error as? NearbyError)?.reason?.description
    }
    EventWriter.tell("resourceEnded", told)
  }

  // MARK: Odds and ends

  /// The most memory that the process has ever had.
  static var memoryBytesMax: Int {
    var usage = rusage()
    getrusage(CInt(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_maxrss << 10
  }

  static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { String(Int($0) + 0x100, radix: 16).dropFirst() }.joined()
  }

  static func bytes(hexadecimal text: String) throws -> [UInt8] {
    let digits = text.compactMap(\.hexDigitValue)
    guard digits.count == text.count, digits.count % 2 == 0 else { throw Misunderstanding("'\(text)' is no bytes") }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}
