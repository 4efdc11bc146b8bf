import Media
import Reactor
import Testing

/// Well-behaved servers.
@Suite struct WebFetchTests {
  private let rig: FetchRig

  init() throws { rig = try FetchRig() }

  private func server(_ answer: String) throws -> ScriptedServer { try ScriptedServer(on: rig.reactor, saying: answer) }

  @Test func `P-RES-1 Content with a length is fetched, with its name, type and size`() throws {
    let server = try server(
      "HTTP/1.1 200 OK\r\nContent-Type: Text/Plain; charset=utf-8\r\nContent-Length: 5\r\nETag: \"a1\"\r\n\r\nhellomore"
    )
    let outcome = try rig.outcome("\(server.url)/a/some%20words.txt?x=1#y")
    #expect(outcome.isWhole && outcome.text == "hello")
    let content = try #require(outcome.content)
    #expect(content.name == "some words.txt" && content.type == "text/plain" && content.size == 5)
    #expect(content.offset == 0 && content.version == "\"a1\"")
    #expect(
      server.requests == [
        """
        GET /a/some%20words.txt?x=1 HTTP/1.1\r
        Host: 127.0.0.1:\(server.port)\r
        User-Agent: vicinity\r
        Accept: */*\r
        Accept-Encoding: identity\r
        Connection: close\r
        \r

        """
      ])
  }

  @Test(arguments: [1, 2, 3, 7, .max])
  func `chunks are put together, however they come and are wanted`(_ appetite: Int) throws {
    let chunks = "4\r\nWiki\r\n6;a=\"b\"\r\npedia \r\nE \r\nin \r\n\r\nchunks.\r\n0\r\nX: y\r\n\r\nmore"
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    for act in [ScriptedServer.Act.say(head + chunks), .drip(head + chunks)] {
      let rig = try FetchRig()
      let server = try ScriptedServer(on: rig.reactor) { _ in [act] }
      let outcome = try rig.outcome(server.url, appetite: appetite)
      #expect(outcome.isWhole && outcome.text == "Wikipedia in \r\n\r\nchunks." && outcome.content?.size == nil)
    }
  }

  @Test func `what has no length ends with its connection`() throws {
    let server = try server("HTTP/1.0 200 Fine\nServer: old\n\nsome\nwords")
    let outcome = try rig.outcome(server.url)
    #expect(outcome.isWhole && outcome.text == "some\nwords" && outcome.content?.size == nil)
    #expect(outcome.content?.name == "download" && outcome.content?.type == nil && outcome.content?.version == nil)
  }

  @Test func `nothing at all is a file too`() throws {
    for length in ["Content-Length: 0", "Transfer-Encoding: chunked"] {
      let rig = try FetchRig()
      let body = length.hasPrefix("T") ? "0\r\n\r\n" : ""
      let server = try ScriptedServer(on: rig.reactor) { _ in [.say("HTTP/1.1 200 \r\n\(length)\r\n\r\n\(body)")] }
      let outcome = try rig.outcome(server.url, appetite: 1)
      #expect(outcome.isWhole && outcome.bytes.isEmpty)
    }
  }

  @Test func `no more comes than is wanted, and a server that is not read from has to wait`() throws {
    let megabyte = String(repeating: "0123456789abcdef", count: 1 << 16)
    let size = 64 << 20
    let server = try ScriptedServer(on: rig.reactor) { _ in
      [.say("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n"), .repeating(megabyte)]
    }
    let collector = try rig.fetch(server.url, appetite: 0)
    var checks = 0
    collector.began = { [rig] fetch in
      // Each time that no more is sent, a little more is wanted.
      var (wanted, before) = (0, -1)
      func look() {
        #expect(collector.bytes.count <= wanted)
        // The system's buffers hold some, the fetch hardly any.
        #expect(server.sent < 16 << 20)
        guard collector.bytes.count == wanted, server.sent == before else {
          before = server.sent
          rig.reactor.schedule(after: .milliseconds(20), look)
          return
        }
        checks += 1
        if checks > 5 { return fetch.cancel() }
        wanted += 100_000
        fetch.want(100_000)
        rig.reactor.schedule(after: .milliseconds(20), look)
      }
      look()
    }
    rig.run()
    #expect(checks == 6 && collector.bytes.count == 500_000 && collector.error == .cancelled)
  }

  @Test func `a great deal comes whole, in portions as wanted`() throws {
    let megabyte = String(repeating: "0123456789abcdef", count: 1 << 16)
    let server = try ScriptedServer(on: rig.reactor) { _ in
      [.say("HTTP/1.1 200 OK\r\nContent-Length: \(4 << 20)\r\n\r\n")] + Array(repeating: .say(megabyte), count: 4)
    }
    let outcome = try rig.outcome(server.url, appetite: 50_000)
    #expect(outcome.isWhole && outcome.bytes == Array(String(repeating: megabyte, count: 4).utf8))
  }

  @Test func `redirects are followed, of every kind and form`() throws {
    let server = try ScriptedServer(on: rig.reactor) { request in
      func redirect(_ status: Int, _ location: String) -> [ScriptedServer.Act] {
        [.say("HTTP/1.1 \(status) Go\r\nLocation: \(location)\r\nContent-Length: 3\r\n\r\nno!")]
      }
      switch request.split(separator: " ")[1] {
      case "/a/b?q": return redirect(301, "../c/./d")
      case "/c/d": return redirect(302, "?x")
      case "/c/d?x": return redirect(303, "e%20f#part")
      case "/c/e%20f": return redirect(307, "/g/h/../../..")
      case "/":
        return redirect(308, "//127.0.0.1:\(request.split(separator: "1:")[1].prefix(while: \.isNumber))/end.txt")
      default: return [.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")]
      }
    }
    let outcome = try rig.outcome("\(server.url)/a/b?q")
    #expect(outcome.isWhole && outcome.text == "ok" && outcome.content?.name == "end.txt")
    #expect(server.paths == ["/a/b?q", "/c/d", "/c/d?x", "/c/e%20f", "/", "/end.txt"])
    #expect(outcome.content?.url.description == "\(server.url)/end.txt")
  }

  @Test func `P-RES-5 A truncated fetch resumes at its end, if the content is unchanged`() throws {
    var present = "\"one\""
    func answer(_ request: String) -> [ScriptedServer.Act] {
      let tag = "ETag: \(present)\r\n"
      guard request.contains("If-Range: \(present)\r\n"),
        let first = request.firstMatch(of: #/Range: bytes=(\d+)-\r\n/#).flatMap({ Int($0.output.1) })
      else { return [.say("HTTP/1.1 200 OK\r\n\(tag)Content-Length: 10\r\n\r\n0123"), .hangUp] }
      if first >= 10 { return [.say("HTTP/1.1 416 No\r\nContent-Range: bytes */10\r\n\r\n")] }
      let range = "Content-Range: bytes \(first)-9/10\r\nContent-Length: \(10 - first)\r\n"
      return [.say("HTTP/1.1 206 Part\r\n\(tag)\(range)\r\n\("0123456789".dropFirst(first))")]
    }
    func fetch(from resumption: WebFetch.Resumption? = nil) throws -> Collector {
      let rig = try FetchRig()
      let server = try ScriptedServer(on: rig.reactor, answer)
      return try rig.outcome(server.url, from: resumption)
    }
    let first = try fetch()
    #expect(first.error == .cutShort(host: "127.0.0.1", received: 4, size: 10) && first.text == "0123")
    let version = first.content?.version
    let rest = try fetch(from: .init(at: 4, of: version))
    #expect(rest.isWhole && rest.text == "456789" && rest.content?.offset == 4 && rest.content?.size == 10)
    let nothing = try fetch(from: .init(at: 10, of: version))
    #expect(nothing.isWhole && nothing.text == "" && nothing.content?.offset == 10)
    #expect(try fetch(from: .init(at: 11, of: version)).error == .nothingThere(offset: 11))
    present = "\"two\""
    let anew = try fetch(from: .init(at: 4, of: version))
    #expect(anew.content?.offset == 0 && anew.text == "0123")
  }

  @Test func `a version that says nothing certain is none to go on by`() {
    for version in [nil, "", "\"", "W/\"a\"", "\"a\r\nX: y\"", "\"a b\"", "a", "Tue, 15 Nov 1994 12:45:26 GMT"] {
      #expect(WebFetch.Resumption(at: 1, of: version) == nil)
    }
    #expect(WebFetch.Resumption(at: 1, of: "\"a-b_1\"") != nil)
  }

  @Test func `interim answers are passed over`() throws {
    let server = try server("HTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 100 \r\n\r\nHTTP/1.1 200 \r\n\r\nok")
    #expect(try rig.outcome(server.url).text == "ok")
  }

  @Test func `many at a time do not disturb each other`() throws {
    let server = try ScriptedServer(on: rig.reactor) { request in
      let path = String(request.split(separator: " ")[1])
      return [.say("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n"), .drip(path)]
    }
    let collectors = try (0..<12).map { try rig.fetch("\(server.url)/path\($0)") }
    rig.run()
    #expect(collectors.map(\.text) == (0..<12).map { "/path\($0)" })
  }

  @Test func `a cancelled fetch ends as cancelled, once, wherever it is`() throws {
    // Much at once: the server sends it until the sockets are full.
    let endless = String(repeating: "endless ", count: 8_192)
    let server = try ScriptedServer(on: rig.reactor) { request in
      request.contains("/silent") ? [] : [.say("HTTP/1.1 200 OK\r\n\r\n"), .repeating(endless)]
    }
    var fetches: [WebFetch] = []
    let collectors = try ["/silent", "/silent", "/endless"].map { path in
      let collector = Collector(appetite: 1) { [rig] _ in rig.reactor.soon { if fetches.isEmpty { rig.reactor.stop() } }
      }
      fetches.append(WebFetch(try WebURL(server.url + path), options: rig.options, on: rig.reactor, owner: collector))
      return collector
    }
    // The first while its name is looked up, the second while it waits, the last while it is sent to.
    rig.reactor.soon { fetches[0].cancel() }
    collectors[2].began = { _ in
      for fetch in fetches + fetches { fetch.cancel() }
      fetches = []
    }
    rig.run()
    #expect(collectors.map(\.errors) == [[.cancelled], [.cancelled], [.cancelled]])
  }
}
