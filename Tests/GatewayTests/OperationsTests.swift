internal import Foundation
internal import Notation
internal import Reactor
internal import Testing

@testable internal import Gateway

@Suite("Those who look after a gateway see how it is", .timeLimit(.minutes(2)))
struct OperationsTests {
  @Test("It is alive and ready, and says so to anybody")
  func health() async throws {
    try await withGateway { gateway in
      let (health, readiness) = (try await gateway.stranger.get("/healthz"), try await gateway.stranger.get("/readyz"))
      #expect(health.text == "ok\n" && readiness.text == "ready\n")
    }
  }

  @Test("promtool finds no fault in the numbers, and all of them are there once something has happened")
  func promtool() async throws {
    try await withGateway { gateway in
      try await makeTraffic(at: gateway)
      let answer = try await gateway.stranger.get("/metrics")
      #expect(answer["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
      let judged = try await judge(answer.body)
      #expect(judged.status == 0 && judged.said.isEmpty, "\(judged.said)")
      let told = answer.text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map {
        $0.split(separator: " ")[2]
      }
      let missing = Set(Metric.all.map(\.name)).subtracting(told.map(String.init))
      // Nothing was refused or transferred, no scrub is over, and there is no other host.
      let later: Set = [
        "vicinity_http_refusals_total", "vicinity_transfers_ended_total", "vicinity_scrub_last_pass_timestamp_seconds",
        "vicinity_medium_links", "vicinity_medium_round_trip_seconds", "vicinity_medium_rate_bytes_per_second",
        "vicinity_medium_loss_ratio",
      ]
      #expect(missing.isSubset(of: later), "\(missing)")
      let open = try await gateway.stranger.get("/metrics", ["Accept": "application/openmetrics-text; version=1.0.0"])
      #expect(open["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8")
      #expect(open.text.hasSuffix("\n# EOF\n") && open.text.contains("# TYPE vicinity_http_requests counter\n"))
    }
  }

  @Test("The last hour of some metrics is kept, the oldest sample first, and operators are told")
  func history() async throws {
    try await withGateway { gateway in
      let boss = try await gateway.client("operator")
      let told = try await boss.get("/v1/gateway/history").json
      #expect(told["times"]?.list?.count == 1 && told["series"]?["memoryBytes"]?.list?.count == 1)
      #expect(try await gateway.client("member").get("/v1/gateway/history").status == 403)
    }
    var history = MetricHistory()
    for number in 0..<MetricHistory.samplesMax + 3 {
      history.add({ $0 == .requests ? number : 0 }, at: Timestamp(milliseconds: Int64(number)))
    }
    let requests = try #require(history.json["series"]?["requests"]?.list)
    #expect(requests.first == 3 && requests.last == .number(MetricHistory.samplesMax + 2))
    #expect(requests.count == MetricHistory.samplesMax && history.json["times"]?.list?.count == requests.count)
  }

  @Test("A text is drawn as a QR code, and nothing but its modules is in the image")
  func qrCode() async throws {
    try await withGateway { gateway in
      let client = try await gateway.client()
      let answer = try await client.post("/v1/qr-codes", ["text": "http://192.0.2.7:7777/#code=<script>"])
      #expect(answer.status == 200 && answer["Content-Type"] == "image/svg+xml")
      #expect(answer.text.hasPrefix("<svg ") && answer.text.hasSuffix("</svg>") && !answer.text.contains("script"))
      // No end of a text for C is one here.
      let (short, long) = (
        try await client.post("/v1/qr-codes", ["text": "a"]), try await client.post("/v1/qr-codes", ["text": "a\0b"])
      )
      #expect(short.status == 200 && long.status == 200 && short.body != long.body)
      #expect(try await client.post("/v1/qr-codes", ["text": ""]).json["field"] == "text")
      #expect(
        try await client.post("/v1/qr-codes", ["text": .text(String(repeating: "a", count: 513))]).json["limit"] == 512)
      #expect(try await gateway.stranger.post("/v1/qr-codes", ["text": "a"]).status == 401)
    }
  }

  @Test("Requests, WebSockets, streams of events and what they carry are counted")
  func counted() async throws {
    try await withGateway { gateway in
      let before = try await numbers(gateway)
      let client = try await gateway.client()
      _ = try await client.make("/v1/peers", ["displayName": "Anna"])
      _ = try await gateway.stranger.get("/v1/peers")
      _ = try await gateway.stranger.get("/nowhere")
      let events = try await client.follow("/v1/peers")
      _ = try await events.next()
      let talk = try await Talk.connected(client)
      let after = try await numbers(gateway)
      func grown(_ name: String) -> Double { (after[name] ?? 0) - (before[name] ?? 0) }
      #expect(grown("vicinity_http_requests_total{route=\"/v1/peers\",method=\"POST\",status=\"201\"}") == 1)
      #expect(grown("vicinity_http_requests_total{route=\"/v1/peers\",method=\"GET\",status=\"401\"}") == 1)
      #expect(grown("vicinity_http_requests_total{route=\"none\",method=\"any\",status=\"404\"}") == 1)
      #expect(
        after["vicinity_http_request_duration_seconds_bucket{route=\"/v1/peers\",method=\"POST\",le=\"+Inf\"}"] == 1)
      #expect(grown("vicinity_event_streams") == 1 && grown("vicinity_websockets{kind=\"channels\"}") == 1)
      #expect(grown("vicinity_pairings_total") == 1 && grown("vicinity_clients") == 1 && grown("vicinity_peers") == 1)
      #expect(grown("vicinity_websocket_frames_sent_total") == 1)
      #expect(grown("vicinity_websocket_messages_received_total") == 1)
      #expect(grown("vicinity_connections_total{kind=\"socket\"}") == 1)
      #expect(grown("vicinity_http_request_body_bytes_total") > 20)
      #expect(grown("vicinity_store_commits_total") > 0 && after["process_open_fds"] ?? 0 > 3)
      #expect(after["vicinity_build_info{version=\"\(Gateway.version)\"}"] == 1 && after["vicinity_ready"] == 1)
      #expect(after["process_start_time_seconds"] ?? 0 > 1_700_000_000)
      talk.hangUp()
    }
  }

  @Test("Messages between sessions of one gateway that keep theirs in memory bring nothing to the disk")
  func memoryIsNoDisk() async throws {
    try await withGateway { gateway in
      let wish: JSON = ["adhoc": "memory", "history": ["keep": "memory"]]
      let anna = try await TwoClients.SessionClient.taken(at: gateway, by: "Anna", wish)
      let bert = try await TwoClients.SessionClient.taken(at: gateway, by: "Bert", wish)
      _ = try await anna.client.wait(in: "\(anna.path)/members", "state", "connected")
      _ = try await bert.client.wait(in: "\(bert.path)/members", "state", "connected")
      func say(_ text: String) async throws {
        _ = try await anna.client.ask("POST", "\(anna.path)/messages", Array(text.utf8))
        _ = try await bert.client.wait(in: "\(bert.path)/messages", "body", .text(text))
      }
      // Writes that are still pending from connecting are committed before it.
      try await say("first")
      let before = try await numbers(gateway)["vicinity_store_commits_total"]
      for number in 1...20 { try await say("\(number)") }
      #expect(try await numbers(gateway)["vicinity_store_commits_total"] == before)
    }
  }

  @Test("Numbers are told on the machine itself, to operators, and where they are allowed; not through a proxy")
  func access() async throws {
    try await withGateway { gateway in
      let proxied = ["X-Forwarded-For": "203.0.113.7"]
      #expect(try await gateway.stranger.get("/metrics", proxied).status == 401)
      let member = try await gateway.client()
      #expect(try await member.get("/metrics", proxied).status == 403)
      let op = try await gateway.client("operator")
      // Others may read along before the proxy.
      #expect(try await op.get("/metrics", proxied).json["rule"] == "privateConnection")
      #expect(try await op.get("/metrics").status == 200)
      guard let outsideAddress else { return }
      var outside = gateway.stranger
      outside.host = outsideAddress
      #expect(try await outside.get("/metrics").status == 401)
      #expect(try await outside.get("/readyz").status == 200)
    }
    guard let outsideAddress else { return }
    try await withGateway({ $0.metricsFrom = ["192.0.2.0/24", outsideAddress] }) { gateway in
      var outside = gateway.stranger
      outside.host = outsideAddress
      let answer = try await outside.get("/metrics")
      #expect(answer.status == 200)
    }
    await #expect(throws: Problem.self) { try await withGateway({ $0.metricsFrom = ["10.0.0.0/33"] }) { _ in } }
  }

  @Test(
    "A range has the addresses that begin like it",
    arguments: [
      ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.0", false), ("192.0.2.5", "192.0.2.5", true),
      ("192.0.2.5", "192.0.2.4", false), ("192.0.2.4/31", "192.0.2.5", true), ("0.0.0.0/0", "8.8.8.8", true),
      ("fd00::/8", "fd12::1", true), ("fd00::/8", "fe80::1", false), ("0.0.0.0/0", "::1", false),
    ])
  func ranges(_ range: String, _ address: String, _ isIn: Bool) throws {
    #expect(try #require(AddressRange(range)).contains(#require(SocketAddress(address, port: 1))) == isIn)
  }

  // MARK: The stage

  private func makeTraffic(at gateway: TestGateway) async throws {
    let client = try await gateway.client()
    let peer = try await client.make("/v1/peers", ["displayName": "Anna"]).id
    _ = try await client.make("/v1/sessions", ["peer": .text(peer)])
    let talk = try await Talk.connected(client)
    try await talk.goodbye(1000)
    _ = try await talk.closing()
    var closed = false
    while !closed { closed = try await numbers(gateway)["vicinity_websocket_closes_total{code=\"1000\"}"] == 1 }
  }

  private func numbers(_ gateway: TestGateway) async throws -> [String: Double] {
    var numbers: [String: Double] = [:]
    for line in try await gateway.stranger.get("/metrics").text.split(separator: "\n") where !line.hasPrefix("#") {
      let space = try #require(line.lastIndex(of: " "))
      numbers[String(line[..<space])] = Double(line[line.index(after: space)...])
    }
    return numbers
  }

  private func judge(_ metrics: [UInt8]) async throws -> (status: Int32, said: String) {
    try await onThread {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/promtool")
      process.arguments = ["check", "metrics"]
      let (input, output) = (Pipe(), Pipe())
      process.standardInput = input
      process.standardOutput = output
      process.standardError = output
      try process.run()
      input.fileHandleForWriting.write(Data(metrics))
      try input.fileHandleForWriting.close()
      let said = output.fileHandleForReading.readDataToEndOfFile()
      process.waitUntilExit()
      return (process.terminationStatus, String(decoding: said, as: UTF8.self))
    }
  }
}
