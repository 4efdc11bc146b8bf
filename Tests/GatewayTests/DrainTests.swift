internal import Notation
internal import Reactor
internal import Synchronization
internal import Testing

@testable internal import Gateway

@Suite("A gateway that stops lets go of everybody in order", .timeLimit(.minutes(2)))
struct DrainTests {
  @Test("It is not ready, nobody connects, followers are at their end, and an upload under way ends well")
  func draining() async throws {
    let gateway = try await TestGateway.open()
    let client = try await gateway.client()
    let peer = try await client.make("/v1/peers", ["displayName": "Anna"]).id
    let talk = try await Talk.connected(client)
    let events = try await client.follow("/v1/peers")
    _ = try await events.next()
    let position = try #require(try await client.get("/v1/sessions").json["position"]?.text)
    async let news = client.get("/v1/sessions?since=\(position)&wait=60")
    let body = JSON.object([.init("displayName", "Bert")]).bytes
    let line = try client.line()
    try line.write(client.head("POST", "/v1/peers", body.count, "application/json", [:]))
    let kept = try client.line()
    try kept.write(client.head("GET", "/readyz", nil, nil, ["Connection": "keep-alive"]))
    #expect(try kept.readAnswer(to: "GET").text == "ready\n")
    var numbers = ""
    while !(numbers.contains("vicinity_long_polls 1") && numbers.contains("vicinity_http_requests_in_flight 4")) {
      numbers = try await gateway.stranger.get("/metrics").text
    }
    async let drained: Void = gateway.running.drain(within: .seconds(60))
    #expect(try await talk.closing() == 1012)
    while try await events.next() != nil {}
    #expect(try await news.json["changes"] == [])
    try kept.write(client.head("GET", "/readyz", nil, nil, ["Connection": "keep-alive"]))
    let readiness = try await onThread { try kept.readAnswer(to: "GET") }
    #expect(readiness.status == 503 && readiness["Connection"] == "close" && readiness.problem == "unavailable")
    await #expect(throws: Line.Broken.self) { try await client.get("/healthz") }
    #expect(await gateway.running.workUnderWay == 1)
    try line.write(body)
    #expect(try await onThread { try line.readAnswer(to: "POST") }.status == 201)
    await drained
    await gateway.close()
    withExtendedLifetime(peer) {}
  }

  @Test("A request in progress is cut off once its time is over")
  func impatient() async throws {
    let gateway = try await TestGateway.open()
    let client = try await gateway.client()
    let line = try client.line()
    try line.write(client.head("POST", "/v1/peers", 100, "application/json", [:]))
    while await gateway.running.workUnderWay == 0 {}
    await gateway.running.drain(within: .milliseconds(200))
    #expect(await gateway.running.workUnderWay == 1)
    let log = gateway.running.log
    await gateway.close()
    #expect(try await onThread { try line.readToEnd() }.isEmpty)
    var said: [String] = []
    for await record in log { said.append(record.event) }
    #expect(said.contains("cutOff") && said.contains("draining") && said.contains("paired"))
  }

  @Test("The received part of an upload that was cut off is there after a restart")
  func uploading() async throws {
    var meeting = try await TwoClients.begin()
    let (anna, bert) = (meeting.anna, meeting.bert)
    let body: JSON = ["name": "a.bin", "to": .text(anna.peer), "size": 200_000]
    let id = try await bert.client.make("\(bert.path)/resources", body).id
    let path = "\(bert.path)/resources/\(id)"
    let line = try bert.client.line()
    try line.write(bert.client.head("PUT", "\(path)/content", 200_000, "application/octet-stream", [:]))
    try line.write([UInt8](repeating: 1, count: 100_000))
    while try await bert.client.ask("HEAD", "\(path)/content")["Upload-Offset"] != "100000" {}
    await bert.gateway.running.drain(within: .zero)
    let gateway = try await bert.gateway.restarted()
    meeting.bert = TwoClients.SessionClient(
      gateway: gateway, client: bert.client, peer: bert.peer, session: bert.session)
    #expect(try await bert.client.ask("HEAD", "\(path)/content")["Upload-Offset"] == "100000")
    await meeting.end()
    withExtendedLifetime(line) {}
  }

  @Test("A repeated event is logged a few times and then counted, and a token never")
  func repeated() async throws {
    let reactor = try Reactor()
    reactor.start()
    let (said, told) = AsyncStream<LogRecord>.makeStream()
    await reactor.spawn {
      let log = Log(.info, on: reactor, to: told)
      for number in 0..<50 { log(.info, for: .client, "refused", "GET /vct_secret\(number)") }
      log(.debug, for: .developer, "answered", "what nobody asked for")
      log.close()
    }.value
    reactor.stop()
    var refused: [LogRecord] = []
    for await record in said { refused.append(record) }
    #expect(refused.count == 21 && refused.first?.text == "GET /vct_…")
    #expect(refused.last?.fields.contains { $0.name == "leftOut" && $0.value == .number(30) } == true)
    #expect(refused.allSatisfy { $0.audience == .client && !$0.text.contains("secret") })
  }
}
