internal import Nearby

/// A command: its usage, its action, and for some the work that goes on while further lines are read.
struct Command {
  typealias Work = @Sendable () async -> Void

  let usage: String
  let run: @Sendable (isolated CommandRunner, Words) async throws -> Work?

  init(_ usage: String, _ run: @escaping @Sendable (isolated CommandRunner, Words) async throws -> Work?) {
    self.usage = usage
    self.run = run
  }

  static let all: [String: Command] = Dictionary(
    uniqueKeysWithValues: (peers + sessions + flows).map { (String($0.usage.prefix { $0 != " " }), $0) })

  private static let peers = [
    Command("peer KEY NAME") { try await $0.makePeer($1.word(0), $1.word(1)) },
    Command("advertise KEY PEER TYPE SESSION [NAME=VALUE …]") { try await $0.advertise($1) },
    Command("update KEY [NAME=VALUE …]") { runner, words in
      try await runner.advertiser(words.word(0)).update(info: words.pairs(from: 1))
      return nil
    },
    Command("stop KEY") { runner, words in
      try await runner.advertiser(words.word(0)).stop()
      return nil
    },
    Command("browse KEY PEER TYPE") { try await $0.browse($1.word(0), $1.word(1), $1.word(2)) },
    Command("relay HOST") { runner, words in
      let host = try words.word(0)
      let link = await runner.host.links.first { $0.host.text == host && !$0.isStandby }
      EventWriter.tell("relay", link?.relay.map { ["relay": $0.text] } ?? [:])
      return nil
    },
    Command("memory") { runner, _ in
      EventWriter.tell("memory", ["bytesMax": "\(CommandRunner.memoryBytesMax)"])
      return nil
    },
  ]

  private static let sessions = [
    Command("session KEY PEER") { try await $0.openSession($1.word(0), $1.word(1)) },
    Command("invite SESSION PEER TYPE SECONDS") { runner, words in
      let session = try runner.session(words.word(0))
      let (peer, type, time) = (try PeerID(text: words.word(1)), try words.word(2), try words.number(3))
      return runner.working(words) { try await session.invite(peer, as: type, timeout: .seconds(time)) }
    },
    Command("data SESSION") { runner, words in
      let data = try await runner.session(words.word(0)).connectionData()
      EventWriter.tell("data", ["data": CommandRunner.hexadecimal(data)])
      return nil
    },
    Command("connect SESSION PEER DATA SECONDS") { runner, words in
      let session = try runner.session(words.word(0))
      let (peer, data) = (try PeerID(text: words.word(1)), try CommandRunner.bytes(hexadecimal: words.word(2)))
      let time = try words.number(3)
      return runner.working(words, cancelledAs: try words.word(0)) {
        try await session.connect(to: peer, with: data, timeout: .seconds(time))
      }
    },
    Command("giveup SESSION") { runner, words in
      try runner.giveUp(words.word(0))
      return nil
    },
    Command("leave SESSION") { runner, words in
      await (try runner.session(words.word(0))).leave()
      return nil
    },
    Command("send SESSION MODE all|nobody|PEER,PEER TEXT") { runner, words in
      let session = try runner.session(words.word(0))
      try await session.send(
        Array(words.word(3).utf8), to: runner.addressees(words.word(2), of: words.word(0)), words.mode(1))
      return nil
    },
    Command("burst SESSION MODE all|PEER,PEER COUNT BYTES") { runner, words in
      let (session, mode) = (try runner.session(words.word(0)), try words.mode(1))
      let to = try runner.addressees(words.word(2), of: words.word(0))
      let (count, size) = (try words.number(3), try words.number(4))
      return runner.working(words) {
        for number in 0..<count {
          let text = "burst-\(number) "
          try await session.send(Array(text.utf8) + [UInt8](repeating: 0, count: size - text.utf8.count), to: to, mode)
        }
      }
    },
  ]

  private static let flows = [
    Command("open STREAM SESSION PEER") { runner, words in
      try await runner.openStream(words.word(0), words.word(1), words.word(2))
    },
    Command("write STREAM BYTES") { try $0.write($1) },
    Command("written STREAM") { runner, words in
      EventWriter.tell("written", ["stream": try words.word(0), "bytes": "\(runner.written[try words.word(0)] ?? 0)"])
      return nil
    },
    Command("close STREAM") { runner, words in
      await (try runner.writer(words.word(0))).close()
      return nil
    },
    Command("cancel STREAM") { runner, words in
      await (try runner.writer(words.word(0))).cancel()
      return nil
    },
    Command("read STREAM") { try $0.read($1.word(0)) },
    Command("drop STREAM") { runner, words in
      await (try runner.reader(words.word(0))).cancel()
      return nil
    },
    Command("offer SESSION PEER PATH") { try await $0.offer($1.word(0), $1.word(1), $1.word(2)) },
    Command("keep RESOURCE") { try await $0.keep($1.word(0)) },
    Command("forget RESOURCE") { runner, words in
      try runner.forget(words.word(0))
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
