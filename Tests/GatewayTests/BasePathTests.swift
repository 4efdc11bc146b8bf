internal import Notation
internal import Testing

@testable internal import Gateway

@Suite("A gateway may live below a path of a host that others share", .timeLimit(.minutes(2)))
struct BasePathTests {
  @Test(
    "A base path is written in one way",
    arguments: [
      ("", ""), ("/", ""), ("/x", "/x"), ("/x/", "/x"), ("/a/b-1._~", "/a/b-1._~"), ("x", nil), ("//", nil),
      ("//x", nil),
      ("/x//", nil), ("/a//b", nil), ("/.", nil), ("/a/../b", nil), ("/a?b", nil), ("/a#b", nil), ("/a b", nil),
      ("/%61", nil), ("/ä", nil), ("/a;b", nil), ("/v1", nil), ("/docs/x", nil), ("/v1x", "/v1x"),
      ("/" + String(repeating: "x", count: 128), nil),
    ] as [(String, String?)])
  func form(_ text: String, _ path: String?) {
    #expect(BasePath(text)?.text == path)
  }

  @Test("A base path that begins as the dashboard's own paths do is refused")
  func own() async throws {
    await #expect(throws: Problem.self) {
      try await withGateway({ ($0.basePath, $0.dashboardFolder) = ("/app/x", Document.site) }) { _ in }
    }
  }

  /// The requests of a proxy that keeps the path, and of one that strips it.
  @Test(
    "All that a client resolves has the path before it, whether requests come with it or not", arguments: ["/a/b", ""])
  func paths(_ prefix: String) async throws {
    try await withGateway({ ($0.basePath, $0.dashboardFolder) = ("/a/b", Document.site) }) { gateway in
      var anna = gateway.stranger
      let ticket = try await gateway.running.makePairingTicket(role: "member")
      #expect(ticket.localURL == "http://localhost:\(gateway.port)/a/b/#code=\(ticket.code)")
      #expect(ticket.url?.hasSuffix("/a/b/#code=\(ticket.code)") == true)
      let paired = try await anna.post("\(prefix)/v1/pairings", ["code": .text(ticket.code), "cookie": true])
      #expect(paired.status == 201 && paired["Location"]?.hasPrefix("/a/b/v1/clients/") == true)
      let cookie = try #require(paired["Set-Cookie"])
      #expect(cookie.contains("; Path=/a/b;") && !cookie.contains("__Host-"))
      anna.headers["Cookie"] = String(cookie.prefix { $0 != ";" })
      anna.headers["X-Vicinity-CSRF"] = paired.json["csrf"]?.text
      let about = try await anna.get("\(prefix)/v1/gateway").json
      #expect(about["basePath"] == "/a/b")
      #expect(about["urls"]?.list?.allSatisfy { $0.text?.hasSuffix("/a/b") == true } == true)
      var peers: [Answer] = []
      for name in ["Anna", "Ben"] {
        peers.append(try await anna.post("\(prefix)/v1/peers", ["displayName": .text(name)]))
        #expect(peers.last?["Location"] == "/a/b/v1/peers/\(peers.last?.id ?? "")")
      }
      let page = try await anna.get("\(prefix)/v1/peers?limit=1")
      #expect(page["Link"]?.hasPrefix("</a/b/v1/peers?after=") == true)
      for mistake in ["/a", "/a/bc/v1/gateway", "/a/b/a/b/v1/gateway", "\(prefix)//v1/gateway"] {
        #expect(try await anna.get(mistake).status == 404, "\(mistake)")
      }
      // A problem's type is a path of the contract, as all paths in bodies are.
      let missing = try await anna.get("\(prefix)/v1/peers/nobody")
      #expect(missing.json["type"] == "/problems/notFound")
      let events = try await anna.follow("\(prefix)/v1/peers")
      let snapshot = try #require(try await events.next()?.data["items"]?.list)
      #expect(peers.allSatisfy { snapshot.contains($0.json) })
    }
  }

  @Test("Its pages and its contract lead below the path")
  func pages() async throws {
    try await withGateway({ ($0.basePath, $0.dashboardFolder) = ("/a/b", Document.site) }) { gateway in
      let stranger = gateway.stranger
      for path in ["/a/b", "/a/b?x=y"] {
        let moved = try await stranger.get(path)
        #expect(moved.status == 308 && moved["Location"] == path.replacing("/a/b", with: "/a/b/"))
      }
      let page = try await stranger.get("/a/b/").text
      // The links of a page are relative.
      #expect(page.contains("<title>Vicinity</title>") && !page.contains("=\"/"))
      #expect(try await stranger.get("/a/b/app/main.js").status == 200)
      #expect(try await stranger.get("/a/b/openapi.json").json["servers"]?.list?.first?["url"] == "/a/b")
      let docs = try await stranger.get("/a/b/docs").text
      #expect(docs.contains("href=\"/a/b/docs/style.css\"") && docs.contains("href=\"/a/b/openapi.json\""))
      #expect(docs.contains("href=\"/a/b/problems/notConnected\"") && !docs.contains("href=\"/docs"))
      let problem = try await stranger.get("/a/b/problems/notFound", ["Accept": "text/html"]).text
      #expect(problem.contains("href=\"/a/b/docs\"") && problem.contains("href=\"/a/b/docs/style.css\""))
    }
  }

  @Test(
    "A redirect to HTTPS leads below the path, and HTTPS has a cookie of that path alone", arguments: ["/x", ""])
  func secure(_ prefix: String) async throws {
    try await withGateway({ ($0.basePath, $0.isHTTPSOnly, $0.trustedProxies) = ("/x", true, ["127.0.0.1"]) }) {
      gateway in
      let headers = ["X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "http"]
      let moved = try await gateway.stranger.get("\(prefix)/v1/gateway?a=b%20c", headers)
      #expect(moved["Location"] == "https://127.0.0.1:\(gateway.port)/x/v1/gateway?a=b%20c")
      let code = try await gateway.running.makePairingCode()
      let paired = try await gateway.stranger.post(
        "\(prefix)/v1/pairings", ["code": .text(code), "cookie": true],
        ["X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"])
      let cookie = try #require(paired["Set-Cookie"])
      #expect(cookie.hasPrefix("__Secure-vicinity-") && cookie.contains("; Path=/x;") && cookie.hasSuffix("; Secure"))
    }
  }
}
