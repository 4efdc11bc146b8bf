internal import Notation
internal import Reactor
internal import Testing

@testable internal import Gateway
@testable internal import Web

@Suite("A proxy is believed where the operator trusts it, and nowhere else", .timeLimit(.minutes(2)))
struct ProxyTests {
  private static func head(_ headers: [(String, String)], from client: String) throws -> Head {
    var raw = RawHead(method: "GET", target: "/v1/gateway", version: "HTTP/1.1")
    raw.headers.append("Host", "inner:7777")
    for (name, value) in headers { raw.headers.append(name, value) }
    return try Head(raw, from: Origin(client: try #require(SocketAddress(client, port: 5)), isSecure: false))
  }

  @Test(
    "The address that a trusted proxy names is the client's, behind any number of trusted proxies",
    arguments: [
      ([("X-Forwarded-For", "203.0.113.7")] as [(String, String)], "203.0.113.7", false, "inner:7777"),
      ([("X-Forwarded-For", "203.0.113.7:4711"), ("X-Forwarded-Proto", "https")], "203.0.113.7", true, "inner:7777"),
      // Entries that a client has forged precede those of the proxies.
      (
        [("X-Forwarded-For", "127.0.0.1, 203.0.113.7, 10.1.1.1"), ("X-Forwarded-Proto", "https, http, https")],
        "203.0.113.7", false, "inner:7777"
      ),
      ([("X-Forwarded-For", "127.0.0.1"), ("X-Forwarded-For", "2001:db8::7")], "2001:db8::7", false, "inner:7777"),
      (
        [("X-Forwarded-For", "203.0.113.7"), ("X-Forwarded-Host", "box.example")], "203.0.113.7", false, "box.example"
      ),
      (
        [("Forwarded", "for=1.1.1.1;proto=https, For=\"[2001:db8::7]:4711\"; Proto=https;host=\"box.example:8443\"")],
        "2001:db8::7", true, "box.example:8443"
      ),
      (
        [("Forwarded", "for=203.0.113.7;proto=http"), ("Forwarded", "for=10.9.9.9")], "203.0.113.7", false, "inner:7777"
      ),
      ([("X-Forwarded-For", "10.1.1.1")], "10.1.1.1", false, "inner:7777"),
    ])
  func chains(_ headers: [(String, String)], _ client: String, _ isSecure: Bool, _ host: String) throws {
    let proxies = try TrustedProxies(["127.0.0.1", "10.0.0.0/8"])
    let head = try proxies.read(Self.head(headers, from: "127.0.0.1"))
    #expect(head.client.hostText == client && head.isSecure == isSecure && head.headers["Host"] == host)
    #expect(!head.isPassedOn)
    // It may be read again, which changes nothing, and from anybody else it means nothing.
    #expect(try proxies.read(head).client == head.client)
    let other = try proxies.read(Self.head(headers, from: "192.0.2.1"))
    #expect(other.client.hostText == "192.0.2.1" && !other.isSecure && other.isPassedOn)
  }

  @Test(
    "An ambiguous header, or one that names nobody, is refused",
    arguments: [
      [("X-Forwarded-For", "203.0.113.7"), ("Forwarded", "for=203.0.113.7;proto=https")] as [(String, String)],
      [("X-Forwarded-Proto", "https")], [("X-Forwarded-For", "unknown")], [("Forwarded", "proto=https")],
      [("Forwarded", "for=203.0.113.7;for=127.0.0.1")], [("Forwarded", "for")],
      [("X-Forwarded-For", "203.0.113.7"), ("X-Forwarded-Proto", "gopher")],
      [("X-Forwarded-For", "203.0.113.7"), ("X-Forwarded-Host", "a b")],
      [("X-Forwarded-For", [String](repeating: "203.0.113.7", count: 33).joined(separator: ","))],
    ])
  func refused(_ headers: [(String, String)]) throws {
    let proxies = try TrustedProxies(["127.0.0.1"])
    let head = try Self.head(headers, from: "127.0.0.1")
    #expect(throws: WebFault.self) { try proxies.read(head) }
  }

  @Test("Operators come in through it over HTTPS alone, with cookies for HTTPS; without trust nobody does")
  func operators() async throws {
    func pair(_ gateway: TestGateway, _ headers: [String: String]) async throws -> Answer {
      let code = try await gateway.running.makePairingCode()
      return try await gateway.stranger.post("/v1/pairings", ["code": .text(code), "cookie": true], headers)
    }
    let (open, safe) = (
      ["X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "http"],
      ["X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"]
    )
    try await withGateway({ $0.trustedProxies = ["127.0.0.1"] }) { gateway in
      let refused = try await pair(gateway, open)
      #expect(refused.status == 403 && refused.json["rule"] == "privateConnection")
      let taken = try await pair(gateway, safe)
      #expect(taken.status == 201 && taken["Set-Cookie"]?.contains("__Host-") == true)
      let own = try await pair(gateway, [:])
      #expect(own.status == 201)
    }
    try await withGateway { gateway in
      for headers in [open, safe] {
        let refused = try await pair(gateway, headers)
        #expect(refused.json["rule"] == "privateConnection")
      }
    }
  }

  @Test("With HTTPS alone, what others could read is sent there; this machine's own is answered")
  func secureOnly() async throws {
    try await withGateway({ ($0.trustedProxies, $0.isHTTPSOnly, $0.hostNames) = (["127.0.0.1"], true, ["box.example"]) }
    ) {
      gateway in
      let url = "http://127.0.0.1:\(gateway.port)/v1/gateway?a=b"
      func ask(_ headers: String...) async throws -> String {
        try await curl(
          ["-o", "/dev/null", "-w", "%{http_code} %{redirect_url}"] + headers.flatMap { ["-H", $0] } + [url])
      }
      let moved = try await ask("X-Forwarded-For: 203.0.113.7", "X-Forwarded-Proto: http", "Host: box.example")
      #expect(moved == "308 https://box.example/v1/gateway?a=b")
      // The redirect leads to no host but this gateway.
      #expect(try await ask("X-Forwarded-For: 203.0.113.7", "Host: evil.example").hasPrefix("421"))
      #expect(try await ask("X-Forwarded-For: 203.0.113.7", "X-Forwarded-Proto: https").hasPrefix("400"))
      #expect(try await gateway.stranger.get("/v1/gateway").status == 200)
      #expect(await gateway.running.web.urls.allSatisfy { $0.hasPrefix("https:") })
      let socket = [
        "-i", "-H", "X-Forwarded-For: 203.0.113.7", "-H", "Upgrade: websocket", "-H", "Connection: Upgrade", "-H",
        "Sec-WebSocket-Version: 13", "-H", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "http://127.0.0.1:\(gateway.port)/v1/socket",
      ]
      #expect(try await curl(socket).contains("privateConnection"))
    }
  }
}
