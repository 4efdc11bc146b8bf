internal import Nearby

/// What a line may say: a name, words, and for some what is done while further lines are obeyed.
struct Command {
  typealias Work = @Sendable () async -> Void

  let usage: String
  let run: @Sendable (isolated Desk, Words) async throws -> Work?

  init(_ usage: String, _ run: @escaping @Sendable (isolated Desk, Words) async throws -> Work?) {
    self.usage = usage
    self.run = run
  }

  static let all: [String: Command] = Dictionary(
    uniqueKeysWithValues: (peers + sessions + flows).map { (String($0.usage.prefix { $0 != " " }), $0) })

  private static let peers = [
    Command("peer KEY NAME") { try await $0.makePeer($1.word(0), $1.word(1)) },
    Command("advertise KEY PEER TYPE SESSION [NAME=VALUE …]") { try await $0.advertise($1) },
    Command("update KEY [NAME=VALUE …]") { desk, words in
      try await desk.advertiser(words.word(0)).update(info: words.pairs(from: 1))
      return nil
    },
    Command("stop KEY") { desk, words in
      try await desk.advertiser(words.word(0)).stop()
      return nil
    },
    Command("browse KEY PEER TYPE") { try await $0.browse($1.word(0), $1.word(1), $1.word(2)) },
    Command("memory") { desk, _ in
      Teller.tell("memory", ["bytesMax": "\(Desk.memoryBytesMax)"])
      return nil
    },
  ]

  private static let sessions = [
    Command("session KEY PEER") { try await $0.openSession($1.word(0), $1.word(1)) },
    Command("invite SESSION PEER TYPE SECONDS") { desk, words in
      let session = try desk.session(words.word(0))
      let (peer, type, time) = (try PeerID(text: words.word(1)), try words.word(2), try words.number(3))
      return desk.working(words) { try await session.invite(peer, as: type, timeout: .seconds(time)) }
    },
    Command("data SESSION") { desk, words in
      let data = try await desk.session(words.word(0)).connectionData()
      Teller.tell("data", ["data": Desk.hexadecimal(data)])
      return nil
    },
    Command("connect SESSION PEER DATA SECONDS") { desk, words in
      let session = try desk.session(words.word(0))
      let (peer, data) = (try PeerID(text: words.word(1)), try Desk.bytes(hexadecimal: words.word(2)))
      let time = try words.number(3)
      return desk.working(words, cancelledAs: try words.word(0)) {
        try await session.connect(to: peer, with: data, timeout: .seconds(time))
      }
    },
    Command("giveup SESSION") { desk, words in
      try desk.giveUp(words.word(0))
      return nil
    },
    Command("leave SESSION") { desk, words in
      await (try desk.session(words.word(0))).leave()
      return nil
    },
    Command("send SESSION MODE all|nobody|PEER,PEER TEXT") { desk, words in
      let session = try desk.session(words.word(0))
      try await session.send(
        Array(words.word(3).utf8), to: desk.addressees(words.word(2), of: words.word(0)), words.mode(1))
      return nil
    },
    Command("burst SESSION MODE all|PEER,PEER COUNT BYTES") { desk, words in
      let (session, mode) = (try desk.session(words.word(0)), try words.mode(1))
      let to = try desk.addressees(words.word(2), of: words.word(0))
      let (count, size) = (try words.number(3), try words.number(4))
      return desk.working(words) {
        for number in 0..<count {
          let text = "burst-\(number) "
          try await session.send(Array(text.utf8) + [UInt8](repeating: 0, count: size - text.utf8.count), to: to, mode)
        }
      }
    },
  ]

  private static let flows = [
    Command("open STREAM SESSION PEER") { desk, words in
      try await desk.openStream(words.word(0), words.word(1), words.word(2))
    },
    Command("write STREAM BYTES") { try $0.write($1) },
    Command("written STREAM") { desk, words in
      Teller.tell("written", ["stream": try words.word(0), "bytes": "\(desk.written[try words.word(0)] ?? 0)"])
      return nil
    },
    Command("close STREAM") { desk, words in
      await (try desk.writer(words.word(0))).close()
      return nil
    },
    Command("cancel STREAM") { desk, words in
      await (try desk.writer(words.word(0))).cancel()
      return nil
    },
    Command("read STREAM") { try $0.read($1.word(0)) },
    Command("drop STREAM") { desk, words in
      await (try desk.reader(words.word(0))).cancel()
      return nil
    },
    Command("offer SESSION PEER PATH") { try await $0.offer($1.word(0), $1.word(1), $1.word(2)) },
    Command("keep RESOURCE") { try await $0.keep($1.word(0)) },
    Command("forget RESOURCE") { desk, words in
      try desk.forget(words.word(0))
      return nil
    },
  ]
}

/// The words of a line behind its first.
struct Words: Sendable {
  let command: String
  private let rest: [String]

  init(_ line: String) {
    let words = line.split(separator: " ").map(String.init)
    command = words.first ?? ""
    rest = Array(words.dropFirst())
  }

  func word(_ index: Int) throws -> String {
    guard rest.indices.contains(index) else {
      throw Misunderstanding("'\(command)' needs more words: \(Command.all[command]?.usage ?? "")")
    }
    return rest[index]
  }

  func number(_ index: Int) throws -> Int {
    guard let number = Int(try word(index)) else { throw Misunderstanding("'\(try word(index))' is no number") }
    return number
  }

  func mode(_ index: Int) throws -> Mode { try word(index) == "unreliable" ? .unreliable : .reliable }

  func pairs(from index: Int) -> [String: String] {
    let pairs = rest.dropFirst(index).map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
    return Dictionary(pairs.map { ($0[0], $0.count > 1 ? $0[1] : "") }, uniquingKeysWith: { $1 })
  }
}
