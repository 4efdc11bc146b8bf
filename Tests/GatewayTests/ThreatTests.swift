internal import Foundation
internal import Notation
internal import Testing

@testable internal import Gateway

/// The attacks that `docs/threat-model.md` rules out, tried.
@Suite("Who means harm", .timeLimit(.minutes(3)), .serialized)
struct ThreatTests {
  @Test("A page of another site opens no WebSocket, cookie or not")
  func crossSiteSocket() async throws {
    try await withGateway { gateway in
      let paired = try await gateway.pair("member", [.init("cookie", true)])
      let cookie = try #require(paired["Set-Cookie"]?.split(separator: ";").first.map(String.init))
      for origin in ["https://evil.example", "null", "http://127.0.0.1:1"] {
        let head = gateway.stranger.head(
          "GET", "/v1/socket", nil, nil,
          [
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Origin": origin, "Cookie": cookie,
          ])
        let answer = try await onThread { [port = gateway.port] in
          let line = try Line(to: port)
          try line.write(head)
          return try line.readAnswer(to: "GET")
        }
        #expect(answer.status == 403, "\(origin): \(answer.status)")
      }
    }
  }

  @Test("A session is for its own client: to another one it is not there")
  func otherSessions() async throws {
    try await TwoClients.hold { meeting in
      let (anna, eve) = (meeting.anna, try await meeting.anna.gateway.client())
      _ = try await anna.client.ask("POST", "\(anna.path)/messages", Array("secret".utf8), type: "text/plain")
      for part in ["", "/members", "/messages", "/streams", "/resources", "/certificates"] {
        #expect(try await eve.get(anna.path + part).status == 404, "\(part)")
      }
      #expect(try await eve.get("/v1/sessions").json["items"] == [])
      #expect(try await eve.get("/v1/peers").json["items"]?.list?.contains { $0["id"] == .text(anna.peer) } == false)
      #expect(try await eve.ask("POST", "\(anna.path)/messages", [1], type: "text/plain").status == 404)
      #expect(try await eve.post("/v1/advertisers", ["peer": .text(anna.peer), "serviceType": "chat"]).status == 404)
      _ = try await eve.delete(anna.path)
      #expect(try await anna.client.get(anna.path).status == 200)
      let talk = try await Talk.connected(eve)
      let answer = try await talk.ask(["id": 1, "subscribe": ["channel": .text("\(anna.path)/messages")]])
      #expect(answer["problem"]?["status"] == 404)
      let seen = try await eve.get("/v1/events").text
      #expect(!seen.contains(anna.session))
    }
  }

  @Test(
    "P-HAB-2 No name leads out of where files belong",
    arguments: ["../evil", "..", "/etc/cron.d/evil", "a/../../evil", "..\\evil", "evil\u{0}.txt", ".vicinity-evil"])
  func traversal(_ name: String) async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let made = try await bert.client.post(
        "\(bert.path)/resources", ["name": .text(name), "to": .text(anna.peer), "size": 3])
      guard made.status == 201 else {
        #expect(made.status == 400 && made.json["field"] == "name", "\(made.text)")
        return
      }
      #expect(try await bert.client.ask("PUT", made.json["content"]?.text ?? "", [1, 2, 3]).status == 200)
      let came = try await anna.client.wait(in: "\(anna.path)/resources") {
        $0["direction"] == "incoming" && $0["state"] != "transferring"
      }
      let folder = anna.gateway.folder
      for escaped in ["\(folder)/evil", "\(folder)/received/evil", "\(folder)/../evil", "/etc/cron.d/evil"] {
        #expect(!FileManager.default.fileExists(atPath: escaped), "\(escaped): \(came.line)")
      }
    }
  }

  @Test(
    "No path leads out of the dashboard's folder",
    arguments: [
      "/../openapi/vicinity.json", "/app/../../openapi/vicinity.json", "/%2e%2e/openapi/vicinity.json",
      "/..%2fopenapi%2fvicinity.json", "//etc/passwd", "/app/%00", "/.git/config", "/app",
    ])
  func sitePaths(_ path: String) async throws {
    try await withGateway({ $0.dashboardFolder = Document.site }) { gateway in
      let answer = try await onThread {
        [head = gateway.stranger.head("GET", path, nil, nil, [:]), port = gateway.port] in
        let line = try Line(to: port)
        try line.write(head)
        return try line.readAnswer(to: "GET")
      }
      #expect((400..<500).contains(answer.status), "\(answer.status) \(answer.text.prefix(60))")
      #expect(try await gateway.stranger.get("/").status == 200)
    }
  }

  @Test("P-HAB-2 A line break in a name or a type makes no header")
  func headers() async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let wanted: JSON = ["name": "a\r\nX-Evil: 1\r\n\r\n<script>.txt", "to": .text(anna.peer), "size": 1]
      let made = try await bert.client.post("\(bert.path)/resources", wanted)
      if made.status == 201 {
        #expect(try await bert.client.ask("PUT", made.json["content"]?.text ?? "", [1]).status == 200)
        let came = try await anna.client.wait(in: "\(anna.path)/resources") { $0["state"] == "complete" }
        let answer = try await anna.client.get(came["content"]?.text ?? "")
        #expect(answer.status == 200 && answer["X-Evil"] == nil)
      } else {
        #expect(made.status == 400 && made.json["field"] == "name", "\(made.text)")
      }
      let type = try await bert.client.post(
        "\(bert.path)/resources",
        ["name": "b", "to": .text(anna.peer), "contentType": "text/plain\r\nX-Evil: 1", "size": 1])
      #expect(type.status == 400 && type.json["field"] == "contentType", "\(type.text)")
    }
  }

  @Test("P-HAB-2 Content of others is shown by no browser as a page, and runs nothing")
  func scripts() async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      for type in ["text/html", "image/svg+xml", "text/javascript", "application/xhtml+xml"] {
        let made = try await bert.client.make(
          "\(bert.path)/resources", ["name": .text(type), "to": .text(anna.peer), "contentType": .text(type)])
        #expect(try await bert.client.ask("PUT", made.json["content"]?.text ?? "", Array("<b>".utf8)).status == 200)
        let came = try await anna.client.wait(in: "\(anna.path)/resources") {
          $0["name"] == .text(type) && $0["state"] == "complete"
        }
        let answer = try await anna.client.get(came["content"]?.text ?? "")
        #expect(answer["Content-Type"] == "application/octet-stream" && answer["X-Content-Type-Options"] == "nosniff")
        #expect(answer["Content-Disposition"]?.hasPrefix("attachment;") == true)
        #expect(answer["Content-Security-Policy"] == "default-src 'none'; sandbox")
      }
    }
  }

  @Test("Compressed content is not decompressed")
  func bombs() async throws {
    try await withGateway { gateway in
      let anna = try await gateway.client()
      for coding in ["gzip", "deflate", "br", "gzip, gzip"] {
        let answer = try await anna.ask(
          "POST", "/v1/peers", Array("{}".utf8), type: "application/json", headers: ["Content-Encoding": coding])
        #expect(answer.status == 415 && answer.json["field"] == "Content-Encoding", "\(coding): \(answer.text)")
      }
    }
  }

  @Test(
    "A web address that leads to this machine is not asked",
    arguments: [
      "http://127.0.0.1:9/", "http://localhost:9/x", "http://[::1]/", "http://169.254.169.254/latest/",
      "file:///etc/passwd",
    ])
  func webAddresses(_ url: String) async throws {
    try await TwoClients.hold(["resources": "accept"]) { meeting in
      let (anna, bert) = (meeting.anna, meeting.bert)
      let made = try await bert.client.post(
        "\(bert.path)/resources", ["name": "x", "to": .text(anna.peer), "url": .text(url)])
      guard made.status == 201 else {
        #expect(made.status == 400 && made.json["field"] == "url", "\(made.text)")
        return
      }
      let ended = try await bert.client.wait(in: "\(bert.path)/resources") { $0["problem"] != nil }
      #expect(ended["state"] == "failed" && ended["problem"]?["type"] != "/problems/timedOut", "\(ended.line)")
    }
  }

  @Test("A token in a URL is none")
  func tokensInURLs() async throws {
    try await withGateway { gateway in
      let token = try await gateway.client().token ?? ""
      for query in ["token=\(token)", "access_token=\(token)"] {
        #expect(try await gateway.stranger.get("/v1/peers?\(query)").status == 401)
      }
    }
  }

  @Test("The page is framed by nobody, and runs what stands beside it only")
  func frames() async throws {
    try await withGateway({ $0.dashboardFolder = Document.site }) { gateway in
      let policy = try await gateway.stranger.get("/")["Content-Security-Policy"] ?? ""
      #expect(policy.contains("frame-ancestors 'none'") && policy.contains("default-src 'none'"), "\(policy)")
      #expect(!policy.contains("unsafe"))
    }
  }
}
