internal import Foundation
internal import Nearby
internal import Notation
internal import Store
internal import Testing
internal import Web
internal import Wire

@testable internal import Gateway

@Suite("Where messages cannot go out, or be read, it is said", .timeLimit(.minutes(3)), .serialized)
struct QueueTests {
  /// A gateway stores nothing meanwhile, and so says of nothing that it has it.
  private func holdingUp(_ gateway: TestGateway, _ body: () async throws -> Void) async throws {
    let store = try #require(await gateway.running.sessionStore).writer
    try await Standstill.hold(on: { stand in try await store.perform { _ in stand() } }, body)
  }

  /// How many changes there were of somebody's messages: the messages alone are too many to be read again and again.
  private func count(_ side: TwoClients.SessionClient) async throws -> Int {
    let tag = try await side.client.ask("HEAD", "\(side.path)/messages")["ETag"]
    return try #require(tag?.dropLast().split(separator: ".").last.flatMap { Int($0) })
  }

  @Test(
    "P-MSG-3 A full queue is 429 with the time to try again, and what was taken before arrives once and in order",
    arguments: ["durable", "memory"])
  func fullQueue(_ keep: String) async throws {
    // A machine that is slow now takes longer for what follows than a host may keep others waiting.
    let patient: (inout GatewayOptions) -> Void = { $0.host.backlogAgeMax = .seconds(150) }
    try await TwoClients.hold(["history": ["keep": .text(keep)]], patient) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let rest = String(repeating: "x", count: 500_000)
      func post(_ number: Int) async throws -> Answer {
        try await anna.client.ask("POST", "\(anna.path)/messages", Array("\(number) \(rest)".utf8), type: "text/plain")
      }
      var taken: [String] = []
      var number = 0
      try await holdingUp(bert.gateway) {
        // There is room for 4 MiB, and for 1 MiB before that.
        var answer: Answer
        repeat {
          number += 1
          answer = try await post(number)
          if answer.status == 201, let location = answer["Location"] { taken.append(location) }
        } while answer.status == 201 && number < 40
        #expect(answer.status == 429 && answer.problem == "unavailable", "\(answer.text.prefix(300))")
        #expect(answer["Retry-After"] == "1" && answer.json["retryAfter"] == 1 && answer.json["reason"] == "queueFull")
        #expect(taken.count == number - 1 && taken.count >= 4)
        #expect(try await count(anna) == taken.count, "what is refused is not there")
      }
      // The request is repeated while the answer is 429.
      var answer: Answer
      repeat { answer = try await post(number) } while answer.status == 429
      #expect(answer.status == 201, "\(answer.text.prefix(300))")
      taken.append(answer["Location"] ?? "")
      while try await count(bert) < number {}
      let came = try await bert.client.get("\(bert.path)/messages").json["items"]?.list ?? []
      #expect(came.map { $0["body"]?.text?.split(separator: " ").first.flatMap { Int($0) } } == Array(1...number))
      for location in taken {
        var delivery: JSON?
        repeat {
          delivery = try await anna.client.get(location).json["delivery"]
        } while delivery?["pending"] == 1
        #expect(delivery?["delivered"] == 1, "\(delivery?.line ?? "")")
      }
    }
  }

  @Test("P-MSG-4 An unreliable message goes out where no reliable one can, and leaves no word of what became of it")
  func unreliable() async throws {
    try await TwoClients.hold(["history": ["keep": "memory"]], { $0.host.backlogAgeMax = .seconds(150) }) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let list = "\(anna.path)/messages"
      let rest = String(repeating: "x", count: 500_000)
      func send(_ text: String, _ mode: String) async throws -> Answer {
        try await bert.client.ask("POST", "\(bert.path)/messages?mode=\(mode)", Array(text.utf8), type: "text/plain")
      }
      var taken = 0
      let datagrams = "\(anna.path)/datagrams"
      let before = try await anna.client.position(of: datagrams)
      try await holdingUp(anna.gateway) {
        while try await send("waits \(rest)", "reliable").status == 201, taken < 40 { taken += 1 }
        let sent = try await send("passes", "unreliable")
        #expect(sent.status == 202 && sent.json["delivery"] == nil, "\(sent.text.prefix(300))")
        _ = try await anna.client.wait(in: datagrams, since: before) { $0["body"] == "passes" }
        #expect(try await send("waits \(rest)", "reliable").problem == "unavailable", "nothing reliable goes out")
      }
      while try await anna.client.get("\(list)?mode=reliable&limit=1000").ids.count < taken {}
    }
  }

  // MARK: WebSockets that do not read

  @Test("A WebSocket that does not read its channel is closed with 4001, and comes back without a gap")
  func lagging() async throws {
    try await withGateway { gateway in
      let meeting = try await TwoClients.near(at: gateway, ["history": ["keep": "memory", "bytes": 250_000_000]])
      let (anna, bert) = (meeting.anna, meeting.bert)
      let channel: JSON = .text("\(bert.path)/messages")
      let slow = try await Talk.connected(bert.client)
      let ok = try await slow.ask(["id": 1, "subscribe": ["channel": channel]])["ok"]
      let body = String(repeating: "y", count: 1_000_000)
      var count = 0
      // It is behind once the ring and what the kernel keeps for it are full.
      while try await !gateway.stranger.get("/metrics").text.contains("\nvicinity_websocket_lags_total 1\n") {
        try #require(count < 200, "it is never behind")
        let sent = try await anna.client.ask("POST", "\(anna.path)/messages", Array(body.utf8), type: "text/plain")
        if sent.status == 201 { count += 1 } else { #expect(sent.status == 429) }
      }
      var told = try #require(ok?["position"]?.text?.split(separator: ".").last.flatMap { Int64($0) })
      let epoch = try #require(ok?["position"]?.text?.prefix { $0 != "." })
      let (changes, code) = try await slow.rest()
      #expect(code == 4001)
      for change in changes {
        let change = try slow.read(change)
        #expect(change["o"]?.integer == told + 1)
        told += 1
      }
      let back = try await Talk.connected(bert.client)
      let anew = try await back.ask(["id": 1, "subscribe": ["channel": channel, "since": .text("\(epoch).\(told)")]])[
        "ok"]
      _ = try await bert.client.wait(in: "\(bert.path)/messages?limit=1000") { _ in true }
      // Changes beyond a mebibyte are not kept: the whole list is sent.
      #expect(anew?["recovered"] == false && told < Int64(count))
      let items = anew?["items"]?.list?.count ?? 0
      #expect(items <= count && Int64(items) > told)
    }
  }

  @Test("One of two WebSockets of a client in one list is closed if it does not read, and the other has all")
  func laggingBesideAnother() async throws {
    try await withGateway { gateway in
      let anna = try await gateway.client()
      let peer = try await anna.make("/v1/peers", ["displayName": "Anna"]).id
      let path = "/v1/sessions/\(try await anna.make("/v1/sessions", ["peer": .text(peer)]).id)"
      let (slow, quick) = (try await Talk.connected(anna), try await Talk.connected(anna))
      var number: JSON?
      for talk in [slow, quick] {
        number = try await talk.ask(["id": 1, "subscribe": ["channel": "/v1/sessions"]])["ok"]?["number"]
      }
      func other(_ number: UInt64) -> JSON { .text(PeerID(ID128(high: 1, low: number)).text) }
      // Each change is 29 KB.
      let many = (0..<1_000).map(other)
      for count in 0..<1_000 {
        let blocked = many + [other(1_000 + UInt64(count))]
        #expect(try await anna.patch(path, ["blocked": .list(blocked)]).status == 200)
        #expect(try await quick.change(of: number)["put"]?["blocked"]?.list?.count == blocked.count)
        guard count.isMultiple(of: 8) else { continue }
        if try await gateway.stranger.get("/metrics").text.contains("\nvicinity_websocket_lags_total 1\n") { break }
      }
      #expect(try await slow.rest().code == 4001)
    }
  }

  @Test("A WebSocket that has not read its snapshot yet is not sent away, whatever is published meanwhile")
  func slowBeginning() async throws {
    try await withGateway { gateway in
      let meeting = try await TwoClients.near(at: gateway, ["history": ["keep": "memory", "bytes": 250_000_000]])
      let (anna, bert) = (meeting.anna, meeting.bert)
      let body = Array(String(repeating: "y", count: 1_000_000).utf8)
      func post(_ count: Int) async throws {
        var posted = 0
        while posted < count {
          let sent = try await anna.client.ask("POST", "\(anna.path)/messages", body, type: "text/plain")
          if sent.status == 201 { posted += 1 } else { #expect(sent.status == 429) }
        }
      }
      try await post(15)
      while try await count(bert) < 15 {}
      let slow = try await Talk.connected(bert.client)
      try await slow.say(["id": 1, "subscribe": ["channel": .text("\(bert.path)/messages")]])
      while try await !gateway.stranger.get("/metrics").text.contains("\nvicinity_websockets{kind=\"channels\"} 1\n") {}
      // The kernel buffers less than the snapshot, and more is published than a client may be behind.
      try await post(12)
      let ok = try await slow.answer(to: 1)["ok"]
      let number = try #require(ok?["number"])
      var seen = Set(ok?["items"]?.list?.compactMap { $0["id"]?.text } ?? [])
      #expect(seen.count >= 12)
      while seen.count < 27 {
        if let id = try await slow.change(of: number)["put"]?["id"]?.text { seen.insert(id) }
      }
    }
  }

  @Test("The largest message is told to a WebSocket, also where its JSON is six times as long")
  func largest() async throws {
    try await withGateway { gateway in
      let meeting = try await TwoClients.near(at: gateway)
      let (talk, number) = try await meeting.bert.follow("messages")
      for byte in [UInt8(ascii: "x"), 1] {
        let body = [UInt8](repeating: byte, count: Core.messageBytesMax)
        let sent = try await meeting.anna.client.ask("POST", "\(meeting.anna.path)/messages", body)
        #expect(sent.status == 201)
        let told = try await talk.change(of: number)
        #expect(told["put"]?["size"] == .number(body.count) && told["put"]?["body"]?.text?.utf8.count == body.count)
      }
    }
  }

  @Test("A WebSocket that asks and does not read the answers is not read from, and has all of them once it reads")
  func unread() async throws {
    try await withGateway { gateway in
      let anna = try await gateway.client()
      _ = try await anna.make("/v1/peers", ["displayName": "Anna"])
      let info: JSON = ["a": .text(String(repeating: "x", count: 200)), "b": .text(String(repeating: "y", count: 150))]
      for number in 0..<60 {
        _ = try await anna.make("/v1/advertisers", ["serviceType": .text("chat-\(number)"), "discoveryInfo": info])
      }
      let talk = try await Talk.connected(anna)
      // Each answer has tens of kilobytes, and all are wanted at once.
      let count = 1_000
      let questions = (0..<count).map {
        "{\"id\":\($0),\"request\":{\"method\":\"GET\",\"path\":\"/v1/advertisers?limit=1000\"}}\n"
      }
      try await talk.blurt(questions.joined())
      func queued() async -> Int {
        await withCheckedContinuation { continuation in
          gateway.running.start { core in
            continuation.resume(returning: core.sockets.all.reduce(0) { $0 + ($1.socket?.queuedBytes ?? 0) })
          }
        }
      }
      // Bytes that the kernel has not taken are queued, and only the first answers are made. Reading resumes below half
      // of the limit, so the queue may come to rest anywhere above that.
      while await queued() < SocketClient.unreadBytesMax / 2 {}
      #expect(await queued() < SocketClient.unreadBytesMax + ResponseBudget.smallBytesMax)
      for number in 0..<count {
        let answer = try await talk.answer(to: .number(number))
        #expect(answer["ok"]?["items"]?.list?.count == 60)
      }
      #expect(await queued() == 0)
      #expect(try await anna.get("/v1/advertisers").status == 200)
    }
  }

  @Test("A message that is too large for a WebSocket closes it with 1009")
  func tooLarge() async throws {
    try await withGateway { gateway in
      let talk = try await Talk.connected(try await gateway.client())
      try await talk.blurt(String(repeating: " ", count: Sockets.messageBytesMax + 1))
      #expect(try await talk.closing() == 1009)
    }
  }

  @Test("A stream's WebSocket that is silent is told so")
  func silentStream() async throws {
    try await TwoClients.hold([:], { $0.authenticationTimeout = .seconds(2) }) { meeting in
      let silent = try await meeting.anna.openStream(to: meeting.bert, saying: [:])
      #expect(try await silent.closing() == 4408)
    }
  }

  @Test("A stream's WebSocket that says something else first, or whose gateway stops, is told so")
  func streamCodes() async throws {
    try await TwoClients.hold([:], { $0.authenticationTimeout = .seconds(120) }) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let rash = try await anna.openStream(to: bert, saying: [:])
      try await rash.say([1, 2, 3])
      #expect(try await rash.closing() == 4401)
      let writer = try await anna.openStream(to: bert, saying: ["Authorization": "Bearer \(anna.client.token ?? "")"])
      async let code = writer.closing()
      await anna.gateway.close()
      #expect(try await code == 1012)
    }
  }
}

extension TwoClients.SessionClient {
  /// The WebSocket of a new stream to another, to whose gateway nothing is said but these headers.
  fileprivate func openStream(to other: TwoClients.SessionClient, saying headers: [String: String]) async throws -> Talk
  {
    let stream = try await client.make("\(path)/streams", ["name": "voice", "to": .text(other.peer)])
    return try await Talk.open(
      client, at: "\(stream["Location"] ?? "")/socket", speaking: "vicinity.stream.v1", headers)
  }
}
