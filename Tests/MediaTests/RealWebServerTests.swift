import FoundationEssentials
import Glibc
import Media
import Reactor
import Testing

/// Web servers by others, in processes of their own.
@Suite struct RealWebServerTests {
  private let bench = CertificateFolder()
  private let rig: FetchRig

  init() throws { rig = try FetchRig() }

  private func file(_ name: String, bytes count: Int) throws -> [UInt8] {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
    try Data(bytes).write(to: URL(filePath: "\(bench.path)/\(name)"))
    return bytes
  }

  @Test func `P-RES-1 A file comes whole from a web server, with its name, type and size`() throws {
    let bytes = try file("a picture.png", bytes: 3_000_001)
    let command = ["python3", "-u", "-m", "http.server", "--bind", "127.0.0.1", "0"]
    let server = try Program(command, in: bench.path, port: #/port (\d+)/#)
    let fetched = try rig.fetch("http://127.0.0.1:\(server.port)/a%20picture.png", appetite: 100_000)
    let missing = try rig.fetch("http://127.0.0.1:\(server.port)/nothing")
    rig.run()
    #expect(fetched.isWhole && fetched.bytes == bytes)
    #expect(fetched.content?.name == "a picture.png" && fetched.content?.type == "image/png")
    #expect(fetched.content?.size == 3_000_001)
    #expect(missing.error == .refused(host: "127.0.0.1", status: 404))
  }

  /// A server with a certificate of its own making, which serves the files of the bench.
  private func secureServer(
    _ names: String, by issuer: String = "root", options: [String] = ["-WWW"]
  ) throws -> Program {
    try bench.make("root")
    if issuer != "root" { try bench.make(issuer, extensions: CertificateFolder.authority) }
    try bench.make("server", by: issuer, extensions: "subjectAltName=\(names)")
    let command = ["openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", "server.pem", "-key", "server.key"]
    return try Program(command + options, in: bench.path, port: #/ACCEPT .*:(\d+)/#)
  }

  private func fetch(_ host: String, _ server: Program, _ rig: FetchRig? = nil) throws -> Collector {
    let rig = try rig ?? FetchRig()
    rig.options.trust = WebTrust(anchors: [try bench.certificate("root")])
    return try rig.outcome("https://\(host):\(server.port)/file.txt")
  }

  @Test(arguments: [("DNS:localhost", "localhost"), ("IP:127.0.0.1", "127.0.0.1")])
  func `a server that proves its name or its address is believed`(_ name: String, _ host: String) throws {
    let bytes = try file("file.txt", bytes: 200_000)
    let outcome = try fetch(host, secureServer(name))
    #expect(outcome.isWhole && outcome.bytes == bytes, "\(outcome.errors)")
  }

  @Test func `TLS 1.2 will do`() throws {
    let bytes = try file("file.txt", bytes: 200_000)
    let outcome = try fetch("localhost", secureServer("DNS:localhost", options: ["-WWW", "-tls1_2"]))
    #expect(outcome.isWhole && outcome.bytes == bytes, "\(outcome.errors)")
  }

  @Test(arguments: [
    ("DNS:other.example", "localhost", "mismatch"), ("DNS:*ocalhost", "localhost", "mismatch"),
    ("DNS:localhost", "127.0.0.1", "mismatch"), ("DNS:127.0.0.1", "127.0.0.1", "mismatch"),
  ])
  func `a server with another's certificate is not believed`(_ name: String, _ host: String, _ word: String) throws {
    _ = try file("file.txt", bytes: 10)
    let outcome = try fetch(host, secureServer(name))
    guard case .notBelieved(host, let words) = outcome.error else {
      Issue.record("\(outcome.errors)")
      return
    }
    #expect(words.contains(word) && outcome.bytes.isEmpty)
  }

  @Test func `a server that leads to no anchor is not believed, not even by the system`() throws {
    _ = try file("file.txt", bytes: 10)
    let server = try secureServer("DNS:localhost", by: "stranger")
    guard case .notBelieved = try fetch("localhost", server).error else {
      Issue.record("it was believed")
      return
    }
    guard case .notBelieved = try rig.outcome("https://localhost:\(server.port)/file.txt").error else {
      Issue.record("it was believed by the system")
      return
    }
  }

  @Test func `TLS before 1.2 is not spoken`() throws {
    let server = try secureServer("DNS:localhost", options: ["-WWW", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0"])
    guard case .insecure = try fetch("localhost", server).error else {
      Issue.record("it was spoken")
      return
    }
  }

  @Test func `what does not speak TLS is told`() throws {
    // It answers the first bytes, whatever they are.
    let command = """
      import socket
      s = socket.create_server(("127.0.0.1", 0)); print("port", s.getsockname()[1], flush=True)
      c, _ = s.accept(); c.recv(1); c.sendall(b"HTTP/1.1 400 Bad\\r\\n\\r\\n"); c.recv(9999)
      """
    let server = try Program(["python3", "-c", command], in: bench.path, port: #/port (\d+)/#)
    guard case .insecure = try rig.outcome("https://127.0.0.1:\(server.port)/").error else {
      Issue.record("it was spoken to")
      return
    }
  }

  @Test func `what accepts a connection and never speaks TLS on it is given up`() throws {
    rig.options.connectionTime = .milliseconds(300)
    let silent = try ScriptedServer(on: rig.reactor) { _ in [] }
    let outcome = try rig.outcome("https://127.0.0.1:\(silent.port)/")
    #expect(outcome.error == .timedOut(host: "127.0.0.1", .connection))
  }

  @Test func `nothing leads from a secure server to one that is not`() throws {
    let web = try ScriptedServer(on: rig.reactor, saying: "HTTP/1.1 200 OK\r\n\r\nforged")
    try Data("HTTP/1.1 302 Go\r\nLocation: \(web.url)/\r\n\r\n".utf8).write(to: URL(filePath: "\(bench.path)/file.txt"))
    let server = try secureServer("DNS:localhost", options: ["-HTTP"])
    let outcome = try fetch("localhost", server, rig)
    #expect(outcome.error == .downgrade(to: try WebURL("\(web.url)/")), "\(outcome.errors)")
    #expect(web.requests.isEmpty)
  }

  @Test func `bytes without an announced end are whole only with TLS's own goodbye`() throws {
    let answer = "HTTP/1.1 200 OK\r\n\r\nsome words"
    try Data(answer.utf8).write(to: URL(filePath: "\(bench.path)/file.txt"))
    let whole = try fetch("localhost", secureServer("DNS:localhost", options: ["-HTTP"]))
    #expect(whole.isWhole && whole.text == "some words", "\(whole.errors)")

    // It sends the answer, and dies without a close notification.
    let server = try secureServer("DNS:localhost", options: ["-naccept", "1"])
    server.say(answer)
    rig.options.trust = WebTrust(anchors: [try bench.certificate("root")])
    let collector = try rig.fetch("https://localhost:\(server.port)/")
    func look() {
      if collector.text == "some words" { server.kill() } else { rig.reactor.schedule(after: .milliseconds(10), look) }
    }
    rig.reactor.soon(look)
    rig.run()
    #expect(collector.error == .cutShort(host: "localhost", received: 10, size: nil), "\(collector.errors)")
  }
}
