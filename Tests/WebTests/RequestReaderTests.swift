import Reactor
import Testing

@testable import Web

/// The request reader in front of the library, with bytes that come in every way.
@Suite struct RequestReaderTests {
  private static let origin = Origin(client: .loopback(port: 1), isSecure: false)

  /// The output to the library, the heads for the handler, and the status that refuses the last request.
  struct Reading: Equatable {
    var library = ""
    /// The method, target and `X` headers of each request.
    var heads: [String] = []
    var fault: Int?
  }

  private static func read(_ bytes: [UInt8], sizes: [Int]) -> Reading {
    let reader = RequestReader(from: origin, WebLimits())
    var heard = Reading()
    var library: [UInt8] = []
    var start = 0
    var number = 0
    while start < bytes.count {
      let end = min(bytes.count, start + sizes[number % sizes.count])
      number += 1
      // More is read only where it is asked for.
      if !reader.isReading { break }
      bytes[start..<end].withUnsafeBytes { reader.read($0) }
      start = end
      while true {
        _ = reader.writeOutput {
          library += $0
          return true
        }
        guard let head = reader.nextHead() else { break }
        heard.heads.append("\(head.method) \(head.target) \(head.headers.all("X"))")
        reader.resume()
      }
    }
    heard.fault = (1...(heard.heads.count + 1)).compactMap { reader.fault(ofRequest: $0)?.status }.first
    heard.library = joined(library)
    return heard
  }

  /// The output in a canonical form: each head with its whole body, however the body is chunked.
  private static func joined(_ bytes: [UInt8]) -> String {
    var rest = bytes[...]
    func line() -> String? {
      guard let feed = rest.firstIndex(of: 10), feed > rest.startIndex, rest[feed - 1] == 13 else { return nil }
      defer { rest = rest[(feed + 1)...] }
      return String(decoding: rest[..<(feed - 1)], as: UTF8.self)
    }
    var text = ""
    var length = 0
    var isChunked = false
    while let field = line() {
      text += "\(field)\r\n"
      if field.hasPrefix("Content-Length: ") { length = Int(field.dropFirst(16)) ?? -1 }
      if field == "Transfer-Encoding: chunked" { isChunked = true }
      if !field.isEmpty { continue }
      var body = rest.prefix(length)
      rest = rest.dropFirst(length)
      if isChunked {
        while let size = line() {
          let count = Int(size, radix: 16) ?? -1
          body += rest.prefix(count)
          rest = rest.dropFirst(count)
          if line() != "" { return text + "BROKEN" }
          if count == 0 {
            text += "END:"
            break
          }
        }
      }
      (length, isChunked) = (0, false)
      text += String(decoding: body, as: UTF8.self)
    }
    return text + (rest.isEmpty ? "" : "BROKEN")
  }

  static let streams = [
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "\r\nGET /a?b=c HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\nGET /d HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\nHEAD /e HTTP/1.0\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\nGET / HTTP/1GET /b HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b;c=\"d\\\"e\"\r\nabc\r\n00C\r\ndefghijklmno\r\n0\r\nX: y\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\nX: z\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\u{1}\r\nabc\r\n0\r\n\r\n",
    "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\nHost: a\r\n\r\nGET /c HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /a HTTP/1.1\r\nHost: a\r\n\r\nPOST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1",
    String(repeating: "GET /same HTTP/1.1\r\nHost: a\r\nX: 1\r\n\r\n", count: 30),
    (0..<30).map { "GET /\($0) HTTP/1.1\r\nHost: a\r\nX: \($0 % 3)\r\n\r\n" }.joined(),
  ]

  @Test(arguments: streams) func `it does not matter in which pieces requests come`(_ stream: String) {
    let bytes = Array(stream.utf8)
    let whole = Self.read(bytes, sizes: [bytes.count])
    #expect(!whole.heads.isEmpty)
    for sizes in [[1], [2], [3, 1], [7], [50, 2], [bytes.count / 2]] {
      #expect(Self.read(bytes, sizes: sizes) == whole, "\(sizes)")
    }
    for split in 1..<bytes.count {
      #expect(Self.read(bytes, sizes: [split, bytes.count]) == whole, "split at \(split)")
    }
  }

  @Test func `the library hears what it must know, and nothing else`() {
    func library(_ text: String) -> String { Self.read(Array(text.utf8), sizes: [1 << 16]).library }
    let start = "GET / HTTP/1.1\r\nHost: here\r\n"
    #expect(library("DELETE /a?b HTTP/1.1\r\nHost: x\r\nCookie: y\r\n\r\n") == "\(start)\r\n")
    #expect(
      library("HEAD /a HTTP/1.0\r\nConnection: a, Keep-Alive\r\n\r\n")
        == "HEAD / HTTP/1.0\r\nHost: here\r\nConnection: Keep-Alive\r\n\r\n")
    #expect(
      library("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 002\r\nConnection: close\r\nExpect: 100-Continue\r\n\r\nab")
        == "\(start)Content-Length: 2\r\nConnection: close\r\nExpect: 100-continue\r\n\r\nab")
    #expect(
      library(
        "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n2;x=y\r\nab\r\n000\r\nTrailer: no\r\n\r\n")
        == "\(start)Transfer-Encoding: chunked\r\n\r\nEND:ab")
    #expect(
      library("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabX")
        == "\(start)Transfer-Encoding: chunked\r\n\r\nEND:ab")
    #expect(library("GET /\u{0} HTTP/1.1\r\nHost: x\r\n\r\n") == "\(start)Connection: close\r\n\r\n")
  }

  @Test func `what follows a request for a WebSocket is left as it came`() {
    let reader = RequestReader(from: Self.origin, WebLimits())
    let frames: [UInt8] = [0x81, 0x80, 0, 0, 0, 0]
    let request = "GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n"
    (Array(request.utf8) + frames).withUnsafeBytes { reader.read($0) }
    #expect(!reader.isReading && reader.nextHead()?.wantsWebSocket == true)
    #expect(reader.takeRest() == frames)
  }

  @Test func `few requests are read ahead, and nothing more of the client until they are answered`() {
    let reader = RequestReader(from: Self.origin, WebLimits())
    let one = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
    Array(String(repeating: one, count: 20).utf8).withUnsafeBytes { reader.read($0) }
    var answered = 0
    while answered < 8 {
      #expect(reader.isHeldBack && !reader.isReading)
      #expect(reader.nextHead() != nil)
      answered += 1
    }
    #expect(reader.nextHead() == nil)
    reader.resume()
    while reader.nextHead() != nil {
      answered += 1
      reader.resume()
    }
    #expect(answered == 20 && !reader.isHeldBack && reader.isReading)
  }

  @Test func `any bytes behind a sound request end in requests, a refusal, or a wait`() {
    var random = SystemRandomNumberGenerator()
    let alphabet = Array(
      "GET POST / HTTP/1.1\r\n\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 05;=\"\\\u{0}\u{80}".utf8)
    for _ in 0..<3_000 {
      var bytes = Array(Self.streams.randomElement(using: &random)?.utf8 ?? "".utf8)
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[index] = alphabet.randomElement(using: &random) ?? 0
        case 1: bytes.insert(alphabet.randomElement(using: &random) ?? 0, at: index)
        default: bytes.remove(at: index)
        }
      }
      let whole = Self.read(bytes, sizes: [bytes.count])
      #expect(Self.read(bytes, sizes: [1, 5, 2]) == whole, "\(bytes)")
      // Any input reaches the library as valid HTTP: lines and content.
      #expect(!whole.library.contains("BROKEN"), "\(bytes)")
    }
  }
}
