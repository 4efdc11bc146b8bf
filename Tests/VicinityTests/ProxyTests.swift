import FoundationEssentials
import Glibc
import Notation
import Reactor
import TestKit
import Testing

@testable import vicinity

/// A gateway behind nginx, which ends TLS and keeps its connections to the gateway.
@Suite(.ownThread, .timeLimit(.minutes(2)), .serialized) struct ProxyTests {
  private let folder = TemporaryFolder()

  /// Free again by the time it is used.
  private static func freePort() throws -> UInt16 {
    try #require(try Descriptor.listening(at: .loopback(port: 0)).localAddress()).port
  }

  private func run(_ path: String, _ arguments: String...) throws -> String {
    let program = try Program(arguments, .noInput, in: folder.path, running: path)
    _ = try program.ended()
    return program.out + program.err
  }

  /// The place, and what is asked there, are those of `proxy_pass`.
  private func nginx(_ port: UInt16, for gateway: UInt16, at place: String = "/", asking path: String = "") throws
    -> Program
  {
    _ = try run(
      "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days",
      "2",
      "-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=box.example", "-addext", "subjectAltName=DNS:box.example")
    let settings = """
      daemon off; master_process off; pid \(folder.path)/nginx.pid; error_log \(folder.path)/nginx.log;
      events { worker_connections 64; }
      http {
        access_log off; client_body_temp_path \(folder.path)/body; proxy_temp_path \(folder.path)/proxy;
        fastcgi_temp_path \(folder.path)/other; uwsgi_temp_path \(folder.path)/other; scgi_temp_path \(folder.path)/other;
        map $http_upgrade $connection_said { default upgrade; '' ''; }
        upstream gateway { server 127.0.0.1:\(gateway); keepalive 1; }
        server {
          listen 127.0.0.1:\(port) ssl; ssl_certificate \(folder.path)/cert.pem; ssl_certificate_key \(folder.path)/key.pem;
          location \(place) {
            proxy_pass http://gateway\(path); proxy_http_version 1.1;
            proxy_set_header Host $http_host; proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_said; proxy_set_header Forwarded "";
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_set_header X-Forwarded-Proto $scheme;
            proxy_set_header X-Forwarded-Host "";
          }
        }
      }
      """
    let file = try folder.write(Array(settings.utf8), to: "nginx.conf")
    let program = try Program(["-p", folder.path, "-c", file], .noInput, in: folder.path, running: "/usr/sbin/nginx")
    while !FileManager.default.fileExists(atPath: "\(folder.path)/nginx.pid") { sched_yield() }
    return program
  }

  @Test(
    "WebSockets begin on its pooled connections, and operators come in over its HTTPS, at the root or below a path",
    arguments: [("", "/", ""), ("/vicinity", "/vicinity/", ""), ("/vicinity", "/vicinity/", "/")])
  func pooled(_ base: String, _ place: String, _ path: String) throws {
    let gateway = try Program(
      [
        "serve", "--json", "--keys", "ephemeral", "--folder", folder.path + "/gateway", "--port", "0", "--listen",
        "127.0.0.1", "--discovery", "none", "--trusted-proxy", "127.0.0.1", "--host-name", "box.example",
        "--https-only",
        "--show-code",
      ] + (base.isEmpty ? [] : ["--base-path", base]), .noInput, in: folder.path)
    let serving = try JSON(parsing: try gateway.line("\"serving\""))
    let address = try SocketAddress(text: try #require(serving["addresses"]?.list?.first?.text))
    let ticket = try JSON(parsing: gateway.line("\"pairingCode\""))
    let code = try #require(ticket["code"]?.text)
    #expect(ticket["url"]?.text == "https://127.0.0.1:\(address.port)\(base)/#code=\(code)")
    let port = try Self.freePort()
    let proxy = try nginx(port, for: address.port, at: place, asking: path)
    let site = "https://box.example:\(port)\(base)"
    let options = [
      "-sS", "--http1.1", "--max-time", "20", "--cacert", "\(folder.path)/cert.pem", "--connect-to",
      "box.example:\(port):127.0.0.1:\(port)",
    ]
    func curl(_ arguments: String...) throws -> String {
      let program = try Program(options + arguments, .noInput, in: folder.path, running: "/usr/bin/curl")
      _ = try program.ended(within: 30)
      return program.out + program.err
    }
    for _ in 0..<5 {
      #expect(try curl("\(site)/v1/gateway").contains("\"version\""))
      // The answer ends the wait: what is no frame closes the socket.
      let program = try Program(
        options + [
          "-i", "-N", "-H", "Upgrade: websocket", "-H", "Connection: Upgrade", "-H", "Sec-WebSocket-Version: 13", "-H",
          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "\(site)/v1/socket",
        ], .noInput, in: folder.path, running: "/usr/bin/curl")
      try program.text("HTTP/1.1 101 ")
      try program.text("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    }
    let paired = try curl(
      "-i", "-H", "Content-Type: application/json", "-d", "{\"code\":\"\(code)\",\"cookie\":true}",
      "\(site)/v1/pairings")
    #expect(paired.hasPrefix("HTTP/1.1 201") && paired.contains("\r\nLocation: \(base)/v1/clients/"))
    let cookie = base.isEmpty ? ("__Host-vicinity-", "/") : ("__Secure-vicinity-", base)
    #expect(paired.contains(cookie.0) && paired.contains("; Path=\(cookie.1);") && paired.contains("; Secure"))
    #expect(try curl("-L", site).contains("<title>Vicinity</title>"))
    #expect(try curl("\(site)/openapi.json").contains("\"servers\":[{\"url\":\"\(base.isEmpty ? "/" : base)\"}]"))
    _ = proxy
  }
}
