import Testing

@testable import Web

/// Requests and responses over real sockets.
@Suite(.serialized) struct ExchangeTests {
  private let rig: WebRig

  init() throws { rig = try WebRig() }

  @Test func `a request is answered, and the connection goes on`() throws {
    let client = try rig.connect()
    for _ in 0..<3 {
      try client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
      let answer = try client.answer()
      #expect(answer.status == 200 && answer.text == "hello\n")
    }
  }

  @Test func `an answer says when it was made, and one that is given again says it anew`() throws {
    let client = try rig.connect()
    var dates: [String] = []
    repeat {
      try client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
      let said = try client.answer().fields.filter { $0.name.lowercased() == "date" }
      #expect(said.count == 1)
      let date = said.map(\.value).joined(separator: " and ")
      if dates.last != date { dates.append(date) }
    } while dates.count < 3
    let form = #/(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [JFMASOND][a-z]{2} 20\d\d \d\d:\d\d:\d\d GMT/#
    #expect(dates.allSatisfy { $0.wholeMatch(of: form) != nil }, "\(dates)")
    #expect(Set(dates).count == 3)
  }

  @Test func `a date is written as HTTP wants it`() {
    var date = DateHeader(at: 784_111_777)
    #expect(date.text == "Sun, 06 Nov 1994 08:49:37 GMT")
    date.update(to: 784_111_777 + 86_400)
    #expect(date.text == "Mon, 07 Nov 1994 08:49:37 GMT" && date.second == 784_198_177)
  }

  @Test func `two requests that come at once are answered one after the other`() throws {
    let client = try rig.connect()
    let request = "GET / HTTP/1.1\r\nHost: here\r\n\r\n"
    try client.send(request + request + "GET /late HTTP/1.1\r\nHost: here\r\n\r\n" + request)
    #expect(try client.answer().text == "hello\n")
    #expect(try client.answer().text == "hello\n")
    #expect(try client.answer().text == "late\n")
    #expect(try client.answer().text == "hello\n")
  }

  @Test func `a target is parted and decoded once`() throws {
    let answer = try rig.ask(
      "GET /head/a%2Fb//c%20d/%25?x=1&x=a+b&%C3%A9=%3D&y HTTP/1.1\r\nHost: here\r\nx: 1\r\nX: 2\r\n\r\n")
    let expected = #"get ["head", "a/b", "", "c d", "%"] ["x=1", "x=a b", "é==", "y="] ["1", "2"] false true"#
    #expect(answer.text == expected)
  }

  @Test func `a head that is said again is known, and any other is read anew`() throws {
    let client = try rig.connect()
    func ask(_ line: String, _ headers: String) throws -> Answer {
      try client.send("\(line)\r\nHost: here\r\n\(headers)\r\n")
      return try client.answer()
    }
    let (line, other) = ("GET /head/a?x=1 HTTP/1.1", "GET /head/b HTTP/1.1")
    #expect(try ask(line, "X: 12\r\n").text == #"get ["head", "a"] ["x=1"] ["12"] false true"#)
    #expect(try ask(line, "X: 12\r\n").text == #"get ["head", "a"] ["x=1"] ["12"] false true"#)
    #expect(try rig.onHandler { $0.heads.count == 2 && $0.heads[0] === $0.heads[1] })
    // The same headers with another line, and then others that are as long, shorter, longer or parted elsewhere.
    #expect(try ask(other, "X: 12\r\n").text == #"get ["head", "b"] [] ["12"] false true"#)
    #expect(try ask("OPTIONS /head/b HTTP/1.1", "X: 12\r\n").text == #"options ["head", "b"] [] ["12"] false true"#)
    #expect(try ask(other, "X: 13\r\n").text == #"get ["head", "b"] [] ["13"] false true"#)
    #expect(try ask(other, "X: 1\r\n").text == #"get ["head", "b"] [] ["1"] false true"#)
    #expect(try ask(other, "X: 1\r\nX: 1\r\n").text == #"get ["head", "b"] [] ["1", "1"] false true"#)
    #expect(try ask(other, "X: 1\r\nX1: \r\n").text == #"get ["head", "b"] [] ["1"] false true"#)
    #expect(try ask(other, "").text == #"get ["head", "b"] [] [] false true"#)
    #expect(try ask(other, "X: 12\r\n").text == #"get ["head", "b"] [] ["12"] false true"#)
    // A cached head does not vouch for headers that come with another target.
    #expect(try ask("GET /head/%zz HTTP/1.1", "X: 12\r\n").status == 400)
    #expect(try client.isAtEnd())
  }

  @Test func `a head that is known in one version is read anew in another`() throws {
    let client = try rig.connect()
    try client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\nGET / HTTP/1.0\r\nHost: here\r\n\r\n")
    #expect(try client.answer().status == 200)
    #expect(try client.answer().status == 200)
    #expect(try client.isAtEnd())
  }

  @Test func `the same answer is given again, and another is another`() throws {
    var limits = WebLimits()
    limits.requestsPerConnectionMax = 8
    let rig = try WebRig(limits)
    let client = try rig.connect()
    func ask(_ line: String) throws -> Answer {
      try client.send("\(line) HTTP/1.1\r\nHost: here\r\n\r\n")
      return try client.answer(isHead: line.hasPrefix("HEAD"))
    }
    for word in [nil, nil, "1", "1", "2", nil] {
      let answer = try ask("GET /same" + (word.map { "?x=\($0)" } ?? ""))
      #expect(answer.status == 200 && answer.text == "the same\n" && answer["x"] == word)
      #expect(answer.fields.count { $0.0 == "content-length" || $0.0 == "date" } == 2)
    }
    let head = try ask("HEAD /same")
    #expect(head.status == 200 && head["content-length"] == "9" && head["connection"] == nil)
    let last = try ask("GET /same")
    #expect(last.text == "the same\n" && last["connection"]?.lowercased() == "close")
    #expect(try client.isAtEnd())
  }

  @Test func `to a HEAD request only the head is sent`() throws {
    let client = try rig.connect()
    try client.send("HEAD / HTTP/1.1\r\nHost: here\r\n\r\n")
    let head = try client.answer(isHead: true)
    #expect(head.status == 200 && head["content-length"] == "6")
    try client.send("GET /empty HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(try client.answer().status == 204)
  }

  @Test func `a body is collected`() throws {
    let client = try rig.connect()
    try client.send("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\n\r\nab")
    try client.send("cde")
    #expect(try client.answer().text == "abcde")
    try client.send(
      "POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    #expect(try client.answer().text == "abcde")
    try client.send("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n")
    #expect(try client.answer().text == "")
  }

  @Test func `a client that asks first is told to go on`() throws {
    let client = try rig.connect()
    try client.send("POST /echo HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
    #expect(try client.answer(isHead: true).status == 100)
    try client.send("abc")
    #expect(try client.answer().text == "abc")
  }

  @Test func `a body that is announced too large is refused before it comes`() throws {
    let client = try rig.connect()
    try client.send("POST /echo HTTP/1.1\r\nHost: here\r\nExpect: 100-continue\r\nContent-Length: 9999999\r\n\r\n")
    let answer = try client.answer()
    #expect(answer.status == 413)
    #expect(try client.isAtEnd())
    #expect(try rig.eventually { $0.gone == 1 })
  }

  @Test func `a body that is announced too large is answered also where its client sends all of it`() throws {
    let client = try rig.connect()
    try client.send("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 10000000\r\n\r\n")
    try client.send([UInt8](repeating: 7, count: 10_000_000))
    #expect(try client.answer().status == 413)
    #expect(try client.isAtEnd())
  }

  @Test func `a body that is announced too large is answered also where its client pauses after the beginning`() throws
  {
    let client = try rig.connect()
    let head = Array("POST /echo HTTP/1.1\r\nHost: here\r\nContent-Length: 10000000\r\n\r\n".utf8)
    try client.send(head + [UInt8](repeating: 7, count: 100_000))
    #expect(try client.answer().status == 413)
    try client.send([UInt8](repeating: 7, count: 9_900_000))
    #expect(try client.isAtEnd())
  }

  @Test(arguments: [17, 160])
  func `a body that turns out too large is refused`(pieces: Int) throws {
    let client = try rig.connect()
    try client.send("POST /echo HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n")
    let piece = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
    for _ in 0..<pieces { try client.send(piece) }
    try client.send("0\r\n\r\n")
    #expect(try client.answer().status == 413)
  }

  @Test func `a source without a length comes in chunks, one with a length as it is`() throws {
    let chunks = try rig.ask("GET /chunks HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(chunks.isChunked && chunks.body.count == 1_000)
    let sized = try rig.ask("GET /sized HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(!sized.isChunked && sized.body.count == 1_000)
  }

  @Test func `a source that fails cuts the connection within the body`() throws {
    let client = try rig.connect()
    try client.send("GET /broken HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(throws: Client.Failure.self) { try client.answer() }
  }

  @Test func `a live source gives what there is at once`() throws {
    let client = try rig.connect()
    try client.send("GET /ticker HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(try rig.eventually { $0.ticker != nil })
    while !(try client.receiveLine()).isEmpty {}
    for text in ["one", "two", "three"] {
      try rig.onHandler { $0.ticker?.send(text) }
      #expect(try client.receiveLine() == String(text.utf8.count, radix: 16))
      #expect(try client.receiveLine() == text)
    }
    try rig.onHandler { $0.ticker?.end() }
    #expect(try client.receiveLine() == "0")
  }

  @Test(arguments: ["wait", "ticker"]) func `a client that leaves is missed`(_ place: String) throws {
    var client: Client? = try rig.connect()
    try client?.send("GET /\(place) HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(try rig.eventually { $0.begun == 1 })
    client = nil
    #expect(try rig.eventually { $0.gone == 1 })
    #expect(try rig.connectionCount == 0)
  }

  @Test func `a response can end the connection`() throws {
    let client = try rig.connect()
    try client.send("GET /closing HTTP/1.1\r\nHost: here\r\n\r\n")
    let answer = try client.answer()
    #expect(answer["connection"] == "close")
    #expect(try client.isAtEnd())
  }
}
