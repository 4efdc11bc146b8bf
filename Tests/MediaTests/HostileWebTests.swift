import Media
import Reactor
import Testing

/// Servers that are hostile, or broken.
@Suite struct HostileWebTests {
  private let rig: FetchRig

  init() throws { rig = try FetchRig() }

  private func outcome(of acts: [ScriptedServer.Act]) throws -> Collector {
    let server = try ScriptedServer(on: rig.reactor) { _ in acts }
    return try rig.outcome(server.url)
  }

  @Test(arguments: ["x", "x: y\r\n", "\r", "X-Long: "])
  func `an endless head is cut off`(_ line: String) throws {
    let outcome = try outcome(of: [.say("HTTP/1.1 200 OK\r\n"), .repeating(String(repeating: line, count: 100))])
    #expect(outcome.error == .headTooLong(host: "127.0.0.1") && outcome.content == nil)
  }

  @Test func `a head of many fields is refused`() throws {
    let fields = String(repeating: "a: b\r\n", count: 129)
    #expect(try outcome(of: [.say("HTTP/1.1 200 OK\r\n\(fields)\r\n")]).error == .headTooLong(host: "127.0.0.1"))
  }

  @Test(arguments: [
    "", "SSH-2.0-x\r\n", "HTTP/2 200\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1\r\n",
    "HTTP/1.1 099 X\r\n",
    "HTTP/1.1 200 OK\r\n folded: x\r\n", "HTTP/1.1 200 OK\r\nname : x\r\n", "HTTP/1.1 200 OK\r\n: x\r\n",
    "HTTP/1.1 200 OK\r\nno colon\r\n", "HTTP/1.1 200 OK\r\na: b\u{0}c\r\n", "HTTP/1.1 200 OK\r\na: b\rc\r\n",
    "HTTP/1.1 301 Gone\r\n",
    "HTTP/1.1 301 Gone\r\nLocation: /a\r\nLocation: /b\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n", "HTTP/1.1 200 OK\r\nContent-Length: \r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n",
    "HTTP/1.1 206 Part\r\nContent-Range: bytes 0-1/2\r\nContent-Length: 2\r\n",
  ])
  func `an answer that is not HTTP as it should be is refused`(_ head: String) throws {
    let outcome = try outcome(of: [.say("\(head)\r\n"), .hangUp])
    guard case .malformed = outcome.error else {
      Issue.record("\(outcome.errors)")
      return
    }
    #expect(outcome.content == nil)
  }

  @Test(arguments: [
    "g\r\n", "\r\n", "-1\r\n", "+1\r\n", "0x1\r\nx", "1 1\r\nx", "1\r\nxy\r\n", "1\r\nx0\r\n", "ffffffffffffffff\r\nx",
    "0000000000000001\r\nx\r\n", "1\r\nx\r\n\r\n",
  ])
  func `chunks that do not add up are refused`(_ chunks: String) throws {
    let outcome = try outcome(of: [.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)"), .hangUp])
    guard case .malformed = outcome.error else {
      Issue.record("\(outcome.errors)")
      return
    }
  }

  @Test(arguments: ["1;" + String(repeating: "x", count: 100), "0\r\n" + String(repeating: "x: y\r\n", count: 100)])
  func `endless lines between chunks are cut off`(_ line: String) throws {
    let outcome = try outcome(of: [.say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), .repeating(line)])
    guard case .malformed = outcome.error else {
      Issue.record("\(outcome.errors)")
      return
    }
  }

  @Test(arguments: ["Content-Length: 10", "Transfer-Encoding: chunked"])
  func `P-RES-5 Content that ends early is never taken for complete`(_ length: String) throws {
    for act in [ScriptedServer.Act.hangUp, .reset] {
      let rig = try FetchRig()
      let body = length.hasPrefix("T") ? "5\r\nhello\r\n" : "hello"
      let server = try ScriptedServer(on: rig.reactor) { _ in
        [.say("HTTP/1.1 200 OK\r\n\(length)\r\n\r\n\(body)"), act]
      }
      let outcome = try rig.outcome(server.url)
      guard case .cutShort(_, let received, _) = outcome.error else {
        Issue.record("\(outcome.errors)")
        return
      }
      #expect(received == UInt64(outcome.bytes.count))
    }
  }

  @Test func `a connection that breaks before the answer is told as that`() throws {
    for acts in [[ScriptedServer.Act.hangUp], [.reset], [.say("HTTP/1.1 2"), .hangUp]] {
      let rig = try FetchRig()
      let server = try ScriptedServer(on: rig.reactor) { _ in acts }
      #expect(try rig.outcome(server.url).error == .cutShort(host: "127.0.0.1", received: 0, size: nil))
    }
  }

  @Test(arguments: [
    "Content-Range: bytes 3-9/10\r\nContent-Length: 7", "Content-Range: bytes 4-9/10\r\nContent-Length: 7",
    "Content-Range: bytes 4-3/10\r\nContent-Length: 0", "Content-Range: bytes 4-10/10\r\nContent-Length: 7",
    "Content-Range: items 4-9/10\r\nContent-Length: 6", "Content-Length: 6",
    "Content-Range: bytes 4-5/10\r\nTransfer-Encoding: chunked",
  ])
  func `a part that is not the one asked for is refused`(_ fields: String) throws {
    let body = fields.contains("chunked") ? "6\r\n456789\r\n0\r\n\r\n" : "3456789"
    let server = try ScriptedServer(on: rig.reactor, saying: "HTTP/1.1 206 Part\r\n\(fields)\r\n\r\n\(body)")
    let outcome = try rig.outcome(server.url, from: .init(at: 4, of: "\"a\""))
    guard case .malformed = outcome.error else {
      Issue.record("\(outcome.errors)")
      return
    }
    #expect(outcome.bytes.isEmpty)
  }

  @Test func `a part that is shorter than what was asked for is not taken for all of it`() throws {
    let answer = "HTTP/1.1 206 Part\r\nContent-Range: bytes 4-5/10\r\nContent-Length: 2\r\n\r\n45"
    let server = try ScriptedServer(on: rig.reactor, saying: answer)
    let outcome = try rig.outcome(server.url, from: .init(at: 4, of: "\"a\""))
    #expect(outcome.error == .cutShort(host: "127.0.0.1", received: 6, size: 10) && outcome.text == "45")
  }

  @Test func `what is too large is not begun with, or ended where that shows`() throws {
    rig.options.bytesMax = 1_000
    let told = try outcome(of: [
      .say("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"), .repeating(String(repeating: "x", count: 100)),
    ])
    #expect(told.error == .tooLarge(bytesMax: 1_000) && told.content == nil)
    for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n"] {
      let rig = try FetchRig()
      rig.options.bytesMax = 1_000
      let server = try ScriptedServer(on: rig.reactor) { _ in
        [.say(head), .repeating(String(repeating: "x", count: 100))]
      }
      let untold = try rig.outcome(server.url)
      #expect(untold.error == .tooLarge(bytesMax: 1_000) && untold.bytes.count <= 1_000)
    }
  }

  @Test func `whoever is slow on purpose is given up`() throws {
    rig.options.answerTime = .milliseconds(1_000)
    rig.options.idleTime = .milliseconds(1_500)
    rig.options.wholeTime = .milliseconds(4_000)
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    let server = try ScriptedServer(on: rig.reactor) { request in
      switch request.split(separator: " ")[1] {
      case "/silent": []
      case "/head": [.say("HTTP/1.1 200 OK\r\n"), .waitAndSay(.milliseconds(40), "x: y\r\n")]
      case "/idle": [.say(head + "begun")]
      default: [.say(head), .waitAndSay(.milliseconds(40), "x")]
      }
    }
    let outcomes = try ["/silent", "/head", "/idle", "/drip"].map { try rig.fetch(server.url + $0) }
    rig.run()
    let waits: [WebError.Wait] = [.answer, .answer, .bytes, .end]
    #expect(outcomes.map(\.error) == waits.map { .timedOut(host: "127.0.0.1", $0) })
  }

  @Test func `time in which nothing is wanted is not held against the server`() throws {
    rig.options.idleTime = .milliseconds(150)
    let server = try ScriptedServer(on: rig.reactor, saying: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    let collector = try rig.fetch(server.url, appetite: 0)
    collector.began = { [rig] fetch in
      fetch.want(2)
      rig.reactor.schedule(after: .milliseconds(400)) { fetch.want(3) }
    }
    rig.run()
    #expect(collector.isWhole && collector.text == "hello")
  }

  @Test func `redirects in a circle end`() throws {
    let server = try ScriptedServer(on: rig.reactor) { _ in [.say("HTTP/1.1 302 Go\r\nLocation: /again\r\n\r\n")] }
    #expect(try rig.outcome(server.url).error == .tooManyRedirects(max: 8))
    #expect(server.requests.count == 9)
  }

  @Test(arguments: [
    ("http://169.254.169.254/latest", "169.254.169.254:80"), ("http://0.0.0.0:1/", "0.0.0.0:1"),
    ("http://[::ffff:169.254.1.1]/", "169.254.1.1:80"), ("http://[fe80::1]/", "[fe80::1]:80"),
    ("http://2851995905/", "169.254.1.1:80"), ("http://0xa9.0376.1/", "169.254.0.1:80"),
    ("//224.0.0.1", "224.0.0.1:80"),
  ])
  func `a redirect to an address that is not allowed is not followed`(_ location: String, _ address: String) throws {
    let server = try ScriptedServer(on: rig.reactor, saying: "HTTP/1.1 302 Go\r\nLocation: \(location)\r\n\r\n")
    guard case .forbidden(_, let refused) = try rig.outcome(server.url).error else {
      Issue.record("it was followed")
      return
    }
    #expect(refused.description == address)
  }

  @Test(arguments: ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0"])
  func `this computer itself is not asked, by whatever name`(_ host: String) throws {
    rig.options.policy = AddressPolicy()
    let server = try ScriptedServer(on: rig.reactor, saying: "HTTP/1.1 200 OK\r\n\r\nsecret")
    let outcome = try rig.outcome("http://\(host):\(server.port)/")
    guard case .forbidden = outcome.error else {
      Issue.record("\(outcome.errors)")
      return
    }
    #expect(server.requests.isEmpty)
  }

  @Test func `this computer's own address on a network is this computer, too`() throws {
    let own = NetworkInterface.addresses(port: 9)
    #expect(!own.isEmpty)
    for address in own {
      #expect(AddressPolicy.kind(of: address) == .loopback && !AddressPolicy().allows(address), "\(address)")
    }
  }

  @Test(arguments: [
    ("file:///etc/passwd", "unsupported"), ("ftp://x/", "unsupported"), ("http://user@127.0.0.1/", "user name"),
    ("http://127.0.0.1/a b", "space"), ("http://127.0.0.1/a\u{1}", "control character"), ("http:///", "no name"),
    ("http://127.0.0.1:0/", "port"), ("http://a\u{E4}.example/", "xn--"),
  ])
  func `a redirect to what is no URL of the web is not followed`(_ location: String, _ word: String) throws {
    let server = try ScriptedServer(on: rig.reactor, saying: "HTTP/1.1 302 Go\r\nLocation: \(location)\r\n\r\n")
    let error = try rig.outcome(server.url).error
    if word == "unsupported" {
      #expect(error == .unsupported(scheme: String(location.prefix { $0 != ":" })))
    } else {
      #expect(error.map { "\($0)" }?.contains(word) == true, "\(error as Any)")
    }
  }

  @Test(arguments: [101, 400, 401, 403, 404, 429, 500, 503, 204, 304, 300, 999])
  func `a status that brings nothing is told`(_ status: Int) throws {
    let outcome = try outcome(of: [.say("HTTP/1.1 \(status) X\r\nContent-Length: 2\r\n\r\nno"), .hangUp])
    #expect(outcome.error == .refused(host: "127.0.0.1", status: status) && outcome.bytes.isEmpty)
  }

  @Test func `nobody there, and no such name, are told`() throws {
    // A listener that is closed again leaves a port where nobody is.
    let port = try Listener(at: .loopback(port: 0), on: rig.reactor) { _ in }.address.port
    let there = try rig.fetch("http://127.0.0.1:\(port)/")
    let named = try rig.fetch("http://no-such-host.invalid/")
    rig.run()
    guard case .unreachable(_, let error) = there.error else {
      Issue.record("\(there.errors)")
      return
    }
    #expect(error.name == "ECONNREFUSED")
    switch named.error {
    case .unknownName(let host), .lookupFailed(let host, _): #expect(host == "no-such-host.invalid")
    default: Issue.record("\(named.errors)")
    }
  }

  @Test func `interim answers without end are cut off`() throws {
    let outcome = try outcome(of: [.repeating("HTTP/1.1 100 Continue\r\n\r\n")])
    #expect(outcome.error == .malformed(host: "127.0.0.1", "it goes on announcing an answer"))
  }
}
