internal import Foundation
internal import Programs

/// Others that are held beside the gateway, each set up as it does best at what is measured.
struct OtherServers {
  let folder: String
  let ports: Ports

  func nginx() throws -> (process: Child, port: Int, secure: Int) {
    let (port, secure) = (ports.next(), ports.next())
    try makeCertificate()
    try write(
      "nginx.conf",
      """
      daemon off; master_process off; worker_processes 1; user root;
      pid \(folder)/nginx.pid; error_log /dev/null;
      events { worker_connections 4096; }
      http {
        access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000; default_type application/json;
        client_max_body_size 2g; client_body_temp_path \(folder)/nginx-body;
        proxy_temp_path \(folder)/nginx-other; fastcgi_temp_path \(folder)/nginx-other;
        uwsgi_temp_path \(folder)/nginx-other; scgi_temp_path \(folder)/nginx-other;
        ssl_certificate \(folder)/cert.pem; ssl_certificate_key \(folder)/key.pem;
        server {
          listen 127.0.0.1:\(port); listen 127.0.0.1:\(secure) ssl; root \(folder); dav_methods PUT DELETE;
        }
      }
      """)
    return try (started(["nginx", "-p", folder, "-c", "\(folder)/nginx.conf"], port), port, secure)
  }

  func nats() throws -> (process: Child, port: Int) {
    let port = ports.next()
    try write(
      "nats.conf",
      """
      listen: "127.0.0.1:\(ports.next())"
      log_file: "/dev/null"
      websocket { listen: "127.0.0.1:\(port)", no_tls: true }
      """)
    return try (started(["nats-server", "-c", "\(folder)/nats.conf"], port), port)
  }

  /// Its release in Debian refuses to begin with WebSockets alone: so it has a listener that nobody asks.
  func mosquitto() throws -> (process: Child, port: Int) {
    let port = ports.next()
    try write(
      "mosquitto.conf",
      """
      user root
      allow_anonymous true
      persistence false
      log_type none
      set_tcp_nodelay true
      max_queued_messages 0
      listener \(ports.next()) 127.0.0.1
      listener \(port) 127.0.0.1
      protocol websockets
      """)
    return try (started(["sh", "-c", "exec mosquitto -c '\(folder)/mosquitto.conf' 2>/dev/null"], port), port)
  }

  func floor(_ bytes: Int) throws -> (process: Child, port: Int) {
    let process = try Child([program("http-floor"), "\(bytes)"])
    guard let port = Int(try process.line()) else { throw Failure("http-floor does not say its port") }
    return (process, port)
  }

  private func makeCertificate() throws {
    let command = """
      cd '\(folder)' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem \
        -out cert.pem -subj /CN=bench -days 1 2>/dev/null && echo made
      """
    guard try words(["sh", "-c", command]) == ["made"] else { throw Failure("openssl makes no certificate") }
  }

  private func write(_ name: String, _ text: String) throws {
    try text.write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
  }

  private func started(_ command: [String], _ port: Int) throws -> Child {
    let process = try Child(command)
    for _ in 0..<100 {
      let curl = try Child(["sh", "-c", "curl -so /dev/null --max-time 1 http://127.0.0.1:\(port)/; echo $?"])
      // It is there as soon as it answers anything.
      if try curl.line() != "7" { return process }
      pass(0.05)
    }
    throw Failure("'\(command.joined(separator: " "))' does not answer")
  }
}

/// Ports that nobody has yet.
final class Ports {
  private var last = 20_000 + Int(getpid()) % 10_000

  func next() -> Int {
    last += 1
    return last
  }
}
