import Glibc
import Testing
import Web

/// Much, over real programs and sockets.
@Suite(.serialized) struct TransferTests {
  private let rig: WebRig

  init() throws { rig = try WebRig() }

  /// The exit status of a shell command, and its standard output.
  private static func run(_ command: String) throws -> (status: CInt, output: String) {
    let stream = try #require(popen(command, "re"))
    var output: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&room, 1, room.count, stream), count > 0 { output += room[..<count] }
    return (pclose(stream), String(decoding: output, as: UTF8.self))
  }

  /// The process's resident memory, in bytes.
  private static var memory: Int {
    get throws {
      try run("awk '/VmRSS/ { print $2 }' /proc/\(getpid())/status").output.split(separator: "\n").first.flatMap {
        Int($0)
      }.map { $0 << 10 } ?? 0
    }
  }

  private func temporaryFile(_ count: Int) throws -> String {
    var path = Array("/tmp/web-tests-XXXXXX".utf8CString)
    let number = mkstemp(&path)
    try #require(number >= 0)
    let block = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 7) }
    for start in stride(from: 0, to: count, by: block.count) {
      _ = write(number, block, min(block.count, count - start))
    }
    close(number)
    return String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  @Test func `curl sends 256 MiB, and the server stays small`() async {
    // A process of its own excludes the memory of other tests.
    await #expect(processExitsWith: .success) {
      let rig = try WebRig()
      _ = try rig.ask("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
      let before = try TransferTests.memory
      let curl = "head -c 268435456 /dev/zero | curl -s -m 60 -T - http://127.0.0.1:\(rig.port)/upload"
      #expect(try TransferTests.run(curl).output == "268435456\n")
      #expect(try TransferTests.memory - before < 32 << 20)
    }
  }

  @Test func `a body that nobody takes waits at its client`() throws {
    let client = try rig.connect()
    try client.send("POST /slow HTTP/1.1\r\nHost: here\r\nContent-Length: 100000000\r\n\r\n")
    let block = [UInt8](repeating: 1, count: 1 << 20)
    var sent = 0
    client.limitSending(toMilliseconds: 300)
    while case let count = send(client.number, block, block.count, CInt(MSG_NOSIGNAL)), count > 0 { sent += count }
    #expect(sent < 20_000_000)
    for appetite in [10, 100_000, 1_000_000] { #expect(try rig.feed(appetite)) }
  }

  @Test func `a file comes whole and in parts`() throws {
    let path = try temporaryFile(64 << 20)
    defer { unlink(path) }
    try rig.onHandler { $0.file = path }
    let place = "http://127.0.0.1:\(rig.port)/file"
    #expect(try Self.run("curl -s -m 60 \(place) | cmp - \(path)").status == 0)
    let part = "curl -s -m 60 -r 1000000-29999999 \(place) | cmp - <(tail -c +1000001 \(path) | head -c 29000000)"
    #expect(try Self.run("bash -c '\(part)'").status == 0)
    let head = try Self.run("curl -s -I -m 60 \(place)").output.lowercased()
    #expect(head.contains("content-length: 67108864") && head.contains("200 ok"))
  }

  @Test func `a slow reader gets all of a file`() throws {
    let path = try temporaryFile(3_000_000)
    defer { unlink(path) }
    try rig.onHandler { $0.file = path }
    let client = try Client(rig.port, receiveBuffer: 4_096)
    try client.send("GET /file HTTP/1.1\r\nHost: here\r\n\r\n")
    #expect(try client.answer().body.count == 3_000_000)
  }

  @Test func `many requests of many clients are answered at once`() throws {
    let clients = try (0..<200).map { _ in try rig.connect() }
    for _ in 0..<5 {
      for (index, client) in clients.enumerated() {
        try client.send("GET /\(index % 2 == 0 ? "late" : "chunks") HTTP/1.1\r\nHost: here\r\n\r\n")
      }
      for (index, client) in clients.enumerated() {
        #expect(try client.answer().body.count == (index % 2 == 0 ? 5 : 1_000))
      }
    }
  }
}
