import Media
import Reactor
import Testing

@testable import Web

/// Contents that are so long that they bypass the library.
@Suite(.serialized) struct LongContentTests {
  enum Wire: CaseIterable { case plain, secure }

  private let authority = LocalAuthority.make(named: "a box's own authority", for: ["localhost"], [])
  private let rig: WebRig

  init() throws { rig = try Self.rig(authority) }

  private static func rig(_ authority: LocalAuthority, _ limits: WebLimits = WebLimits()) throws -> WebRig {
    let issued = try #require(authority.issue(for: ["localhost"], []))
    return try WebRig(limits, identity: ServerIdentity(certificates: issued.certificates, key: issued.key))
  }

  private func call(_ wire: Wire, _ rig: WebRig? = nil) throws -> Client {
    let port = (rig ?? self.rig).port
    return switch wire {
    case .plain: try Client(port)
    case .secure: try SecureClient(port, host: "localhost", authority: authority.certificate)
    }
  }

  private static func content(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) } }

  private static func head(_ path: String, _ count: Int, _ more: String = "") -> [UInt8] {
    Array("POST \(path) HTTP/1.1\r\nHost: here\r\n\(more)content-length: \(count)\r\nX: y\r\n\r\n".utf8)
  }

  @Test(arguments: Wire.allCases)
  func `long and short ones come whole, one after the other`(_ wire: Wire) throws {
    let caller = try call(wire)
    // The first is just so long; of those that follow, two have the same headers but for their length.
    for count in [Bypass.bytesMin + 1, 3_000_000, 10, 0, Bypass.bytesMin, 2_000_000, 5_000_000] {
      let content = Self.content(count)
      try caller.send(Self.head("/copy", count) + content)
      let answer = try caller.answer()
      #expect(answer.status == 200 && answer.body == content, "\(count)")
      try caller.send("GET /head HTTP/1.1\r\nHost: here\r\n\r\n")
      #expect(try String(decoding: caller.answer().body, as: UTF8.self).hasPrefix("get"))
    }
  }

  @Test(arguments: Wire.allCases)
  func `many requests in one breath are answered in their order`(_ wire: Wire) throws {
    let caller = try call(wire)
    let (one, other) = (Self.content(1_500_000), Self.content(2_000_000))
    let get = Array("GET / HTTP/1.1\r\nHost: here\r\n\r\n".utf8)
    let parts = [Self.head("/upload", one.count), one, get, get, Self.head("/upload", other.count), other, get]
    try caller.send(parts.flatMap(\.self))
    for text in ["1500000\n", "hello\n", "hello\n", "2000000\n", "hello\n"] {
      #expect(try String(decoding: caller.answer().body, as: UTF8.self) == text)
    }
  }

  @Test(arguments: Wire.allCases)
  func `it does not matter in which pieces it comes`(_ wire: Wire) throws {
    let caller = try call(wire)
    for _ in 0..<2 {
      let content = Self.content(1_100_000)
      for byte in Self.head("/copy", content.count) { try caller.send([byte]) }
      var start = 0
      for step in 0... where start < content.count {
        let end = min(content.count, start + [1, 2, 40_000, 7, 70_000, 300_000][step % 6])
        try caller.send(Array(content[start..<end]))
        start = end
        if start == content.count { break }
      }
      #expect(try caller.answer().body == content)
    }
  }

  @Test(arguments: Wire.allCases)
  func `who asks first whether it may is told so`(_ wire: Wire) throws {
    let caller = try call(wire)
    for _ in 0..<2 {
      try caller.send(Self.head("/upload", 1_200_000, "Expect: 100-continue\r\n"))
      #expect(try caller.answer().status == 100)
      try caller.send(Self.content(1_200_000))
      #expect(try caller.answer().body == Array("1200000\n".utf8))
    }
  }

  @Test(arguments: Wire.allCases)
  func `what is refused at once is refused before it comes`(_ wire: Wire) throws {
    let caller = try call(wire)
    try caller.send(Self.head("/nothing", 5_000_000))
    #expect(try caller.answer().status == 404)
    #expect(try caller.isAtEnd())
    let long = try call(wire)
    try long.send(Self.head("/copy", (16 << 20) + 1))
    #expect(try long.answer().status == 413)
  }

  @Test(arguments: Wire.allCases, [false, true])
  func `a refusal behind other requests can be read while what was refused still comes`(
    _ wire: Wire, isRefusedByHandler: Bool
  ) throws {
    let caller = try call(wire)
    try caller.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(try caller.answer().status == 200)
    if isRefusedByHandler {
      try caller.send(Self.head("/nothing", 5_000_000))
    } else {
      try caller.send(Self.head("/upload", 200_000, "Folded: a\r\n b\r\n"))
    }
    // The connection is reset by none of the pieces: else an answer that was not read yet could be lost.
    for _ in 0..<100 { try caller.send(Self.content(1_000)) }
    #expect(try caller.answer().status == (isRefusedByHandler ? 404 : 400))
    for _ in 0..<100 { try caller.send(Self.content(1_000)) }
    #expect(try caller.isAtEnd())
    #expect(caller.error == 0)
  }

  @Test(arguments: Wire.allCases)
  func `who is answered in the middle is heard to the end, and goes on`(_ wire: Wire) throws {
    let caller = try call(wire)
    for _ in 0..<2 {
      try caller.send(Self.head("/enough", 3_000_000) + Self.content(3_000_000))
      #expect(try caller.answer().body == Array("enough\n".utf8))
    }
  }

  @Test(arguments: Wire.allCases)
  func `what is not taken waits at the client, and comes when it is`(_ wire: Wire) throws {
    let caller = try call(wire)
    let count = 1_500_000
    try caller.send(Self.head("/slow", count) + Self.content(1_200_000))
    #expect(try rig.eventually { $0.sinks.first?.exchange != nil })
    for appetite in [10, 100_000, 1, 900_000] { #expect(try rig.feed(appetite)) }
    try rig.onHandler { handler in
      handler.sinks[0].appetite = .max
      handler.sinks[0].exchange?.resume()
    }
    try caller.send(Self.content(300_000))
    #expect(try caller.answer().body == Array("\(count)\n".utf8))
  }

  @Test(arguments: Wire.allCases)
  func `a client that leaves in the middle is missed`(_ wire: Wire) throws {
    var caller: Client? = try call(wire)
    try caller?.send(Self.head("/upload", 5_000_000) + Self.content(1_200_000))
    #expect(try rig.eventually { $0.sinks.first?.count == 1_200_000 })
    caller = nil
    #expect(try rig.eventually { $0.gone == 1 })
    #expect(try rig.connectionCount == 0)
  }

  @Test(arguments: Wire.allCases)
  func `one that comes too slowly is given up, and one that is held back is not`(_ wire: Wire) throws {
    var limits = WebLimits()
    limits.slowTime = .seconds(1)
    limits.idleTime = .seconds(1)
    let rig = try Self.rig(authority, limits)
    let held = try call(wire, rig)
    try held.send(Self.head("/slow", 1_300_000) + Self.content(1_300_000))
    #expect(try rig.eventually { $0.sinks.first?.exchange != nil })
    let slow = try call(wire, rig)
    try slow.send(Self.head("/upload", 5_000_000) + Self.content(1_200_000))
    #expect(try rig.eventually { $0.gone == 1 })
    try rig.onHandler { handler in
      handler.sinks[0].appetite = .max
      handler.sinks[0].exchange?.resume()
    }
    #expect(try held.answer().body == Array("1300000\n".utf8))
  }

  @Test(arguments: Wire.allCases)
  func `who reads slowly gets all of the answers`(_ wire: Wire) throws {
    let issued = try #require(authority.issue(for: ["localhost"], []))
    let identity = try ServerIdentity(certificates: issued.certificates, key: issued.key)
    let rig = try WebRig(identity: identity, sendBuffer: 4_096)
    let caller = try call(wire, rig)
    let content = Self.content(2_000_000)
    for _ in 0..<2 {
      try caller.send(Self.head("/copy", content.count) + content)
      #expect(try caller.answer().body == content)
    }
  }

  @Test func `a client that tells its end itself is understood, and so is all that follows`() throws {
    let caller = try call(.secure)
    let piece = Self.content(0x8000)
    for _ in 0..<2 {
      try caller.send("POST /copy HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n")
      for _ in 0..<50 { try caller.send(Array("8000\r\n".utf8) + piece + Array("\r\n".utf8)) }
      try caller.send("0\r\n\r\n")
      #expect(try caller.answer().body == (0..<50).flatMap { _ in piece })
      try caller.send(Self.head("/copy", 2_000_000) + Self.content(2_000_000))
      #expect(try caller.answer().body.count == 2_000_000)
    }
  }
}
