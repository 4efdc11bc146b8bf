internal import Glibc
internal import Notation
internal import Reactor
internal import Store
internal import Testing

@testable internal import Gateway
@testable internal import Nearby

@Suite("Errors have the same names everywhere", .timeLimit(.minutes(3)), .serialized)
struct ErrorTests {
  @Test("P-ERR-1 The codes of errors have their numbers, and are problems of the same names, each with a page")
  func codes() async throws {
    // The errors in the order of their numbers; last, those that have a reason.
    let table: [(error: NearbyError, name: String, status: Int, reason: JSON?)] = [
      (NearbyError(.unknown, "why"), "unknown", 500, nil),
      (NearbyError(.notConnected, "why"), "notConnected", 409, nil),
      (NearbyError(.invalidParameter, "why"), "invalidParameter", 400, nil),
      (NearbyError(.unsupported, "why"), "unsupported", 422, nil),
      (NearbyError(.timedOut, "why"), "timedOut", 504, nil),
      (NearbyError(.cancelled, "why"), "cancelled", 409, nil),
      (NearbyError(.unavailable, "why"), "unavailable", 503, nil),
      (NearbyError(queueFull: "why"), "unavailable", 429, "queueFull"),
      (NearbyError(StoreError.full(path: "here")), "unavailable", 507, "noSpace"),
      (NearbyError(.declined, of: "why"), "notConnected", 409, "declined"),
    ]
    #expect(table.prefix(7).map(\.error.code.rawValue) == Array(0...6))
    try await withGateway { gateway in
      for (error, name, status, reason) in table {
        let problem = Problem(error)
        #expect("\(error.code)" == name && problem.kind.rawValue == name)
        #expect(problem.json["detail"] == .text(error.description) && error.reasonName == reason?.text)
        #expect(problem.json["type"] == .text("/problems/\(name)") && problem.status == status)
        #expect(problem.json["status"] == .number(status) && problem.json["reason"] == reason)
        #expect((problem.retryAfter == 1) == (reason == "queueFull"))
        let page = try await gateway.stranger.get("/problems/\(name)")
        #expect(page.status == 200)
      }
      // The gateway's own are none of these, and each has its page too.
      for kind in Problem.Kind.allCases {
        let page = try await gateway.stranger.get("/problems/\(kind.rawValue)")
        #expect(page.status == 200)
        #expect((400..<600).contains(kind.status))
      }
    }
  }

  @Test("A disk without room is 507, whichever part of the gateway finds it full")
  func room() {
    let full = [ENOSPC, EDQUOT].map { KeyStoreError.failed(path: "here", SystemError("write", code: $0)) }
    for error in full + [StoreError.full(path: "here")] as [any Error] {
      let told = NearbyError(wrapping: error)
      #expect(told.code == .unavailable && Problem(told).status == 507, "\(told)")
    }
  }

  @Test("P-ERR-1 An error has one name by REST and by WebSocket")
  func names() async throws {
    try await TwoClients.hold { meeting in
      let bert = meeting.bert
      let talk = try await Talk.connected(bert.client)
      let alone = try await bert.client.make("/v1/sessions")["Location"] ?? ""
      for (path, body, type) in [
        ("\(alone)/messages", ["text": "hello"], "notConnected"),
        ("\(bert.path)/streams", ["name": "x", "to": "nobody"], "notConnected"),
        ("/v1/advertisers", ["serviceType": "No Type"], "invalidParameter"),
        ("/v1/peers", ["displayName": "\u{7}"], "invalidParameter"),
      ] as [(String, JSON, String)] {
        let answer = try await bert.client.post(path, body)
        let request: JSON = ["method": "POST", "path": .text(path), "body": body]
        let told = try await talk.ask(["id": .text("\(path)"), "request": request])["problem"]
        #expect(answer.problem == type && told?["type"] == .text("/problems/\(type)"), "\(path): \(answer.text)")
        #expect(told == answer.json, "\(told?.line ?? "")")
      }
      // An asynchronous failure is reported in the same words by both.
      let (resources, number) = try await bert.follow("resources")
      let body: JSON = ["name": "x", "to": .text(meeting.anna.peer), "url": "ftp://somewhere.example/x"]
      let made = try await bert.client.make("\(bert.path)/resources", body)
      var put: JSON?
      while put?["state"] != "failed" { put = try await resources.change(of: number)["put"] }
      #expect(put?["problem"]?["type"] == "/problems/unsupported")
      #expect(try await bert.client.get(made["Location"] ?? "").json == put)
    }
  }
}
