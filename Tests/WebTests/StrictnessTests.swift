import Testing
import Web

/// Requests that are refused in front of the libraries, each on a connection of its own, and on one that is in use.
@Suite(.serialized) struct StrictnessTests {
  private let rig: WebRig

  init() throws { rig = try WebRig() }

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let request: String
    let status: Int

    init(_ name: String, _ request: String, _ status: Int) {
      (testDescription, self.request, self.status) = (name, request, status)
    }
  }

  static let cases: [Case] = [
    Case(
      "both lengths", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    Case(
      "two lengths", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 400),
    Case(
      "other lengths", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
    Case("a signed length", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", 400),
    Case("a tab at a length", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\t\r\n\r\n", 400),
    Case("a tab at an encoding", "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\tchunked\r\n\r\n", 400),
    Case("a list as length", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", 400),
    Case(
      "a huge length", "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
    Case("another encoding", "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
    Case(
      "two encodings", "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    Case("chunks in HTTP 1.0", "POST /echo HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
    Case("no host", "GET / HTTP/1.1\r\n\r\n", 400),
    Case("two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
    Case("an empty host", "GET / HTTP/1.1\r\nHost: \r\n\r\n", 400),
    Case("no host's name", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    Case("a host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    Case("a folded header", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n", 400),
    Case("a fold first", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    Case("a space before the colon", "GET / HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n", 400),
    Case("no colon", "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
    Case("no name", "GET / HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n", 400),
    Case("a zero in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\u{0}2\r\n\r\n", 400),
    Case("a control in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\u{1}2\r\n\r\n", 400),
    Case("a return in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: 1\r2\r\n\r\n", 400),
    Case("an odd name", "GET / HTTP/1.1\r\nHost: a\r\nX(1): 1\r\n\r\n", 400),
    Case("a bare line feed", "GET / HTTP/1.1\nHost: a\r\n\r\n", 400),
    Case("two spaces", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("HTTP 2", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    Case("HTTP 0.9", "GET /\r\n\r\n", 400),
    Case("no method", " / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("no HTTP", "\u{2}\u{3}\r\n\r\n", 400),
    Case("a zero in the path", "GET /a%00b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("half a percent", "GET /a%4 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("no digits", "GET /a%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("no UTF-8", "GET /a%ff HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("overlong UTF-8", "GET /%c0%af HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("dots", "GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("encoded dots", "GET /a/%2e%2E/b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("one dot", "GET /./b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("a fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("another's place", "GET ftp://a/b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("a tunnel", "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("another's place by HTTP", "GET http://other/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("another's port", "GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("a user at the place", "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("a place without a host", "GET http://a/ HTTP/1.0\r\n\r\n", 400),
    Case("an empty place", "GET http:/// HTTP/1.1\r\nHost:\r\n\r\n", 400),
    Case("two origins", "GET / HTTP/1.1\r\nHost: a\r\nOrigin: http://a\r\nOrigin: http://a\r\n\r\n", 400),
    Case("line feeds alone", "GET / HTTP/1.1\nHost: a\n\n", 400),
    Case("a zero in the target", "GET /\u{0}x HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case("a folded encoding", "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400),
    Case("a raw byte", "GET /é HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    Case(
      "an old WebSocket",
      "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
      426),
    Case(
      "a WebSocket without key",
      "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\r\n",
      400),
    Case(
      "a WebSocket with a bad key",
      "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n",
      400),
    Case(
      "a WebSocket with a body",
      "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 1\r\n\r\n",
      400),
    Case(
      "a refused WebSocket",
      "GET /other HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
      404),
  ]

  @Test(arguments: cases) func `it is refused, with a reason, and the connection ends`(_ one: Case) throws {
    let client = try rig.connect()
    try client.send(one.request)
    let answer = try client.answer()
    #expect(answer.status == one.status, "\(answer.text)")
    #expect(answer["connection"] == "close")
    #expect(!answer.body.isEmpty)
    if answer.status == 426 { #expect(answer["sec-websocket-version"] == "13" && answer["upgrade"] == "websocket") }
    #expect(try client.isAtEnd())
    #expect(try rig.onHandler(\.begun) == 0)
  }

  @Test(arguments: cases) func `on a connection in use it is refused in the same way`(_ one: Case) throws {
    for others in [1, 2, 20] {
      let client = try rig.connect()
      let before = try rig.onHandler(\.begun)
      try client.send(String(repeating: "GET / HTTP/1.1\r\nHost: here\r\n\r\n", count: others) + one.request)
      for _ in 0..<others { #expect(try client.answer().status == 200) }
      let answer = try client.answer()
      #expect(answer.status == one.status, "\(answer.text)")
      #expect(answer["connection"] == "close" && !answer.body.isEmpty)
      #expect(Set(answer.fields.map(\.name)).count == answer.fields.count, "\(answer.fields)")
      #expect(try client.isAtEnd())
      #expect(try rig.onHandler(\.begun) == before + others)
    }
  }

  @Test(arguments: [
    "2;a=\(String(repeating: "a", count: 20_000))", "2\nab\r\n", "2 \r\nab\r\n", "2\r\nabc\r\n", "2\r\nab\n0\r\n\r\n",
    "-2\r\nab\r\n",
    "0x2\r\nab\r\n", "2\r\nab\r0\r\n\r\n", "10000000000000002\r\nab\r\n", "2;\r\nab\r\n", "\r\n",
    "2\r\nab\r\n0\r\nX: 1\n\r\n",
    "2\r\nab\r\n0\r\nX : 1\r\n\r\n", "2\r\nab\r\n0\r\nContent-Length: 2\r\n\r\n",
    "2\r\nab\r\n0\r\n\(String(repeating: "X: 1\r\n", count: 101))\r\n",
    "2\r\nab\r\n0\r\nX: \(String(repeating: "x", count: 9_000))\r\n\r\n",
  ])
  func `a body whose chunks are not sound is refused, whoever reads it`(_ body: String) throws {
    for path in ["echo", "upload", "live"] {
      let client = try rig.connect()
      for _ in 0..<2 {
        try client.send(
          "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;a=\"b\"\r\nab\r\n0\r\nX: y\r\n\r\n")
        #expect(try client.answer().text == "ab")
      }
      try client.send("POST /\(path) HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\(body)")
      let answer = try client.answer()
      #expect([400, 431].contains(answer.status) && answer["connection"] == "close")
      #expect(try client.isAtEnd())
    }
    #expect(try rig.isEventuallyEmpty)
    #expect(try rig.meter { $0.idleTurns } == 0)
  }

  @Test func `a request whose target fills its head is answered`() throws {
    let client = try rig.connect()
    let target = "/head?" + (0..<700).map { "to=\($0)" }.joined(separator: "&")
    for _ in 0..<3 {
      try client.send("GET \(target) HTTP/1.1\r\nHost: here\r\n\r\n")
      #expect(try client.answer().text.contains("to=699"))
    }
  }

  @Test func `a head that is too large, or has too many headers, is refused`() throws {
    for (head, status) in [
      ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n", 431),
      ("GET /\(String(repeating: "x", count: 20_000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
      ("GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: 1\r\n", count: 101) + "\r\n", 431),
    ] {
      #expect(try rig.ask(head).status == status)
    }
    #expect(try rig.onHandler(\.begun) == 0)
  }

  @Test func `the largest head with the most headers is answered, again and again`() throws {
    let client = try rig.connect()
    let limits = WebLimits()
    let lines = (1..<limits.headerFieldsMax).map { "X\($0): " }
    let start = "GET / HTTP/1.1\r\nHost: here\r\n"
    let room = limits.headBytesMax - start.utf8.count - 2 - lines.map { $0.utf8.count + 2 }.reduce(0, +)
    let value = String(repeating: "x", count: room / lines.count)
    for _ in 0..<3 {
      try client.send(start + lines.map { $0 + value + "\r\n" }.joined() + "\r\n")
      #expect(try client.answer().status == 200)
    }
  }

  @Test func `a head that comes byte by byte is read`() throws {
    let client = try rig.connect()
    for byte in "\r\nGET /head?a=b HTTP/1.1\r\nHost: here\r\nX: y\r\n\r\n".utf8 { try client.send([byte]) }
    let answer = try client.answer()
    #expect(answer.text.contains(#"["head"] ["a=b"] ["y"]"#))
  }

  @Test func `the whole address of the server may stand for the path`() throws {
    let answer = try rig.ask("GET http://here:80/head/x?y HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(answer.text.contains(#"get ["head", "x"] ["y="]"#))
  }
}
