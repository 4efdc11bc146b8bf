import Glibc
import Reactor
import Testing

@testable import Web

/// The readers that see bytes before anybody else, with bytes of every kind.
@Suite struct HostileBytesTests {
  /// A client's first record, as OpenSSL makes it.
  private static func hello(_ protocols: [String], padding: Int = 0) -> [UInt8] {
    func vector(_ bytes: [UInt8], _ lengthBytes: Int) -> [UInt8] {
      (0..<lengthBytes).map { UInt8(truncatingIfNeeded: bytes.count >> (8 * (lengthBytes - 1 - $0))) } + bytes
    }
    var extensions: [UInt8] = [0, 43] + vector(vector([3, 4], 1), 2)
    if !protocols.isEmpty {
      extensions += [0, 16] + vector(vector(protocols.flatMap { vector(Array($0.utf8), 1) }, 2), 2)
    }
    if padding > 0 { extensions += [0, 21] + vector([UInt8](repeating: 0, count: padding), 2) }
    let body =
      [3, 3] + [UInt8](repeating: 7, count: 32) + vector([1, 2, 3], 1) + vector([0x13, 1], 2) + vector([0], 1)
      + vector(extensions, 2)
    return [1] + vector(body, 3)
  }

  private static func records(_ message: [UInt8], each size: Int) -> [UInt8] {
    stride(from: 0, to: message.count, by: size).flatMap { start -> [UInt8] in
      let part = Array(message[start..<min(start + size, message.count)])
      return [22, 3, 1, UInt8(part.count >> 8), UInt8(part.count & 0xff)] + part
    }
  }

  private func parse(_ bytes: [UInt8]) -> ClientHello.Outcome { bytes.withUnsafeBytes { ClientHello.parse($0) } }

  @Test(arguments: [1, 3, 50, 16_384]) func `what a client offers is read over any number of records`(_ size: Int) {
    let bytes = Self.records(Self.hello(["vicinity/1", "http/1.1"]), each: size)
    guard case .whole(let hello) = parse(bytes) else { return #expect(Bool(false)) }
    #expect(hello.applicationProtocols == ["vicinity/1", "http/1.1"])
    for count in 0..<bytes.count { #expect(parse(Array(bytes[..<count])) == .incomplete) }
    #expect(parse(bytes + [1, 2, 3]) == .whole(hello))
  }

  @Test func `one without protocols offers none`() {
    guard case .whole(let hello) = parse(Self.records(Self.hello([]), each: 100)) else { return #expect(Bool(false)) }
    #expect(hello.applicationProtocols.isEmpty)
  }

  @Test func `what is no client's first word is not taken for one`() {
    let good = Self.records(Self.hello(["h2"]), each: 16_384)
    #expect(parse([22, 2, 1, 0, 1]) == .notTLS)
    #expect(parse([22, 3, 1, 0, 0]) == .notTLS)
    #expect(parse([22, 3, 1, 255, 255]) == .notTLS)
    #expect(parse([22, 3, 1, 0, 1, 2]) == .notTLS)
    #expect(parse([23, 3, 1, 0, 1, 1]) == .notTLS)
    #expect(parse([22, 3, 1, 0, 4, 1, 255, 255, 255]) == .notTLS)
    // Sixteen KiB of a message that says it has more.
    #expect(parse(Self.records(Self.hello(["h2"], padding: 20_000), each: 16_000)) == .notTLS)
    #expect(parse(good) != .incomplete)
  }

  @Test func `any byte may be any other`() {
    let good = Self.records(Self.hello(["vicinity/1", "h2"]), each: 60)
    var random = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
      }
      _ = parse(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &random))))
    }
    for _ in 0..<5_000 {
      let bytes = (0..<Int.random(in: 0...200, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      _ = parse([22, 3] + bytes)
      var parser = HeadParser(WebLimits())
      _ = bytes.withUnsafeBytes { parser.parse($0) }
      var frames = FrameReader(messageBytesMax: 1_000)
      var index = 0
      var input = bytes
      input.withUnsafeMutableBytes { while (try? frames.next(in: $0, from: &index)) != nil {} }
      #expect(index <= bytes.count)
    }
  }

  @Test func `a head that ends anywhere is waited for, and one that is damaged anywhere does no harm`() {
    let good = Array("POST /a/b?c=d HTTP/1.1\r\nHost: here\r\nContent-Length: 5\r\nX: y\r\n\r\n".utf8)
    for count in 0..<good.count {
      var parser = HeadParser(WebLimits())
      guard case .incomplete = good[..<count].withUnsafeBytes({ parser.parse($0) }) else {
        Issue.record("decided after \(count) bytes")
        continue
      }
    }
    for index in good.indices {
      for byte in UInt8.min...UInt8.max {
        var bytes = good
        bytes[index] = byte
        var parser = HeadParser(WebLimits())
        guard case .whole(let raw, let count) = bytes.withUnsafeBytes({ parser.parse($0) }) else { continue }
        #expect(count == good.count)
        _ = try? Head(raw, from: Origin(client: .loopback(port: 1), isSecure: false))
      }
    }
  }

  @Test func `frames are read in the same way however they come`() throws {
    let bytes =
      SocketClient.bytes(1, [UInt8](repeating: 65, count: 300), isLast: false) + SocketClient.bytes(9, [1, 2])
      + SocketClient.bytes(0, [66]) + SocketClient.bytes(2, [UInt8](repeating: 1, count: 70_000))
      + SocketClient.bytes(8, [3, 232, 97])
    for size in [1, 2, 3, 7, 100, 65_536, bytes.count] {
      var frames = FrameReader(messageBytesMax: 1 << 20)
      var held: [UInt8] = []
      var (messages, pings, codes): ([[UInt8]], [[UInt8]], [UInt16?]) = ([[]], [], [])
      for start in stride(from: 0, to: bytes.count, by: size) {
        var shown = held + bytes[start..<min(start + size, bytes.count)]
        var index = 0
        try shown.withUnsafeMutableBytes { room in
          while let item = try frames.next(in: room, from: &index) {
            switch item {
            case .piece(let range, _, let isLast):
              messages[messages.count - 1] += room[range]
              if isLast { messages.append([]) }
            case .ping(let range): pings.append(Array(room[range]))
            case .close(let code): codes.append(code)
            }
          }
        }
        held = Array(shown[index...])
        #expect(held.count <= FrameReader.heldBytesMax)
      }
      let whole = [[UInt8](repeating: 65, count: 300) + [66], [UInt8](repeating: 1, count: 70_000), []]
      #expect(messages == whole && pings == [[1, 2]] && codes == [1000] && held.isEmpty)
    }
  }
}
